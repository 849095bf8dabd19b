// Pooling over windows of kh x kw pixels; window (y, x) starts at (y*sy - pt, x*sx - pl). Pixels
// outside the input do not exist: they are neither a maximum nor counted in an average.
//
//   in   (n, ih, iw, c)       out  (n, oh, ow, c)       grad  like out      din  like in
//   max:  out = max of the window; its gradient goes to the first maximum in row-major order
//   avg:  out = sum of the window / number of its pixels inside; its gradient goes evenly to those
//
// Sizes are arguments: one build serves every shape. -DT=float|double. Accumulation in T.
//
// Group g of G owns the g-th of G equal shares of the rows written (max_pool_grad: of the blocks
// of rb rows of out, each with the rows of din that start there); one work-item per group.
// *_naive work element by element; the others go by vectors of channels and need c >= VW (16 is
// always enough): the last vector is moved back to end at c, so some channels are computed twice.

#include "lib/gemm_config.clh"
#include "lib/pool_window.clh"

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))

#define POOL_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

POOL_KERNEL max_pool_naive(__global const T *in, __global T *out, POOL_SIZES)
{
    for (int r = SHARE_BEGIN(n * oh); r < SHARE_END(n * oh); ++r) {
        __global const T *image = in + (size_t)(r / oh) * ih * iw * c;
        for (int x = 0; x < ow; ++x) {
            WINDOW(r % oh, x)
            for (int k = 0; k < c; ++k) {
                T best = image[((size_t)y0 * iw + x0) * c + k];
                for (int i = y0; i < y1; ++i)
                    for (int j = x0; j < x1; ++j) {
                        T v = image[((size_t)i * iw + j) * c + k];
                        best = v > best ? v : best;
                    }
                out[((size_t)r * ow + x) * c + k] = best;
            }
        }
    }
}

POOL_KERNEL max_pool(__global const T *in, __global T *out, POOL_SIZES)
{
    int r_end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < r_end; ++r) {
        __global const T *image = in + (size_t)(r / oh) * ih * iw * c;
        __global T *to = out + (size_t)r * ow * c;
        for (int x = 0; x < ow; ++x, to += c) {
            WINDOW(r % oh, x)
            __global const T *corner = image + ((size_t)y0 * iw + x0) * c;
            for (int k = 0; k < c; k += VW) {
                int at = min(k, c - VW);
                VT best = LOAD_GLOBAL(corner + at);
                for (int i = 0; i < y1 - y0; ++i) {
                    __global const T *p = corner + (size_t)i * iw * c + at;
                    for (int j = 0; j < x1 - x0; ++j, p += c) {
                        VT v = LOAD_GLOBAL(p);
                        best = v > best ? v : best;
                    }
                }
                STORE_GLOBAL(best, to + at);
            }
        }
    }
}

// One channel of one window: g to the first maximum; added, since windows may overlap.
inline void max_pool_grad_channel(
    __global const T *in, __global T *din, T g, int iw, int c, int y0, int y1, int x0, int x1)
{
    size_t where = ((size_t)y0 * iw + x0) * c;
    T best = in[where];
    for (int i = y0; i < y1; ++i)
        for (int j = x0; j < x1; ++j) {
            size_t at = ((size_t)i * iw + j) * c;
            if (in[at] > best) {
                best = in[at];
                where = at;
            }
        }
    din[where] += g;
}

// Rows of din that a block owns: from where its first window starts to where the next block's does.
#define MAX_POOL_GRAD_BLOCK                                                            \
    int nrb = max((oh + rb - 1) / rb, 1);                                              \
    int y_begin = b % nrb * rb, y_end = min(oh, y_begin + rb);                         \
    int own_begin = y_begin == 0 ? 0 : clamp(y_begin * sy - pt, 0, ih);                \
    int own_end = y_end == oh ? ih : clamp(y_end * sy - pt, 0, ih);                    \
    size_t image = (size_t)(b / nrb) * ih * iw * c;                                    \
    __global const T *src = in + image;                                                \
    __global T *dst = din + image;                                                     \
    __global const T *g = grad + ((size_t)(b / nrb) * oh + y_begin) * ow * c;

POOL_KERNEL max_pool_grad_naive(
    __global const T *in, __global const T *grad, __global T *din, POOL_SIZES, int rb)
{
    int blocks = n * max((oh + rb - 1) / rb, 1);
    for (int b = SHARE_BEGIN(blocks); b < SHARE_END(blocks); ++b) {
        MAX_POOL_GRAD_BLOCK
        for (int i = own_begin * iw * c; i < own_end * iw * c; ++i)
            dst[i] = 0;
        for (int y = y_begin; y < y_end; ++y)
            for (int x = 0; x < ow; ++x) {
                WINDOW(y, x)
                for (int k = 0; k < c; ++k)
                    max_pool_grad_channel(src + k, dst + k, *g++, iw, c, y0, y1, x0, x1);
            }
    }
}

