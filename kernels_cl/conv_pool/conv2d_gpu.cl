// The convolution of conv2d.cl and its gradients (conv2d_grad.cl) on a GPU, each as a product of matrices of which one
// is read from an image as it is needed. Tensors, sizes and activations are those of the two files.
//
// Sizes are arguments: one build serves every shape. -DT=float|double, -DTILE=4|8 (see lib/gpu_tile.clh); -DSTRIDED=1
// where a stride is not 1, which the gradient of the input needs to know.
// Outputs are written exactly. Accumulation in T.
//
// A group of 256 work-items computes one tile of the product, or of one of `splits` partial sums, which
// matmul_tiles_sum (linalg/matmul_gpu.cl) adds up: then the output is (splits, rows, columns).
//
//                            rows                       columns    depth
// conv2d_tiles               pixels of out              co         taps of the filter x ci
// conv2d_input_grad_tiles    pixels of in               ci         taps of the filter x co
// conv2d_filter_grad_tiles   taps of the filter x ci    co         pixels of out

#include "lib/gpu_tile.clh"

#define SIZES \
    int images, int ih, int iw, int ci, int oh, int ow, int co, int kh, int kw, int sy, int sx, int dy, int dx, \
        int pt, int pl, int splits
#define ROW_OF(i, height, width) ((i) / (width) % (height))
#define IMAGE_OF(i, height, width) ((size_t)((i) / (width) / (height)))

// The tile of this group in `rows` x `columns` elements, and its part of `depth`.
#define TILE_PLACE(rows, columns, depth) \
    int m = (rows), n = (columns), k = (depth); \
    size_t group = get_group_id(0); \
    int j0 = group % TILES(n) * TILE_SIDE, i0 = group / TILES(n) % TILES(m) * TILE_SIDE; \
    size_t part = group / TILES(n) / TILES(m); \
    int begin = (long)k * part / splits, end = (long)k * (part + 1) / splits

// The input that the filter's tap `tap` has at pixel `pixel` of the output, in channel c.
#define INPUT_AT(pixel, tap, c) \
    input_at(in, IMAGE_OF(pixel, oh, ow), ROW_OF(pixel, oh, ow) * sy - pt + (tap) / kw * dy, \
        (pixel) % ow * sx - pl + (tap) % kw * dx, c, ih, iw, ci)

inline T input_at(__global const T *in, size_t image, int y, int x, int c, int ih, int iw, int ci)
{
    return y >= 0 && y < ih && x >= 0 && x < iw ? in[((image * ih + y) * iw + x) * ci + c] : (T)0;
}

TILE_KERNEL conv2d_tiles(
    __global const T *in, __global const T *filter, __global const T *bias, __global T *out, SIZES, int flags, int act)
{
    TILE_ROOM;
    TILE_PLACE(images * oh * ow, co, kh * kw * ci);
    out += part * m * n;

#define A_AT(i, d) ((i) < m && (d) < end ? INPUT_AT(i, (d) / ci, (d) % ci) : (T)0)
#define B_AT(d, j) ((j) < n && (d) < end ? filter[(size_t)(d) * n + (j)] : (T)0)
    TILE_SUMS(i0, j0, begin, end, A_AT, 1, B_AT, 0);
#undef A_AT
#undef B_AT

#define PUT(row, column, sum) \
    do { \
        int i = i0 + (row), j = j0 + (column); \
        if (i < m && j < n) \
            out[(size_t)i * n + j] = tile_activate(flags & 1 ? sum + bias[j] : sum, act); \
    } while (0)
    TILE_STORE(PUT);
#undef PUT
}

#define PUT(row, column, sum) \
    do { \
        int i = i0 + (row), j = j0 + (column); \
        if (i < m && j < n) \
            to[(size_t)i * n + j] = sum; \
    } while (0)

// The gradient of the output's pixel that takes input row y and column x by the filter's tap `tap`, if there is one.
inline T grad_at(
    __global const T *grad, size_t image, int y, int x, int o, int oh, int ow, int co, int sy, int sx)
{
#ifdef STRIDED // divisions take longer than the rest
    if (y < 0 || x < 0 || y % sy || x % sx)
        return 0;
    y /= sy;
    x /= sx;
#else
    if (y < 0 || x < 0)
        return 0;
#endif
    return y < oh && x < ow ? grad[((image * oh + y) * ow + x) * co + o] : (T)0;
}

TILE_KERNEL conv2d_input_grad_tiles(__global const T *filter, __global const T *grad, __global T *to, SIZES)
{
    TILE_ROOM;
    TILE_PLACE(images * ih * iw, ci, kh * kw * co);
    to += part * m * n;

#define GRAD_AT(pixel, tap, o) \
    grad_at(grad, IMAGE_OF(pixel, ih, iw), ROW_OF(pixel, ih, iw) + pt - (tap) / kw * dy, \
        (pixel) % iw + pl - (tap) % kw * dx, o, oh, ow, co, sy, sx)
#define A_AT(i, d) ((i) < m && (d) < end ? GRAD_AT(i, (d) / co, (d) % co) : (T)0)
#define B_AT(d, j) ((j) < n && (d) < end ? filter[((size_t)((d) / co) * n + (j)) * co + (d) % co] : (T)0)
    TILE_SUMS(i0, j0, begin, end, A_AT, 1, B_AT, 1);
#undef A_AT
#undef B_AT

    TILE_STORE(PUT);
}

TILE_KERNEL conv2d_filter_grad_tiles(__global const T *in, __global const T *grad, __global T *to, SIZES)
{
    TILE_ROOM;
    TILE_PLACE(kh * kw * ci, co, images * oh * ow);
    to += part * m * n;

#define A_AT(i, d) ((i) < m && (d) < end ? INPUT_AT(d, (i) / ci, (i) % ci) : (T)0)
#define B_AT(d, j) ((j) < n && (d) < end ? grad[(size_t)(d) * n + (j)] : (T)0)
    TILE_SUMS(i0, j0, begin, end, A_AT, 0, B_AT, 0);
    TILE_STORE(PUT);
}
