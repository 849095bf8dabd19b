// C = activation(op(A) op(B) + bias), op = identity or transpose; batches lead.
//
//   a     (batch, M, K), or (batch, K, M) when flags & 1
//   b     (batch, K, N), or (batch, N, K) when flags & 2
//   bias  (N,) when flags & 4, (1,) when flags & 8; else any valid pointer
//   c     (batch, M, N); added to when flags & 16, before the activation
//   act   0 none, 1 relu, 2 tanh, 3 sigmoid; applied after the bias
//
// Sizes are arguments: one build serves every shape. -DT=float|double (|uchar|ushort|uint|ulong|
// half|bfloat: naive only, see lib/gemm_config.clh).
// Inputs may be read 256 bytes past their end, c is written exactly. Accumulation in T.
//
// matmul_naive   one work-item per element of C: (N, M, batch)
// matmul         CPU; one work-item per group; group (i, j, z) owns the i-th part of the row panels,
//                the j-th part of the column panels and part z % splits of the depth of batch
//                z / splits; with splits > 1, c is (batch, splits, M, N) of partial sums
// matmul_sum     adds those partial sums, then bias and activation; one group per part of the rows

#include "lib/gemm_config.clh"

// MEMORY is how an element lies in a buffer, SUM what products add up in.
#if GEMM_KIND == 4
#define MEMORY half
#define SUM float
#define ELEMENT(p, at) vload_half(at, p)
#define PUT(x, p, at) vstore_half(x, at, p)
#elif GEMM_KIND == 5
#define MEMORY ushort
#define SUM float
#define ELEMENT(p, at) as_float((uint)(p)[at] << 16)
#define PUT(x, p, at) (p)[at] = to_bfloat(x)
// Rounds to nearest, ties to even; NaN keeps its upper half and is made quiet.
inline ushort to_bfloat(float x)
{
    uint bits = as_uint(x);
    if (x != x)
        return (ushort)(bits >> 16 | 0x40);
    return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#else
#define MEMORY T
#define SUM T
#define ELEMENT(p, at) (p)[at]
#define PUT(x, p, at) (p)[at] = (x)
#endif

inline SUM activate_element(SUM x, int act)
{
#if GEMM_KIND != 3
    if (act == 1)
        return x < (SUM)0 ? (SUM)0 : x;
    if (act == 2)
        return tanh(x);
    if (act == 3)
        return (SUM)1 / ((SUM)1 + exp(-x));
#else
    if (act == 1) // relu of the signed integer these bits are
        return x >> (8 * sizeof(T) - 1) ? 0 : x;
#endif
    return x;
}

__kernel void matmul_naive(
    __global const MEMORY *a, __global const MEMORY *b, __global const MEMORY *bias,
    __global MEMORY *c, int m, int n, int k, int flags, int act)
{
    int j = get_global_id(0), i = get_global_id(1);
    size_t z = get_global_id(2);
    if (i >= m || j >= n)
        return;
    size_t ai = flags & 1 ? i : (size_t)i * k, as = flags & 1 ? m : 1;
    size_t bj = flags & 2 ? (size_t)j * k : j, bs = flags & 2 ? 1 : n;
    a += z * m * k;
    b += z * k * n;
    SUM sum = 0;
    for (int p = 0; p < k; ++p)
        sum += (SUM)ELEMENT(a, ai + p * as) * (SUM)ELEMENT(b, bj + p * bs);
    if (flags & 16)
        sum += (SUM)ELEMENT(c, (z * m + i) * n + j);
    if (flags & 12)
        sum += ELEMENT(bias, flags & 4 ? j : 0);
    PUT(activate_element(sum, act), c, (z * m + i) * n + j);
}

#if GEMM_KIND <= 2 && !defined(TFNB_GPU) // the local memory of the following kernels is larger than a GPU's
#include "lib/gemm.clh"

// Whether a group reads B as it lies: packing pays if B comes from far or many tiles read it, least
// where its rows start at cache lines.
inline int goes_direct(int rows, long columns, long depth, int n)
{
    int aligned = n * sizeof(T) % 64 == 0;
    return rows <= (aligned ? 4 : 1) * DIRECT_ROWS && columns * depth * (long)sizeof(T) <= DIRECT_BYTES;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul(
    __global const T *a, __global const T *b, __global const T *bias, __global T *c,
    int m, int n, int k, int flags, int act, int splits)
{
    __local T b_block[B_PANEL(KC) * (NC / NR) + TB * NR] __attribute__((aligned(64)));
    __local T a_panel[(KC + TB) * A_STEP] __attribute__((aligned(64)));
    __local T tile[MR * NR] __attribute__((aligned(64)));
    int z = get_group_id(2);
    int col_panels = (n + NR - 1) / NR;
    int gm = get_num_groups(0), gn = get_num_groups(1);
    int i_begin = (long)m * get_group_id(0) / gm, i_end = (long)m * (get_group_id(0) + 1) / gm;
    int rows = i_end - i_begin, row_panels = (rows + MR - 1) / MR;
    int j_begin = (long)col_panels * get_group_id(1) / gn * NR;
    int j_end = LOWER(n, (int)((long)col_panels * (get_group_id(1) + 1) / gn * NR));
    int k_begin = (long)k * (z % splits) / splits, k_end = (long)k * (z % splits + 1) / splits;
    a += (size_t)(z / splits) * m * k;
    b += (size_t)(z / splits) * k * n;
    c += (size_t)z * m * n;
    int a_kmajor = flags & 1, b_kmajor = !(flags & 2), bias_step = flags & 4 ? 1 : 0;
    if (m == 1) {
        Finish f = {flags & 16, 1, flags & 12, act};
        for (int j = j_begin; j < j_end; j += KC * NC) {
            int cols = LOWER(KC * NC, j_end - j);
            __global const T *row_bias = bias + j * bias_step;
            if (b_kmajor)
                row_times(
                    a + k_begin, b + (size_t)k_begin * n + j, n, k_end - k_begin, b_block, c + j,
                    cols, row_bias, f);
            else
                row_times_transposed(
                    a + k_begin, b + (size_t)j * k + k_begin, k, k_end - k_begin, b_block, c + j,
                    cols, row_bias, f);
        }
        return;
    }
    int direct = b_kmajor && goes_direct(rows, j_end - j_begin, k_end - k_begin, n);
    for (int j0 = j_begin; j0 < j_end; j0 += NC) {
        int nc = LOWER(NC, j_end - j0);
        int k0 = k_begin;
        do {
            int kc = LOWER(KC, k_end - k0);
            Finish f = {k0 > k_begin || flags & 16, k0 + kc >= k_end, flags & 12, act};
            if (direct)
                ;
            else if (b_kmajor)
                pack_b_kmajor(b_block, b + (size_t)k0 * n + j0, n, kc, (nc + NR - 1) / NR);
            else
                for (int j = 0; j < nc; j += NR)
                    pack_rmajor(
                        b_block + j / NR * B_PANEL(kc), b + (size_t)(j0 + j) * k + k0, k, kc, NR, NR,
                        n - j0 - j);
            int i = i_begin;
            for (int panel = 1; panel <= row_panels; ++panel) {
                int i_next = i_begin + (long)rows * panel / row_panels;
                if (a_kmajor)
                    pack_a_kmajor(a_panel, a + (size_t)k0 * m + i, m, kc);
                else
                    pack_rmajor(a_panel, a + (size_t)i * k + k0, k, kc, MR, A_STEP, i_next - i);
                for (int j = 0; j < nc; j += NR) {
                    __global const T *tile_bias = bias + (j0 + j) * bias_step;
                    if (direct)
                        tile_direct(
                            a_panel, b + (size_t)k0 * n + j0 + j, n, kc, tile,
                            c + (size_t)i * n + j0 + j, n, i_next - i, nc - j, tile_bias, f);
                    else
                        tile_packed(
                            a_panel, b_block + j / NR * B_PANEL(kc), 0, kc, tile,
                            c + (size_t)i * n + j0 + j, n, i_next - i, nc - j, tile_bias, f);
                }
                i = i_next;
            }
            k0 += kc;
        } while (k0 < k_end);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul_sum(
    __global const T *partial, __global const T *bias, __global T *c,
    int m, int n, int flags, int act, int splits)
{
    size_t g = get_group_id(0), z = get_group_id(1);
    int i_begin = m * g / get_num_groups(0), i_end = m * (g + 1) / get_num_groups(0);
    size_t plane = (size_t)m * n;
    for (int i = i_begin; i < i_end; ++i) {
        __global const T *p = partial + z * splits * plane + (size_t)i * n;
        __global T *out = c + z * plane + (size_t)i * n;
        for (int j = 0; j < n; j += VW) {
            VT x = LOAD_GLOBAL(p + j);
            for (int s = 1; s < splits; ++s)
                x += LOAD_GLOBAL(p + s * plane + j);
            if (flags & 16) {
                for (int e = 0; e < LOWER(VW, n - j); ++e)
                    ((T *)&x)[e] += out[j + e];
            }
            if (flags & 12)
                x += flags & 4 ? LOAD_GLOBAL(bias + j) : (VT)*bias;
            x = activate(x, act);
            if (n - j >= VW) {
                STORE_GLOBAL(x, out + j);
            } else {
                const T *rest = (const T *)&x;
                for (int e = 0; e < n - j; ++e)
                    out[j + e] = rest[e];
            }
        }
    }
}
#endif
