// out[k, :] = the sum (product, maximum, minimum) of data[i, :] over all i with ids[i] = k; ids outside
// [0, segments) are dropped.
//
//   data  (count, row)
//   ids   (count,)
//   out   (segments, row)
//
// -DT: see lib/element.clh; -DID=int (default) or long; -DSTART: what an empty segment holds (not for sums,
// 0 by default). A NaN wins over every number. One work-item per group. Group g owns the g-th part of the
// segments and adds rows in the order of i, so the result does not depend on the number of groups.

#include "lib/element.clh"

#ifndef ID
#define ID int
#endif
#ifndef START
#define START 0
#endif

#define SEGMENTS(entry, start, expression)                                                       \
    __kernel void entry(__global const MEMORY *data, __global const ID *ids, __global MEMORY *out, int count, \
                        int row, int segments)                                                   \
    {                                                                                            \
        long g = get_group_id(0), groups = get_num_groups(0);                                    \
        ID first = (ID)(g * segments / groups), end = (ID)((g + 1) * segments / groups);         \
        for (size_t i = (size_t)first * row; i < (size_t)end * row; ++i)                         \
            PUT((SUM)(start), out, i);                                                           \
        for (int i = 0; i < count; ++i) {                                                        \
            ID k = ids[i];                                                                       \
            if (k < first || k >= end)                                                           \
                continue;                                                                        \
            size_t from = (size_t)i * row, to = (size_t)k * row;                                 \
            for (int j = 0; j < row; ++j) {                                                      \
                SUM a = ELEMENT(out, to + j), b = ELEMENT(data, from + j);                       \
                PUT(expression, out, to + j);                                                    \
            }                                                                                    \
        }                                                                                        \
    }

SEGMENTS(segment_sum, 0, a + b)
SEGMENTS(segment_prod, START, a * b)
SEGMENTS(segment_max, START, b > a || b != b ? b : a)
SEGMENTS(segment_min, START, b < a || b != b ? b : a)

// Counts: out[k] = how many ids are k, or the sum of their weights; `row` is 1.
SEGMENTS(bin_weights, 0, a + b)

__kernel void bin_count(__global const MEMORY *unused, __global const ID *ids, __global MEMORY *out, int count, int row,
                        int segments)
{
    long g = get_group_id(0), groups = get_num_groups(0);
    ID first = (ID)(g * segments / groups), end = (ID)((g + 1) * segments / groups);
    for (ID k = first; k < end; ++k)
        PUT((SUM)0, out, k);
    for (int i = 0; i < count; ++i)
        if (ids[i] >= first && ids[i] < end)
            PUT(ELEMENT(out, ids[i]) + (SUM)1, out, ids[i]);
}
