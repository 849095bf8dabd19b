// y[r, k] = the sum of x[r, i] for |i - k| <= radius: each element with its neighbours along the last dimension.
//
//   x, y    (rows, c)
//
// -DT=float (default) or double. One work-item per group; group g takes the g-th part of the rows. A row is copied
// between `radius` zeros on both sides in local memory, so that vectors of V elements add up without looking
// where the row ends; the local row holds c + 2 radius <= ROW - 2 V elements (recipes see to it). window_sum_naive
// works element by element and takes any c and radius.

#ifndef T
#define T float
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V 16
#define ROW 4096
typedef JOIN(T, 16) vector __attribute__((aligned(sizeof(T))));

#define SHARE_BEGIN(total) ((int)((long)(total) * get_group_id(0) / get_num_groups(0)))
#define SHARE_END(total) ((int)((long)(total) * (get_group_id(0) + 1) / get_num_groups(0)))

__kernel void window_sum_naive(__global const T *x, __global T *y, int rows, int c, int radius)
{
    size_t total = (size_t)rows * c;
    for (size_t i = get_global_id(0); i < total; i += get_global_size(0)) {
        int k = (int)(i % c), last = min(k + radius, c - 1);
        T sum = 0;
        for (int j = max(k - radius, 0); j <= last; ++j)
            sum += x[i - k + j];
        y[i] = sum;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void window_sum(
    __global const T *x, __global T *y, int rows, int c, int radius)
{
    __local T row[ROW];
    for (int k = 0; k < c + 2 * radius + 2 * V; ++k)
        row[k] = 0;
    int end = SHARE_END(rows);
    for (int r = SHARE_BEGIN(rows); r < end; ++r) {
        __global const T *from = x + (size_t)r * c;
        __global T *to = y + (size_t)r * c;
        int k = 0;
        for (; k + V <= c; k += V)
            *(__local vector *)(row + radius + k) = *(__global const vector *)(from + k);
        for (; k < c; ++k)
            row[radius + k] = from[k];
        for (k = 0; k < c; k += V) {
            __local const T *p = row + k;
            vector sum = *(__local const vector *)p;
            for (int j = 1; j <= 2 * radius; ++j)
                sum += *(__local const vector *)(p + j);
            if (k + V <= c)
                *(__global vector *)(to + k) = sum;
            else {
                T part[V];
                *(vector *)part = sum;
                for (int j = k; j < c; ++j)
                    to[j] = part[j - k];
            }
        }
    }
}
