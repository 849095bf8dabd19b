// The k largest elements of each row in descending order, and their places; the lower place first among equals,
// a NaN after every number.
//
//   x       (rows, size)
//   values  (rows, k)
//   places  (rows, k)     int
//   heaps, numbers   k elements of SUM and k ints for each group: a heap of the best so far, the worst on top
//
// -DT: see lib/element.clh. One work-item per group; group g takes the g-th part of the rows. Most elements
// of a long row are worse than the k best before them, so they cost one comparison; 16 are looked at together.

#include "lib/element.clh"

#if ELEMENT_IS_FLOAT
#define ABOVE(a, b) ((a) > (b) || ((b) != (b) && (a) == (a)))
#else
#define ABOVE(a, b) ((a) > (b))
#endif

// Is element a at place i before element b at place j in the result?
inline int before(SUM a, int i, SUM b, int j) { return ABOVE(a, b) || (!ABOVE(b, a) && i < j); }

// Puts (a, i) where the top of a heap of n was, and moves it down to its level.
inline void sift(__global SUM *keys, __global int *own, int n, SUM a, int i)
{
    int at = 0;
    for (int down = 1; down < n; down = 2 * at + 1) {
        if (down + 1 < n && before(keys[down], own[down], keys[down + 1], own[down + 1]))
            ++down;
        if (!before(a, i, keys[down], own[down]))
            break;
        keys[at] = keys[down];
        own[at] = own[down];
        at = down;
    }
    keys[at] = a;
    own[at] = i;
}

// Adds (a, i) at the end of a heap of n and moves it up to its level.
inline void lift(__global SUM *keys, __global int *own, int n, SUM a, int i)
{
    int at = n;
    while (at > 0) {
        int up = (at - 1) / 2;
        if (!before(keys[up], own[up], a, i))
            break;
        keys[at] = keys[up];
        own[at] = own[up];
        at = up;
    }
    keys[at] = a;
    own[at] = i;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void top_k(
    __global const MEMORY *x, __global MEMORY *values, __global int *places, __global SUM *heaps,
    __global int *numbers, int rows, int size, int k)
{
    __global SUM *keys = heaps + get_group_id(0) * (size_t)k;
    __global int *own = numbers + get_group_id(0) * (size_t)k;
    int end = (int)((long)rows * (get_group_id(0) + 1) / get_num_groups(0));
    for (int r = (int)((long)rows * get_group_id(0) / get_num_groups(0)); r < end; ++r) {
        size_t row = (size_t)r * size, to = (size_t)r * k;
        for (int i = 0; i < k; ++i)
            lift(keys, own, i, ELEMENT(x, row + i), i);
        int i = k;
        while (i < size) {
            SUM worst = keys[0];
            if (i + 16 <= size) { // an element after the heap's with the same value is after it in the result, too
                int better = 0;
                for (int j = 0; j < 16; ++j)
                    better |= ABOVE(ELEMENT(x, row + i + j), worst);
                if (!better) {
                    i += 16;
                    continue;
                }
            }
            for (int stop = min(i + 16, size); i < stop; ++i) {
                SUM a = ELEMENT(x, row + i);
                if (ABOVE(a, keys[0]))
                    sift(keys, own, k, a, i);
            }
        }
        for (int n = k - 1; n >= 0; --n) { // the worst that is left goes to the end
            PUT(keys[0], values, to + n);
            places[to + n] = own[0];
            SUM a = keys[n];
            int last = own[n];
            sift(keys, own, n, a, last);
        }
    }
}