// flags: 1 windows overlap, gradients are added up; 2 windows leave pixels out, zeros come first.
POOL_KERNEL max_pool_grad(
    __global const T *in, __global const T *grad, __global T *din, POOL_SIZES, int rb, int flags)
{
    int blocks = n * max((oh + rb - 1) / rb, 1), b_end = SHARE_END(blocks), add = flags & 1;
    for (int b = SHARE_BEGIN(blocks); b < b_end; ++b) {
        MAX_POOL_GRAD_BLOCK
        for (int i = own_begin * iw * c; flags && i < own_end * iw * c; ++i)
            dst[i] = 0;
        for (int y = y_begin; y < y_end; ++y) {
            for (int x = 0; x < ow; ++x, g += c) {
                WINDOW(y, x)
                size_t corner = ((size_t)y0 * iw + x0) * c;
                int full = add ? c / VW * VW : c;
                for (int k = 0; k < full; k += VW) {
                    int at = min(k, c - VW);
                    VT rest = LOAD_GLOBAL(g + at), best = LOAD_GLOBAL(src + corner + at);
                    for (int i = 0; i < y1 - y0; ++i) {
                        __global const T *p = src + corner + (size_t)i * iw * c + at;
                        for (int j = 0; j < x1 - x0; ++j, p += c) {
                            VT v = LOAD_GLOBAL(p);
                            best = v > best ? v : best;
                        }
                    }
                    for (int i = 0; i < y1 - y0; ++i) {
                        size_t row = corner + (size_t)i * iw * c + at;
                        for (int j = 0; j < x1 - x0; ++j, row += c) {
                            // What the first maximum takes is gone for those after it.
                            VT v = LOAD_GLOBAL(src + row), mine = v == best ? rest : (VT)0;
                            rest = v == best ? (VT)0 : rest;
                            if (add)
                                mine += LOAD_GLOBAL(dst + row);
                            STORE_GLOBAL(mine, dst + row);
                        }
                    }
                }
                for (int k = full; k < c; ++k)
                    max_pool_grad_channel(src + k, dst + k, g[k], iw, c, y0, y1, x0, x1);
            }
        }
    }
}

POOL_KERNEL avg_pool_naive(__global const T *in, __global T *out, POOL_SIZES)
{
    for (int r = SHARE_BEGIN(n * oh); r < SHARE_END(n * oh); ++r) {
        __global const T *image = in + (size_t)(r / oh) * ih * iw * c;
        for (int x = 0; x < ow; ++x) {
            WINDOW(r % oh, x)
            for (int k = 0; k < c; ++k) {
                T sum = 0;
                for (int i = y0; i < y1; ++i)
                    for (int j = x0; j < x1; ++j)
                        sum += image[((size_t)i * iw + j) * c + k];
                out[((size_t)r * ow + x) * c + k] = sum / (T)((y1 - y0) * (x1 - x0));
            }
        }
    }
}

POOL_KERNEL avg_pool(__global const T *in, __global T *out, POOL_SIZES)
{
    int r_end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < r_end; ++r) {
        __global const T *image = in + (size_t)(r / oh) * ih * iw * c;
        __global T *to = out + (size_t)r * ow * c;
        for (int x = 0; x < ow; ++x, to += c) {
            WINDOW(r % oh, x)
            __global const T *corner = image + ((size_t)y0 * iw + x0) * c;
            VT count = (VT)(T)((y1 - y0) * (x1 - x0));
            for (int k = 0; k < c; k += VW) {
                int at = min(k, c - VW);
                VT sum = (VT)0;
                for (int i = 0; i < y1 - y0; ++i) {
                    __global const T *p = corner + (size_t)i * iw * c + at;
                    for (int j = 0; j < x1 - x0; ++j, p += c)
                        sum += LOAD_GLOBAL(p);
                }
                STORE_GLOBAL(sum / count, to + at);
            }
        }
    }
}

POOL_KERNEL avg_pool_grad_naive(__global const T *grad, __global T *din, POOL_SIZES)
{
    for (int r = SHARE_BEGIN(n * ih); r < SHARE_END(n * ih); ++r) {
        __global const T *image = grad + (size_t)(r / ih) * oh * ow * c;
        int ya = window_first(r % ih, pt, kh, sy), yb = window_last(r % ih, pt, sy, oh);
        for (int ix = 0; ix < iw; ++ix) {
            int xa = window_first(ix, pl, kw, sx), xb = window_last(ix, pl, sx, ow);
            for (int k = 0; k < c; ++k) {
                T sum = 0;
                for (int y = ya; y <= yb; ++y)
                    for (int x = xa; x <= xb; ++x)
                        sum += image[((size_t)y * ow + x) * c + k]
                            / (T)window_inside(y, pt, kh, sy, ih)
                            / (T)window_inside(x, pl, kw, sx, iw);
                din[((size_t)r * iw + ix) * c + k] = sum;
            }
        }
    }
}

POOL_KERNEL avg_pool_grad(__global const T *grad, __global T *din, POOL_SIZES)
{
    int r_end = SHARE_END(n * ih);
    for (int r = SHARE_BEGIN(n * ih); r < r_end; ++r) {
        __global const T *image = grad + (size_t)(r / ih) * oh * ow * c;
        __global T *to = din + (size_t)r * iw * c;
        int ya = window_first(r % ih, pt, kh, sy), yb = window_last(r % ih, pt, sy, oh);
        for (int ix = 0; ix < iw; ++ix, to += c) {
            int xa = window_first(ix, pl, kw, sx), xb = window_last(ix, pl, sx, ow);
            for (int k = 0; k < c; k += VW) {
                int at = min(k, c - VW);
                VT sum = (VT)0;
                for (int y = ya; y <= yb; ++y) {
                    __global const T *p = image + ((size_t)y * ow + xa) * c + at;
                    int tall = window_inside(y, pt, kh, sy, ih);
                    for (int x = xa; x <= xb; ++x, p += c)
                        sum += LOAD_GLOBAL(p) / (VT)(T)(tall * window_inside(x, pl, kw, sx, iw));
                }
                STORE_GLOBAL(sum, to + at);
            }
        }
    }
}
