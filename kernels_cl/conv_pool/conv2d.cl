// out[n,y,x,o] = activation(bias[o] +
//                sum_{ky,kx,c} in[n, y*sy - pt + ky*dy, x*sx - pl + kx*dx, c] * filter[ky,kx,c,o])
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
// conv2d_rows   CPU; one work-item per group; group g computes rb rows x xb columns of one image
//               from padded rows held in local memory, pixels innermost. It also serves the input
//               gradient: there the input counts as uy x ux times larger, with zeros between its
//               pixels, which are skipped. plane: columns held of one phase of the stride;
//               pitch: elements from one channel to the next

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
            sum = conv_naive_pixel(
                in, filter + o, ih, iw, ci, co, kh, kw, dy, dx, y * sy - pt, x * sx - pl, sum);
            conv_store(activate(sum, act), out + o, co - o);
        }
    }
}

#ifndef TFNB_GPU // the rest fills local memory of a size that only CPUs have

typedef GEMM_JOIN(T, 4) T4;
typedef T4 T4U __attribute__((aligned(sizeof(T))));

// Four pixels of four channels, read with channels next to each other, written with pixels so.
inline void conv_turn_4x4(__global const T *s, int sstep, __local T *d, int dstep)
{
    T4 a = *(__global const T4U *)s, b = *(__global const T4U *)(s + sstep);
    T4 c = *(__global const T4U *)(s + 2 * sstep), e = *(__global const T4U *)(s + 3 * sstep);
    *(__local T4U *)d = (T4)(a.x, b.x, c.x, e.x);
    *(__local T4U *)(d + dstep) = (T4)(a.y, b.y, c.y, e.y);
    *(__local T4U *)(d + 2 * dstep) = (T4)(a.z, b.z, c.z, e.z);
    *(__local T4U *)(d + 3 * dstep) = (T4)(a.w, b.w, c.w, e.w);
}

// Pixels x0 + i*step, i < plane, of one input row to dst[c*pitch + i]; zeros outside the row.
CONV_FUNCTION void conv_load_plane(
    __global const T *row, __local T *dst, int iw, int ci, int x0, int step, int plane, int pitch)
{
    int begin = x0 < 0 ? (-x0 + step - 1) / step : 0, end = iw > x0 ? (iw - 1 - x0) / step + 1 : 0;
    begin = LOWER(begin, plane);
    end = LOWER(end, plane);
    end = end < begin ? begin : end;
    for (int c = 0; c < ci; ++c) {
        for (int i = 0; i < begin; ++i)
            dst[c * pitch + i] = 0;
        for (int i = end; i < plane; ++i)
            dst[c * pitch + i] = 0;
    }
    int whole_c = ci / 4 * 4, i = begin, sstep = step * ci;
    for (; i + 4 <= end; i += 4) {
        __global const T *s = row + ((long)x0 + (long)i * step) * ci;
        for (int c = 0; c < whole_c; c += 4)
            conv_turn_4x4(s + c, sstep, dst + c * pitch + i, pitch);
        for (int c = whole_c; c < ci; ++c)
            for (int k = 0; k < 4; ++k)
                dst[c * pitch + i + k] = s[k * sstep + c];
    }
    for (; i < end; ++i) {
        __global const T *s = row + ((long)x0 + (long)i * step) * ci;
        for (int c = 0; c < ci; ++c)
            dst[c * pitch + i] = s[c];
    }
}

// `pixels` pixels of one row for channels [0, lanes) of out: tiles of pixels x vectors of channels.
// rest holds LARGE * PANEL elements; tanh and sigmoid, and channels that do not fill two vectors,
// go through it.
CONV_FUNCTION void conv_row(
    const Sums *sums, __local const T *rows, __global const T *filter, __local T *rest,
    __global T *out, int ostep, int pixels, int lanes, int act)
{
    int direct = lanes == PANEL && act < 2;
    for (int q = 0; q < pixels;) {
        int height = conv_height(pixels - q), count = LOWER(height, pixels - q);
        __global T *to = out + (long)q * ostep;
        // On a CPU local and global memory are one address space; only the pointer's type differs.
        conv_tile(
            height, lanes, sums, rows + q, filter,
            direct ? to : (__global T *)(uintptr_t)rest, direct ? ostep : PANEL, count);
        for (int j = 0; !direct && j < count; ++j)
            for (int i = 0; i < lanes; i += VW) {
                VT x = activate(LOAD_LOCAL(rest + j * PANEL + i), act);
                conv_store(x, to + (long)j * ostep + i, lanes - i);
            }
        q += height;
    }
}

