// out[n,y,x,o] = activation(bias[o] + sum_{ky,kx,c} in[n, y*sy - pt + ky*dy, x*sx - pl + kx*dx, c] * filter[ky,kx,c,o])
//
//   in      (n, ih, iw, ci)        elements outside count as 0
//   filter  (kh, kw, ci, co)
//   bias    (co,), read when flags & 1; else any valid pointer
//   out     (n, oh, ow, co)
//   act     0 none, 1 relu, 2 tanh, 3 sigmoid; applied after the bias
//
// Sizes are arguments: one build serves every shape. -DT=float|double. Accumulation in T.
// Inputs may be read 256 bytes past their end, out is written exactly.
//
// conv2d_naive  any size; group (y, n) computes one row of out, one work-item
// conv2d_rows   CPU; one work-item per group; group g computes rb rows x xb columns of one image from padded
//               rows held in local memory, pixels innermost. It also serves the input gradient: there the
//               input counts as `uy` x `ux` times larger with zeros between its pixels, which are skipped.

#include "lib/conv_tile.clh"

// -DCONV_LOCAL_BYTES (default 393216) and -DCONV_MAX_RUNS (1024): limits that the recipe knows.

inline VT conv_naive_pixel(
    __global const T *in, __global const T *filter, int ih, int iw, int ci, int co, int kh, int kw,
    int dy, int dx, int y0, int x0, VT sum)
{
    for (int ky = 0; ky < kh; ++ky) {
        int y = y0 + ky * dy;
        if (y < 0 || y >= ih)
            continue;
        for (int kx = 0; kx < kw; ++kx) {
            int x = x0 + kx * dx;
            if (x < 0 || x >= iw)
                continue;
            __global const T *p = in + ((size_t)y * iw + x) * ci;
            __global const T *f = filter + (size_t)(ky * kw + kx) * ci * co;
            for (int c = 0; c < ci; ++c, f += co)
                sum += p[c] * LOAD_GLOBAL(f);
        }
    }
    return sum;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_naive(
    __global const T *in, __global const T *filter, __global const T *bias, __global T *out,
    int ih, int iw, int ci, int oh, int ow, int co, int kh, int kw,
    int sy, int sx, int dy, int dx, int pt, int pl, int flags, int act)
{
    int y = get_group_id(0);
    size_t n = get_group_id(1);
    in += n * ih * iw * ci;
    out += (n * oh + y) * ow * co;
    for (int x = 0; x < ow; ++x, out += co) {
        for (int o = 0; o < co; o += VW) {
            VT sum = (VT)0;
            if (flags & 1)
                sum = LOAD_GLOBAL(bias + o);
            sum = conv_naive_pixel(in, filter + o, ih, iw, ci, co, kh, kw, dy, dx, y * sy - pt, x * sx - pl, sum);
            conv_store(activate(sum, act), out + o, co - o);
        }
    }
}

// Copies `count` pixels of ci channels, from column x0 on, of one input row to dst[c*pitch + phase*plane + i],
// phase = column % step; zeros outside the row.
inline void conv_load_row(
    __global const T *row, __local T *dst, int iw, int ci, int x0, int step, int plane, int pitch)
{
    for (int phase = 0; phase < step; ++phase) {
        for (int i = 0; i < plane; ++i) {
            int x = x0 + phase + i * step;
            __local T *d = dst + phase * plane + i;
            if (x >= 0 && x < iw) {
                __global const T *s = row + (size_t)x * ci;
                for (int c = 0; c < ci; ++c, d += pitch)
                    *d = s[c];
            } else {
                for (int c = 0; c < ci; ++c, d += pitch)
                    *d = 0;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_rows(
    __global const T *in, __global const T *filter, __global const T *bias, __global T *out,
    int ih, int iw, int ci, int oh, int ow, int co, int kh, int kw,
    int sy, int sx, int uy, int ux, int dy, int dx, int pt, int pl,
    int rb, int nrb, int xb, int nxb, int plane, int pitch, int flags, int act)
{
    __local T rows[CONV_LOCAL_SIZE];
    __local int2 runs[CONV_MAX_RUNS];
    __local T first[2 * VW], rest[LARGE * 2 * VW];

    int g = get_group_id(0);
    int x_begin = g % nxb * xb, x_end = min(ow, x_begin + xb);
    int y_begin = g / nxb % nrb * rb, y_end = min(oh, y_begin + rb);
    size_t n = g / nxb / nrb;
    in += n * ih * iw * ci;
    out += n * oh * ow * co;

    // Rows of the input in local memory, from row_begin on; none for those outside, they are skipped.
    int row_begin = max(0, conv_floor_div(y_begin * sy - pt + uy - 1, uy));
    int row_end = min(ih, conv_floor_div((y_end - 1) * sy - pt + (kh - 1) * dy, uy) + 1);
    int col_begin = conv_floor_div(x_begin * sx - pl, ux);
    int slot = ci * pitch;
    for (int r = row_begin; r < row_end; ++r)
        conv_load_row(in + (size_t)r * iw * ci, rows + (r - row_begin) * slot, iw, ci, col_begin, sx, plane, pitch);

    // With one channel the taps of a filter row are neighbours: one run instead of kw.
    int merge = ci == 1 && dx == 1 && sx == 1 && ux == 1;
    int len = merge ? kw : ci, lstep = merge ? 1 : pitch, taps = merge ? 1 : kw;
    // tanh and sigmoid, and channels that do not fill two vectors, go through `rest`.
    T floor_ = act == 1 ? (T)0 : -(T)INFINITY;

    for (int o = 0; o < co; o += 2 * VW) {
        int lanes = min(2 * VW, co - o);
        int direct = lanes == 2 * VW && act < 2;
        for (int i = 0; i < 2 * VW; ++i)
            first[i] = flags & 1 && i < lanes ? bias[o + i] : (T)0;
        for (int y = y_begin; y < y_end; ++y) {
            for (int phase = 0; phase < ux; ++phase) {
                int nruns = 0;
                for (int ky = 0; ky < kh; ++ky) {
                    int vy = y * sy - pt + ky * dy, r = vy / uy;
                    if (vy < 0 || vy % uy || r >= ih)
                        continue;
                    for (int kx = 0; kx < taps; ++kx) {
                        int vx = ux == 1 ? kx * dx : x_begin + phase - pl + kx * dx - col_begin * ux;
                        if (vx % ux)
                            continue;
                        int at = ux == 1 ? vx % sx * plane + vx / sx : vx / ux;
                        runs[nruns++] = (int2)((r - row_begin) * slot + at, (ky * kw + kx) * ci * co + o);
                    }
                }
                int pixels = (x_end - x_begin - phase + ux - 1) / ux;
                __global T *dst = out + ((size_t)y * ow + x_begin + phase) * co + o;
                for (int q = 0; q < pixels;) {
                    int height = conv_height(pixels - q), count = min(height, pixels - q);
                    __global T *to = dst + (size_t)q * ux * co;
                    // On a CPU local and global memory are one address space; only the pointer's type differs.
                    conv_tile(
                        height, rows + q, filter, runs, nruns, len, lstep, co, first, floor_,
                        direct ? to : (__global T *)(uintptr_t)rest, direct ? ux * co : 2 * VW, count);
                    for (int j = 0; !direct && j < count; ++j)
                        for (int i = 0; i < lanes; i += VW)
                            conv_store(
                                activate(LOAD_LOCAL(rest + j * 2 * VW + i), act), to + (size_t)j * ux * co + i, lanes - i);
                    q += height;
                }
            }
        }
    }
}
