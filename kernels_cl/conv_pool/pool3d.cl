// The gradient of a max-pool over volumes. Window (z, y, x) holds the voxels from (z*sz - pz, y*sy - pt, x*sx - pl) on,
// kd x kh x kw of them, as far as they lie in the volume.
//
//   in, din   (n, d, ih, iw, c)        out, grad   (n, od, oh, ow, c)
//   din[v] = sum of grad[w] over the windows w that hold v with in[v] == out[w]
//
// Sizes are arguments. -DT=float|double. Group g of G owns the g-th of G equal shares of the rows of din (n*d*ih of
// iw*c elements); one work-item per group, inner loops over channels.

#ifndef T
#define T float
#endif

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))

// Windows that hold place `i` along one axis: [first, last].
inline int window_first(int i, int pad, int size, int stride)
{
    int d = i + pad - size;
    return d < 0 ? 0 : d / stride + 1;
}
inline int window_last(int i, int pad, int stride, int count)
{
    return min((i + pad) / stride, count - 1);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void max_pool3d_grad(
    __global const T *restrict in, __global const T *restrict out, __global const T *restrict grad,
    __global T *restrict din, int n, int d, int ih, int iw, int od, int oh, int ow, int c, int kd, int kh, int kw,
    int sz, int sy, int sx, int pz, int pt, int pl)
{
    int end = SHARE_END(n * d * ih);
    for (int r = SHARE_BEGIN(n * d * ih); r < end; ++r) {
        int iy = r % ih, iz = r / ih % d, b = r / ih / d;
        int za = window_first(iz, pz, kd, sz), zb = window_last(iz, pz, sz, od);
        int ya = window_first(iy, pt, kh, sy), yb = window_last(iy, pt, sy, oh);
        for (int ix = 0; ix < iw; ++ix) {
            int xa = window_first(ix, pl, kw, sx), xb = window_last(ix, pl, sx, ow);
            __global const T *restrict v = in + ((size_t)r * iw + ix) * c;
            __global T *restrict to = din + ((size_t)r * iw + ix) * c;
            for (int k = 0; k < c; ++k)
                to[k] = 0;
            for (int z = za; z <= zb; ++z)
                for (int y = ya; y <= yb; ++y)
                    for (int x = xa; x <= xb; ++x) {
                        size_t at = ((((size_t)b * od + z) * oh + y) * ow + x) * c;
                        for (int k = 0; k < c; ++k)
                            to[k] += v[k] == out[at + k] ? grad[at + k] : (T)0;
                    }
        }
    }
}
