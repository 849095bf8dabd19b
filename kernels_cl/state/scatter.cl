// Updates of the rows of a variable that an index vector names, in the order of the vector.
//
//   ref      (rows, width)     in place
//   indices  (count)           int or long; an index outside [0, rows) is skipped
//   updates  (count, width)
//   ref[indices[i], :] = ref[indices[i], :] OP updates[i, :]     OP: replace, +, -, *, /, min, max
//
// -DT=float  element type (any scalar type of OpenCL C; replacing needs only its size)
// -DINDEX=int  type of the indices
// Group g of G owns the rows r with r % G == g and reads all indices: no atomics, and repeated indices take effect
// one after the other, so results do not depend on the number of groups. One work-item per group.

#ifndef T
#define T float
#endif
#ifndef INDEX
#define INDEX int
#endif

#define SCATTER(entry, expression)                                                               \
    __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void entry(                          \
        __global T *restrict ref, __global const INDEX *restrict indices,                        \
        __global const T *restrict updates, int rows, int width, int count)                      \
    {                                                                                            \
        int share = get_num_groups(0), own = get_group_id(0);                                    \
        for (int i = 0; i < count; ++i) {                                                        \
            INDEX r = indices[i];                                                                \
            if (r < 0 || r >= rows || r % share != own)                                          \
                continue;                                                                        \
            __global T *restrict to = ref + (size_t)r * width;                                   \
            __global const T *restrict from = updates + (size_t)i * width;                       \
            for (int k = 0; k < width; ++k) {                                                    \
                T a = to[k], b = from[k];                                                        \
                to[k] = (expression);                                                            \
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
