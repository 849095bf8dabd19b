// Updates of the rows of a variable that an index vector names, in the order of the vector.
//
//   ref      (rows, width)     in place
//   indices  (count)           int or long; an index outside [0, rows) is skipped
//   updates  (count, width)
//   ref[indices[i], :] = ref[indices[i], :] OP updates[i, :]     OP: replace, +, -, *, /, min, max
//
// -DT=float  element type: any of lib/element.clh, 16-bit floats computed in float (replacing needs only the size)
// -DINDEX=int  type of the indices
// Group g of G owns the rows r with r % G == g and reads all indices: no atomics, and repeated indices take effect
// one after the other, so results do not depend on the number of groups. One work-item per group.

#include "lib/element.clh"

#ifndef INDEX
#define INDEX int
#endif

#define SCATTER(entry, expression)                                                               \
    __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void entry(                          \
        __global MEMORY *restrict ref, __global const INDEX *restrict indices,                   \
        __global const MEMORY *restrict updates, int rows, int width, int count)                 \
    {                                                                                            \
        int share = get_num_groups(0), own = get_group_id(0);                                    \
        for (int i = 0; i < count; ++i) {                                                        \
            INDEX r = indices[i];                                                                \
            if (r < 0 || r >= rows || r % share != own)                                          \
                continue;                                                                        \
            __global MEMORY *restrict to = ref + (size_t)r * width;                              \
            __global const MEMORY *restrict from = updates + (size_t)i * width;                  \
            for (int k = 0; k < width; ++k) {                                                    \
                SUM a = ELEMENT(to, k), b = ELEMENT(from, k);                                    \
                PUT((expression), to, k);                                                        \
            }                                                                                    \
        }                                                                                        \
    }

SCATTER(scatter_update, b)
SCATTER(scatter_add, a + b)
SCATTER(scatter_sub, a - b)
SCATTER(scatter_mul, a * b)
SCATTER(scatter_div, a / b)
SCATTER(scatter_min, b < a ? b : a)
SCATTER(scatter_max, b > a ? b : a)

// rows[i] = the row-major number of the index indices[i, :] (depth numbers) in a tensor whose first dimensions are
// d0..d7, or -1 for an index outside. Any number of work-items.
__kernel void nd_rows(__global const INDEX *restrict indices, __global int *restrict rows, int count, int depth, int d0,
                      int d1, int d2, int d3, int d4, int d5, int d6, int d7)
{
    int sizes[8] = {d0, d1, d2, d3, d4, d5, d6, d7};
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        int row = 0;
        for (int j = 0; j < depth; ++j) {
            INDEX at = indices[(size_t)i * depth + j];
            row = row < 0 || at < 0 || at >= sizes[j] ? -1 : row * sizes[j] + (int)at;
        }
        rows[i] = row;
    }
}
