// The pooling of pool.cl on a GPU: the work-items share the elements of the result. Tensors and sizes are those of pool.cl.
//
// Sizes are arguments: one build serves every shape. -DT=float|double. Accumulation in T.
//
// max_pool_items, avg_pool_items             elements of out
// max_pool_grad_items, avg_pool_grad_items   elements of din, each of which looks at all windows that hold it

#include "lib/gemm_config.clh"
#include "lib/pool_window.clh"

#define ELEMENTS(total) \
    for (size_t e = get_global_id(0), end = (total); e < end; e += get_global_size(0))

// The channel, column, row and image of element e of an array of rows of `width` pixels and images of `height` rows.
#define PLACE(height, width) \
    int k = e % c, x = e / c % (width), y = e / c / (width) % (height); \
    size_t image = e / c / (width) / (height)

__kernel void max_pool_items(__global const T *in, __global T *out, POOL_SIZES)
{
    ELEMENTS((size_t)n * oh * ow * c) {
        PLACE(oh, ow);
        WINDOW(y, x)
        __global const T *from = in + image * ih * iw * c + k;
        T best = from[((size_t)y0 * iw + x0) * c];
        for (int i = y0; i < y1; ++i)
            for (int j = x0; j < x1; ++j) {
                T v = from[((size_t)i * iw + j) * c];
                best = v > best ? v : best;
            }
        out[e] = best;
    }
}

__kernel void avg_pool_items(__global const T *in, __global T *out, POOL_SIZES)
{
    ELEMENTS((size_t)n * oh * ow * c) {
        PLACE(oh, ow);
        WINDOW(y, x)
        __global const T *from = in + image * ih * iw * c + k;
        T sum = 0;
        for (int i = y0; i < y1; ++i)
            for (int j = x0; j < x1; ++j)
                sum += from[((size_t)i * iw + j) * c];
        out[e] = sum / (T)((y1 - y0) * (x1 - x0));
    }
}

// Whether the first maximum of a window is its pixel (row, column).
inline int is_first_maximum(
    __global const T *from, int iw, int c, int y0, int y1, int x0, int x1, int row, int column)
{
    int best_row = y0, best_column = x0;
    T best = from[((size_t)y0 * iw + x0) * c];
    for (int i = y0; i < y1; ++i)
        for (int j = x0; j < x1; ++j) {
            T v = from[((size_t)i * iw + j) * c];
            if (v > best) {
                best = v;
                best_row = i;
                best_column = j;
            }
        }
    return best_row == row && best_column == column;
}

__kernel void max_pool_grad_items(__global const T *in, __global const T *grad, __global T *din, POOL_SIZES)
{
    ELEMENTS((size_t)n * ih * iw * c) {
        PLACE(ih, iw);
        __global const T *from = in + image * ih * iw * c + k;
        __global const T *g = grad + image * oh * ow * c + k;
        int ya = window_first(y, pt, kh, sy), yb = window_last(y, pt, sy, oh);
        int xa = window_first(x, pl, kw, sx), xb = window_last(x, pl, sx, ow);
        T sum = 0;
        for (int v = ya; v <= yb; ++v)
            for (int u = xa; u <= xb; ++u) {
                WINDOW(v, u)
                if (is_first_maximum(from, iw, c, y0, y1, x0, x1, y, x))
                    sum += g[((size_t)v * ow + u) * c];
            }
        din[e] = sum;
    }
}

__kernel void avg_pool_grad_items(__global const T *grad, __global T *din, POOL_SIZES)
{
    ELEMENTS((size_t)n * ih * iw * c) {
        PLACE(ih, iw);
        __global const T *g = grad + image * oh * ow * c + k;
        int ya = window_first(y, pt, kh, sy), yb = window_last(y, pt, sy, oh);
        int xa = window_first(x, pl, kw, sx), xb = window_last(x, pl, sx, ow);
        T sum = 0;
        for (int v = ya; v <= yb; ++v)
            for (int u = xa; u <= xb; ++u)
                sum += g[((size_t)v * ow + u) * c]
                    / (T)(window_inside(v, pt, kh, sy, ih) * window_inside(u, pl, kw, sx, iw));
        din[e] = sum;
    }
}
