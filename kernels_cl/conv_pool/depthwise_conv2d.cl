// Convolution of each channel with filters of its own: out[n, y, x, c*m + q] = sum over taps (ky, kx) of
//   in[n, y*sy + ky*dy - pt, x*sx + kx*dx - pl, c] * w[ky, kx, c, q], pixels outside the image being zeros.
//
//   in   (n, ih, iw, c)    w   (kh, kw, c, m)    out   (n, oh, ow, c*m)
//   din  like in           dw  like w            grad  like out
//
// Sizes are arguments. -DT=float|double, also the type of all sums. Outputs are written exactly.
// Group g of G owns the g-th of G equal shares of the rows of out (forward), of the rows of din (input gradient) or of
// the taps (filter gradient); one work-item per group, inner loops over channels. Forward with m = 1 goes by vectors
// of 16 channels.

#ifndef T
#define T float
#endif

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))

#define SIZES                                                                                   \
    int n, int ih, int iw, int c, int m, int kh, int kw, int oh, int ow, int sy, int sx, int dy, \
        int dx, int pt, int pl
// `statement` for each channel k of the input and each channel j that it makes: one plain loop where m is 1, which the
// compiler can turn into vectors.
#define EACH_CHANNEL(statement)                   \
    if (m == 1)                                   \
        for (int k = 0, j = 0; k < c; ++k, ++j) { \
            statement;                            \
        }                                         \
    else                                          \
        for (int k = 0, j = 0; k < c; ++k)        \
            for (int q = 0; q < m; ++q, ++j) {    \
                statement;                        \
            }

#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V 16
typedef JOIN(T, 16) vector __attribute__((aligned(sizeof(T))));

KERNEL depthwise_conv2d(
    __global const T *restrict in, __global const T *restrict w, __global T *restrict out, SIZES)
{
    int wide = c * m, end = SHARE_END(n * oh);
    for (int r = SHARE_BEGIN(n * oh); r < end; ++r)
        for (int x = 0; x < ow; ++x) {
            __global T *restrict to = out + ((size_t)r * ow + x) * wide;
            if (m == 1 && c >= V) { // sums stay in registers; the last vector is moved back to end at c
                __global const T *image = in + (size_t)(r / oh) * ih * iw * c;
                for (int k = 0; k < c; k += V) {
                    int at = k + V < c ? k : c - V;
                    vector sum = (vector)(T)0;
                    for (int ky = 0; ky < kh; ++ky) {
                        int iy = r % oh * sy + ky * dy - pt;
                        if (iy < 0 || iy >= ih)
                            continue;
                        for (int kx = 0; kx < kw; ++kx) {
                            int ix = x * sx + kx * dx - pl;
                            if (ix >= 0 && ix < iw)
                                sum += *(__global const vector *)(image + ((size_t)iy * iw + ix) * c + at)
                                    * *(__global const vector *)(w + (size_t)(ky * kw + kx) * c + at);
                        }
                    }
                    *(__global vector *)(to + at) = sum;
                }
                continue;
            }
            for (int k = 0; k < wide; ++k)
                to[k] = 0;
            for (int ky = 0; ky < kh; ++ky) {
                int iy = r % oh * sy + ky * dy - pt;
                if (iy < 0 || iy >= ih)
                    continue;
                for (int kx = 0; kx < kw; ++kx) {
                    int ix = x * sx + kx * dx - pl;
                    if (ix < 0 || ix >= iw)
                        continue;
                    __global const T *restrict from = in + (((size_t)(r / oh) * ih + iy) * iw + ix) * c;
                    __global const T *restrict tap = w + (size_t)(ky * kw + kx) * wide;
                    EACH_CHANNEL(to[j] += from[k] * tap[j])
                }
            }
        }
}

KERNEL depthwise_conv2d_input_grad(
    __global const T *restrict w, __global const T *restrict grad, __global T *restrict din, SIZES)
{
    int wide = c * m, end = SHARE_END(n * ih);
    for (int r = SHARE_BEGIN(n * ih); r < end; ++r)
        for (int x = 0; x < iw; ++x) {
            __global T *restrict to = din + ((size_t)r * iw + x) * c;
            for (int k = 0; k < c; ++k)
                to[k] = 0;
            for (int ky = 0; ky < kh; ++ky) {
                int y0 = r % ih + pt - ky * dy;
                if (y0 < 0 || y0 % sy || y0 / sy >= oh)
                    continue;
                for (int kx = 0; kx < kw; ++kx) {
                    int x0 = x + pl - kx * dx;
                    if (x0 < 0 || x0 % sx || x0 / sx >= ow)
                        continue;
                    __global const T *restrict from =
                        grad + (((size_t)(r / ih) * oh + y0 / sy) * ow + x0 / sx) * wide;
                    __global const T *restrict tap = w + (size_t)(ky * kw + kx) * wide;
                    EACH_CHANNEL(to[k] += from[j] * tap[j])
                }
            }
        }
}

KERNEL depthwise_conv2d_filter_grad(
    __global const T *restrict in, __global const T *restrict grad, __global T *restrict dw, SIZES)
{
    int wide = c * m, end = SHARE_END(kh * kw);
    for (int t = SHARE_BEGIN(kh * kw); t < end; ++t) {
        __global T *restrict to = dw + (size_t)t * wide;
        for (int k = 0; k < wide; ++k)
            to[k] = 0;
        for (int r = 0; r < n * oh; ++r) {
            int iy = r % oh * sy + t / kw * dy - pt;
            if (iy < 0 || iy >= ih)
                continue;
            for (int x = 0; x < ow; ++x) {
                int ix = x * sx + t % kw * dx - pl;
                if (ix < 0 || ix >= iw)
                    continue;
                __global const T *restrict from = in + (((size_t)(r / oh) * ih + iy) * iw + ix) * c;
                __global const T *restrict slope = grad + ((size_t)r * ow + x) * wide;
                EACH_CHANNEL(to[j] += from[k] * slope[j])
            }
        }
    }
}
