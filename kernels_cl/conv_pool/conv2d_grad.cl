// Gradients of conv2d (see conv2d.cl) with respect to its input and its filter.
//
//   in      (n, ih, iw, ci)        filter  (kh, kw, ci, co)       grad  (n, oh, ow, co): of out
//   din     (n, ih, iw, ci)        din[n,iy,ix,c] = sum of grad[n,y,x,o] * filter[ky,kx,c,o] over
//                                  ky, kx, o with iy = y*sy - pt + ky*dy, ix = x*sx - pl + kx*dx
//   dfilter (kh, kw, ci, co)       dfilter[ky,kx,c,o] = sum_{n,y,x}
//                                  in[n, y*sy - pt + ky*dy, x*sx - pl + kx*dx, c] * grad[n,y,x,o]
//
// Sizes are arguments: one build serves every shape. -DT=float|double. Accumulation in T.
// Inputs may be read 256 bytes past their end, din and dfilter are written exactly.
//
// conv2d_input_grad_naive   any size; group (iy, n) computes one row of din, one work-item
// conv2d_turn_filter        turned[ky,kx,o,c] = filter[kh-1-ky,kw-1-kx,c,o], group = tap; with it
//                           conv2d_rows computes din
// conv2d_filter_grad_naive  any size; group (c, kx, ky) computes one row of dfilter, one work-item
// conv2d_filter_grad        CPU; one work-item per group; group (p, q) sums part p of the blocks of
//                           rb rows x xb columns of out, for part q of the output channels, into
//                           partial (parts, kh*kw*ci, cop), cop = co rounded up to PANEL
// conv2d_filter_grad_sum    dfilter = sum of the parts; one work-item a group, each a share of rows

