// What turns a convolution of volumes into one of images: the kd planes that a window touches become the channels of
// one image, and a filter's taps along the depth go to its input channels.
//
//   in   (n, d, plane, c)            planes  (n * od, plane, kd * c)
//   w    (kd, taps, size)            out     (taps, kd, size)
//   planes[b*od + z, p, t*c + k] = in[b, z*sz + t*dz - pz, p, k], planes outside the volume being zeros
//   fold_depth is the transpose of unfold_depth: it adds what planes hold up into din, shaped like `in`
//
// Sizes are arguments. -DT=float|double. Group g of G owns the g-th of G equal shares of the rows written (of kd * c
// elements in planes, of c in din); one work-item per group.

#ifndef T
#define T float
#endif

#define SHARE_BEGIN(total) ((long)(total) * get_group_id(0) / get_num_groups(0))
#define SHARE_END(total) ((long)(total) * (get_group_id(0) + 1) / get_num_groups(0))
#define SIZES int n, int d, int plane, int c, int od, int kd, int sz, int dz, int pz
#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

KERNEL unfold_depth(__global const T *restrict in, __global T *restrict planes, SIZES)
{
    for (long r = SHARE_BEGIN((long)n * od * plane); r < SHARE_END((long)n * od * plane); ++r) {
        int p = r % plane, z = r / plane % od, b = r / plane / od;
        for (int t = 0; t < kd; ++t) {
            int y = z * sz + t * dz - pz;
            __global T *restrict to = planes + (r * kd + t) * c;
            if (y < 0 || y >= d) {
                for (int k = 0; k < c; ++k)
                    to[k] = 0;
                continue;
            }
            __global const T *restrict from = in + (((long)b * d + y) * plane + p) * c;
            for (int k = 0; k < c; ++k)
                to[k] = from[k];
        }
    }
}

KERNEL fold_depth(__global const T *restrict planes, __global T *restrict din, SIZES)
{
    for (long r = SHARE_BEGIN((long)n * d * plane); r < SHARE_END((long)n * d * plane); ++r) {
        int p = r % plane, y = r / plane % d, b = r / plane / d;
        __global T *restrict to = din + r * c;
        for (int k = 0; k < c; ++k)
            to[k] = 0;
        for (int t = 0; t < kd; ++t) {
            int z = y + pz - t * dz;
            if (z < 0 || z % sz || z / sz >= od)
                continue;
            __global const T *restrict from = planes + ((((long)b * od + z / sz) * plane + p) * kd + t) * c;
            for (int k = 0; k < c; ++k)
                to[k] += from[k];
        }
    }
}

KERNEL swap_taps(__global const T *restrict w, __global T *restrict out, int kd, int taps, int size)
{
    for (long r = SHARE_BEGIN((long)kd * taps); r < SHARE_END((long)kd * taps); ++r) {
        int t = r % taps, z = r / taps;
        __global const T *restrict from = w + r * size;
        __global T *restrict to = out + ((long)t * kd + z) * size;
        for (int k = 0; k < size; ++k)
            to[k] = from[k];
    }
}
