// C = activation(op(A) op(B) + bias) on a GPU; operands, flags and activations are those of matmul.cl.
//
// Sizes are arguments: one build serves every shape. -DT=float|double, -DTILE=4|8 (see lib/gpu_tile.clh).
// C is written exactly. Accumulation in T.
//
// matmul_tiles      a group of 256 work-items computes one tile of C, or of one of `splits` partial sums: then c is
//                   (batch, splits, M, N). Group (column, row, z) of the tiles, column first, is one number
// matmul_tiles_sum  adds those partial sums, then bias and activation; the work-items share the elements

#include "lib/gpu_tile.clh"

TILE_KERNEL matmul_tiles(
    __global const T *a, __global const T *b, __global const T *bias, __global T *c,
    int m, int n, int k, int flags, int act, int splits)
{
    TILE_ROOM;
    size_t group = get_group_id(0);
    int j0 = group % TILES(n) * TILE_SIDE, i0 = group / TILES(n) % TILES(m) * TILE_SIDE;
    size_t z = group / TILES(n) / TILES(m);
    int begin = (long)k * (z % splits) / splits, end = (long)k * (z % splits + 1) / splits;
    int a_along = !(flags & 1), b_along = (flags & 2) != 0;
    size_t a_row = a_along ? k : 1, a_step = a_along ? 1 : m, b_column = b_along ? k : 1, b_step = b_along ? 1 : n;
    a += z / splits * m * k;
    b += z / splits * k * n;
    c += z * m * n;

#define A_AT(i, d) ((i) < m && (d) < end ? a[(i) * a_row + (d) * a_step] : (T)0)
#define B_AT(d, j) ((j) < n && (d) < end ? b[(j) * b_column + (d) * b_step] : (T)0)
    TILE_SUMS(i0, j0, begin, end, A_AT, a_along, B_AT, b_along);

#define PUT(row, column, sum) \
    do { \
        int i = i0 + (row), j = j0 + (column); \
        if (i < m && j < n) { \
            T x = sum; \
            if (flags & 16) \
                x += c[(size_t)i * n + j]; \
            if (flags & 12) \
                x += bias[flags & 4 ? j : 0]; \
            c[(size_t)i * n + j] = tile_activate(x, act); \
        } \
    } while (0)
    TILE_STORE(PUT);
}

__kernel void matmul_tiles_sum(
    __global const T *partial, __global const T *bias, __global T *c, int m, int n, int flags, int act, int splits)
{
    size_t plane = (size_t)m * n, z = get_global_id(1);
    partial += z * splits * plane;
    c += z * plane;
    for (size_t i = get_global_id(0); i < plane; i += get_global_size(0)) {
        T x = partial[i];
        for (int s = 1; s < splits; ++s)
            x += partial[s * plane + i];
        if (flags & 16)
            x += c[i];
        if (flags & 12)
            x += bias[flags & 4 ? i % n : 0];
        c[i] = tile_activate(x, act);
    }
}
