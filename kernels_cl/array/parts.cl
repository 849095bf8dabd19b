// Joins up to 32 tensors along an axis, or splits a tensor into them.
//
//   whole     (rows, stride)
//   p0..p31   (rows, w0) .. (rows, w31)
//
// Part k lies in the columns start + w0 + .. + w(k-1) and following of `whole`. Parts of width 0 are skipped; the
// launches of a tensor with more parts begin at further columns.
//
// -DT (default uint): an unsigned type of the elements' size. One work-item per group; item i takes the i-th share of
// the elements of each part. -DINTERLEAVED, for GPUs: it takes every n-th element.

#ifndef T
#define T uint
#endif

#define EACH(M)                                                                                                        \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18) M(19) M(20) \
    M(21) M(22) M(23) M(24) M(25) M(26) M(27) M(28) M(29) M(30) M(31)
#define SOURCE(k) , __global const T *p##k
#define TARGET(k) , __global T *p##k
#define WIDTH(k) , int w##k
#define PART(k) p##k,
#define SIZE(k) w##k,

// Copies (rows, width) elements between two arrays whose rows are `to_step` and `from_step` elements apart.
inline void move(__global T *restrict to, __global const T *restrict from, int rows, int width, int to_step,
                 int from_step)
{
    long size = (long)rows * width, items = get_global_size(0), item = get_global_id(0);
#ifdef INTERLEAVED
    for (long i = item; i < size; i += items)
        to[i / width * to_step + i % width] = from[i / width * from_step + i % width];
#else
    long begin = size * item / items, end = size * (item + 1) / items;
    if (begin == end)
        return;
    long row = begin / width;
    int column = begin % width;
    for (long i = begin; i < end; ++row, column = 0) {
        int n = min((long)(width - column), end - i);
        __global T *t = to + row * to_step + column;
        __global const T *f = from + row * from_step + column;
        for (int k = 0; k < n; ++k)
            t[k] = f[k];
        i += n;
    }
#endif
}

__kernel void join_parts(__global T *whole EACH(SOURCE), int rows, int stride, int start EACH(WIDTH))
{
    __global const T *parts[] = { EACH(PART) };
    int widths[] = { EACH(SIZE) };
    for (int k = 0; k < 32; start += widths[k++])
        if (widths[k])
            move(whole + start, parts[k], rows, widths[k], stride, widths[k]);
}

__kernel void split_parts(__global const T *whole EACH(TARGET), int rows, int stride, int start EACH(WIDTH))
{
    __global T *parts[] = { EACH(PART) };
    int widths[] = { EACH(SIZE) };
    for (int k = 0; k < 32; start += widths[k++])
        if (widths[k])
            move(parts[k], whole + start, rows, widths[k], widths[k], stride);
}