// The same for few channels: tiles of channels x vectors of pixels; left and right have changed
// places in `sums`.
CONV_FUNCTION void conv_row_narrow(
    const Sums *sums, __local const T *rows, __global const T *filter, __local T *rest,
    __global T *out, int ostep, int pixels, int lanes, int act)
{
    Sums from_rest = *sums;
    from_rest.first = 0;
    for (int q = 0; q < pixels; q += PANEL) {
        int width = LOWER(PANEL, pixels - q);
        for (int o = 0; o < lanes;) {
            int height = conv_height(lanes - o), count = LOWER(height, lanes - o);
            for (int j = 0; j < count * PANEL; j += VW)
                STORE_LOCAL((VT)sums->first[o + j / PANEL], rest + j);
            conv_tile(
                height, width, &from_rest, (__local const T *)(uintptr_t)filter + o,
                (__global const T *)(uintptr_t)rows + q, (__global T *)(uintptr_t)rest,
                PANEL, count);
            for (int j = 0; act > 1 && j < count * PANEL; j += VW)
                STORE_LOCAL(activate(LOAD_LOCAL(rest + j), act), rest + j);
            for (int i = 0; i < width; ++i)
                for (int j = 0; j < count; ++j)
                    out[(long)(q + i) * ostep + o + j] = rest[j * PANEL + i];
            o += height;
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
    __local T first[PANEL], rest[LARGE * PANEL];

    int g = get_group_id(0);
    int x_begin = g % nxb * xb, x_end = LOWER(ow, x_begin + xb);
    int y_begin = g / nxb % nrb * rb, y_end = LOWER(oh, y_begin + rb);
    size_t n = g / nxb / nrb;
    in += n * ih * iw * ci;
    out += n * oh * ow * co;

    // Rows of the input in local memory, from row_begin on; those outside are not held but skipped.
    int row_begin = conv_floor_div(y_begin * sy - pt + uy - 1, uy);
    int row_end = LOWER(ih, conv_floor_div((y_end - 1) * sy - pt + (kh - 1) * dy, uy) + 1);
    int col_begin = conv_floor_div(x_begin * sx - pl, ux);
    int slot = ci * pitch;
    row_begin = row_begin < 0 ? 0 : row_begin;
    for (int r = row_begin; r < row_end; ++r)
        for (int phase = 0; phase < sx; ++phase)
            conv_load_plane(
                in + (size_t)r * iw * ci, rows + (r - row_begin) * slot + phase * plane,
                iw, ci, col_begin + phase, sx, plane, pitch);

    // With one channel the taps of a filter row are neighbours: one run instead of kw.
    int merge = ci == 1 && dx == 1 && sx == 1 && ux == 1, taps = merge ? 1 : kw;
    T lowest = act == 1 ? (T)0 : -(T)INFINITY;
    int lstep = merge ? 1 : pitch, width = (x_end - x_begin + ux - 1) / ux;

    for (int o = 0; o < co; o += PANEL) {
        int lanes = LOWER(PANEL, co - o);
        int wide_work = conv_heights(width) * conv_round_up(lanes);
        int narrow = lanes < PANEL && conv_round_up(width) * conv_heights(lanes) < wide_work;
        Sums sums = {
            runs, 0, merge ? kw : ci, narrow ? co : lstep, narrow ? lstep : co, first, lowest};
        for (int i = 0; i < PANEL; ++i)
            first[i] = flags & 1 && i < lanes ? bias[o + i] : (T)0;
        for (int y = y_begin; y < y_end; ++y) {
            for (int phase = 0; phase < ux && phase < x_end - x_begin; ++phase) {
                sums.nruns = 0;
                for (int ky = 0; ky < kh; ++ky) {
                    int vy = y * sy - pt + ky * dy, r = vy / uy;
                    if (vy < 0 || vy % uy || r >= ih)
                        continue;
                    for (int kx = 0; kx < taps; ++kx) {
                        int vx = kx * dx;
                        if (ux > 1)
                            vx += x_begin + phase - pl - col_begin * ux;
                        if (vx % ux)
                            continue;
                        int f = (ky * kw + kx) * ci * co, at = (r - row_begin) * slot;
                        at += ux == 1 ? vx % sx * plane + vx / sx : vx / ux;
                        runs[sums.nruns++] = narrow ? (int2)(f, at) : (int2)(at, f);
                    }
                }
                int pixels = (x_end - x_begin - phase + ux - 1) / ux;
                __global T *to = out + ((size_t)y * ow + x_begin + phase) * co + o;
                if (narrow)
                    conv_row_narrow(&sums, rows, filter + o, rest, to, ux * co, pixels, lanes, act);
                else
                    conv_row(&sums, rows, filter + o, rest, to, ux * co, pixels, lanes, act);
            }
        }
    }
}
#endif
