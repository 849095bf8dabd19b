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

// Few bins are counted in local memory, in four tables in turn so that equal neighbours do not wait for each other's
// store; ids of other groups all count in one bin behind the own ones, which costs less than a branch.
#define FEW 1024

__kernel void bin_count(__global const MEMORY *unused, __global const ID *ids, __global MEMORY *out, int count, int row,
                        int segments)
{
    __local int counts[4 * (FEW + 1)];
    long g = get_group_id(0), groups = get_num_groups(0);
    ID first = (ID)(g * segments / groups), end = (ID)((g + 1) * segments / groups);
    if (end - first > FEW) {
        for (ID k = first; k < end; ++k)
            PUT((SUM)0, out, k);
        for (int i = 0; i < count; ++i)
            if (ids[i] >= first && ids[i] < end)
                PUT(ELEMENT(out, ids[i]) + (SUM)1, out, ids[i]);
        return;
    }
    int own = (int)(end - first);
    for (int k = 0; k < 4 * (own + 1); ++k)
        counts[k] = 0;
    for (int i = 0; i < count; ++i) {
        ID k = ids[i];
        int at = k >= first && k < end ? (int)(k - first) : own;
        counts[at * 4 + (i & 3)] += 1;
    }
    for (int k = 0; k < own; ++k) {
        int n = counts[4 * k] + counts[4 * k + 1] + counts[4 * k + 2] + counts[4 * k + 3];
        PUT((SUM)n, out, first + k);
    }
}