#include "lib/conv_tile.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_input_grad_naive(
    __global const T *filter, __global const T *grad, __global T *din,
    int ih, int iw, int ci, int oh, int ow, int co, int kh, int kw,
    int sy, int sx, int dy, int dx, int pt, int pl)
{
    int iy = get_group_id(0);
    size_t n = get_group_id(1);
    grad += n * oh * ow * co;
    din += (n * ih + iy) * iw * ci;
    for (int ix = 0; ix < iw; ++ix) {
        for (int c = 0; c < ci; ++c) {
            T sum = 0;
            for (int ky = 0; ky < kh; ++ky) {
                int vy = iy + pt - ky * dy, y = vy / sy;
                if (vy < 0 || vy % sy || y >= oh)
                    continue;
                for (int kx = 0; kx < kw; ++kx) {
                    int vx = ix + pl - kx * dx, x = vx / sx;
                    if (vx < 0 || vx % sx || x >= ow)
                        continue;
                    __global const T *g = grad + ((size_t)y * ow + x) * co;
                    __global const T *f = filter + ((size_t)(ky * kw + kx) * ci + c) * co;
                    for (int o = 0; o < co; ++o)
                        sum += g[o] * f[o];
                }
            }
            *din++ = sum;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_turn_filter(__global const T *filter, __global T *turned, int ci, int co)
{
    int tap = get_group_id(0), taps = get_num_groups(0);
    filter += (size_t)(taps - 1 - tap) * ci * co;
    turned += (size_t)tap * ci * co;
    // Blocks of 16 x 16 stay in the first-level cache.
    for (int c0 = 0; c0 < ci; c0 += 16)
        for (int o0 = 0; o0 < co; o0 += 16)
            for (int o = o0; o < min(o0 + 16, co); ++o)
                for (int c = c0; c < min(c0 + 16, ci); ++c)
                    turned[(size_t)o * ci + c] = filter[(size_t)c * co + o];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_filter_grad_naive(
    __global const T *in, __global const T *grad, __global T *dfilter,
    int n, int ih, int iw, int ci, int oh, int ow, int co,
    int sy, int sx, int dy, int dx, int pt, int pl)
{
    int c = get_group_id(0), kx = get_group_id(1), ky = get_group_id(2), kw = get_num_groups(1);
    in += c;
    dfilter += ((size_t)(ky * kw + kx) * ci + c) * co;
    for (int o = 0; o < co; ++o)
        dfilter[o] = 0;
    for (int i = 0; i < n; ++i) {
        for (int y = 0; y < oh; ++y) {
            int iy = y * sy - pt + ky * dy;
            if (iy < 0 || iy >= ih)
                continue;
            for (int x = 0; x < ow; ++x) {
                int ix = x * sx - pl + kx * dx;
                if (ix < 0 || ix >= iw)
                    continue;
                T s = in[(((size_t)i * ih + iy) * iw + ix) * ci];
                __global const T *g = grad + (((size_t)i * oh + y) * ow + x) * co;
                for (int o = 0; o < co; ++o)
                    dfilter[o] += s * g[o];
            }
        }
    }
}

#ifndef TFNB_GPU // the rest fills local memory of a size that only CPUs have

// nrows x cols pixels of the input from (y0, x0) on, channels innermost; zeros at its sides, rows
// above and below it are left as they are.
inline void conv_load_block(
    __global const T *in, __local T *rows, int ih, int iw, int ci,
    int y0, int nrows, int x0, int cols)
{
    int skip = clamp(-x0, 0, cols) * ci, stop = clamp(iw - x0, 0, cols) * ci;
    for (int r = 0; r < nrows; ++r, rows += cols * ci) {
        int y = y0 + r;
        if (y < 0 || y >= ih)
            continue;
        __global const T *s = in + ((long)y * iw + x0) * ci;
        for (int i = 0; i < skip; ++i)
            rows[i] = 0;
        for (int i = skip; i < stop; ++i)
            rows[i] = s[i];
        for (int i = max(skip, stop); i < cols * ci; ++i)
            rows[i] = 0;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_filter_grad(
    __global const T *in, __global const T *grad, __global T *partial,
    int n, int ih, int iw, int ci, int oh, int ow, int co, int kh, int kw,
    int sy, int sx, int dy, int dx, int pt, int pl,
    int rb, int nrb, int xb, int nxb)
{
    __local T rows[CONV_LOCAL_SIZE];
    __local int2 runs[CONV_MAX_RUNS];
    __local T zero[PANEL];
    int cop = (co + PANEL - 1) / PANEL * PANEL, panels = cop / PANEL;
    int blocks = n * nrb * nxb;
    int p = get_group_id(0), parts = get_num_groups(0);
    int q = get_group_id(1), shares = get_num_groups(1);
    int block_begin = (long)blocks * p / parts, block_end = (long)blocks * (p + 1) / parts;
    int o_begin = panels * q / shares * PANEL, o_end = panels * (q + 1) / shares * PANEL;
    for (int i = 0; i < PANEL; ++i)
        zero[i] = 0;
    partial += (size_t)p * kh * kw * ci * cop;

    // Undilated, the rows of dfilter for one ky are neighbours in a padded row of the input.
    int len = dx == 1 ? kw * ci : ci, taps = dx == 1 ? 1 : kw;
    for (int b = block_begin; b < block_end; ++b) {
        int x_begin = b % nxb * xb, pixels = LOWER(ow - x_begin, xb);
        int y_begin = b / nxb % nrb * rb, y_end = LOWER(oh, y_begin + rb);
        size_t image = b / nxb / nrb;
        int nrows = (y_end - 1 - y_begin) * sy + (kh - 1) * dy + 1;
        int cols = (pixels - 1) * sx + (kw - 1) * dx + 1;
        int row_begin = y_begin * sy - pt;
        conv_load_block(
            in + image * ih * iw * ci, rows, ih, iw, ci, row_begin, nrows, x_begin * sx - pl, cols);
        __global const T *g = grad + ((image * oh + y_begin) * ow + x_begin) * co;
        for (int o = o_begin; o < o_end; o += PANEL) {
            Sums sums = {runs, 0, pixels, sx * ci, co, b == block_begin ? zero : 0, -(T)INFINITY};
            for (int tap = 0; tap < kh * taps; ++tap) {
                int ky = tap / taps, kx = tap % taps;
                sums.nruns = 0;
                for (int y = y_begin; y < y_end; ++y) {
                    int r = (y - y_begin) * sy + ky * dy;
                    if (row_begin + r >= 0 && row_begin + r < ih)
                        runs[sums.nruns++] =
                            (int2)((r * cols + kx * dx) * ci, (y - y_begin) * ow * co);
                }
                for (int j = 0; j < len;) {
                    int height = conv_height(len - j), count = LOWER(height, len - j);
                    __global T *to = partial + ((size_t)tap * len + j) * cop + o;
                    conv_tile(height, co - o, &sums, rows + j, g + o, to, cop, count);
                    j += height;
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_filter_grad_sum(
    __global const T *partial, __global T *dfilter, int rows, int co, int parts)
{
    int cop = (co + PANEL - 1) / PANEL * PANEL;
    int r_begin = (long)rows * get_group_id(0) / get_num_groups(0);
    int r_end = (long)rows * (get_group_id(0) + 1) / get_num_groups(0);
    for (int r = r_begin; r < r_end; ++r) {
        for (int o = 0; o < co; o += VW) {
            __global const T *s = partial + (size_t)r * cop + o;
            VT sum = LOAD_GLOBAL(s);
            for (int p = 1; p < parts; ++p)
                sum += LOAD_GLOBAL(s + (size_t)p * rows * cop);
            conv_store(sum, dfilter + (size_t)r * co + o, co - o);
        }
    }
}
#endif
