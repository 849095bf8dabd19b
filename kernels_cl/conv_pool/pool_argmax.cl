// Gradients of pools and dilations that know, or find, the one pixel that made each output.
//
// max_pool_grad_with_argmax:  din[argmax[i]] += grad[i], image by image
//   grad, argmax   (n, made)         din   (n, pixels)     argmax counts from the image's first pixel, or with
//                                                          `whole` from the batch's; one out of range is dropped
// dilation2d_*:  output i of channel k is the largest of in[..y, x..] + w[ky, kx, k], the first of several in row-major
//   order; window (y, x) starts at (y*sy - pt, x*sx - pl), its taps (dy, dx) apart, those outside the image do not count
//   in, din   (n, ih, iw, c)     w, dw   (kh, kw, c)     grad   (n, oh, ow, c)
//   dilation2d_input_grad adds grad to din at that pixel, dilation2d_filter_grad to dw at that tap
//
// Sizes are arguments. -DT=float|double, -DTI=int|long (argmax). Group g of G owns the g-th of G equal shares of the
// images, for dilation2d_filter_grad of the channels; one work-item per group.

#ifndef T
#define T float
#endif
#ifndef TI
#define TI long
#endif

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))
#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define DILATION                                                                                                \
    int n, int ih, int iw, int c, int kh, int kw, int oh, int ow, int sy, int sx, int dy, int dx, int pt, int pl

KERNEL max_pool_grad_with_argmax(__global const T *grad, __global const TI *argmax, __global T *din, int n, int made,
                                 int pixels, int whole)
{
    for (int b = SHARE_BEGIN(n); b < SHARE_END(n); ++b) {
        __global T *to = din + (long)b * pixels;
        for (int i = 0; i < pixels; ++i)
            to[i] = 0;
        for (int i = 0; i < made; ++i) {
            long at = argmax[(long)b * made + i] - (whole ? (long)b * pixels : 0);
            if (at >= 0 && at < pixels)
                to[at] += grad[(long)b * made + i];
        }
    }
}

// The tap (ky * kw + kx) that made output (y, x, k) of the image, or -1 if none lies in it.
inline int largest_tap(__global const T *image, __global const T *w, int y, int x, int k, int ih, int iw, int c, int kh,
                       int kw, int dy, int dx)
{
    int tap = -1;
    T best = 0;
    for (int ky = 0; ky < kh; ++ky)
        for (int kx = 0; kx < kw; ++kx) {
            int iy = y + ky * dy, ix = x + kx * dx;
            if (iy < 0 || iy >= ih || ix < 0 || ix >= iw)
                continue;
            T v = image[((long)iy * iw + ix) * c + k] + w[(ky * kw + kx) * c + k];
            if (tap < 0 || v > best) {
                best = v;
                tap = ky * kw + kx;
            }
        }
    return tap;
}

KERNEL dilation2d_input_grad(__global const T *in, __global const T *w, __global const T *grad, __global T *din, DILATION)
{
    for (int b = SHARE_BEGIN(n); b < SHARE_END(n); ++b) {
        __global const T *image = in + (long)b * ih * iw * c;
        __global T *to = din + (long)b * ih * iw * c;
        for (int i = 0; i < ih * iw * c; ++i)
            to[i] = 0;
        for (int y = 0; y < oh; ++y)
            for (int x = 0; x < ow; ++x)
                for (int k = 0; k < c; ++k) {
                    int y0 = y * sy - pt, x0 = x * sx - pl;
                    int tap = largest_tap(image, w, y0, x0, k, ih, iw, c, kh, kw, dy, dx);
                    if (tap >= 0)
                        to[((long)(y0 + tap / kw * dy) * iw + x0 + tap % kw * dx) * c + k] +=
                            grad[(((long)b * oh + y) * ow + x) * c + k];
                }
    }
}

KERNEL dilation2d_filter_grad(__global const T *in, __global const T *w, __global const T *grad, __global T *dw, DILATION)
{
    int first = SHARE_BEGIN(c), end = SHARE_END(c);
    for (int t = 0; t < kh * kw; ++t)
        for (int k = first; k < end; ++k)
            dw[t * c + k] = 0;
    for (int b = 0; b < n; ++b) {
        __global const T *image = in + (long)b * ih * iw * c;
        for (int y = 0; y < oh; ++y)
            for (int x = 0; x < ow; ++x)
                for (int k = first; k < end; ++k) {
                    int tap = largest_tap(image, w, y * sy - pt, x * sx - pl, k, ih, iw, c, kh, kw, dy, dx);
                    if (tap >= 0)
                        dw[tap * c + k] += grad[(((long)b * oh + y) * ow + x) * c + k];
                }
    }
}
