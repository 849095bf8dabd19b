// Running sums and products along an axis: y[o, i, n] = x[o, 0, n] op ... op x[o, i, n].
//
//   x, y    (outer, size, inner)
//   flags   1: exclusive, y[., i] holds what comes before i; 2: reverse, from the end to the start
//
// -DT: see lib/element.clh. One work-item per group; a group takes every get_num_groups(0)-th line.
// Runs of up to 16 neighbouring lines (along inner) are scanned together, so memory is read in rows.

#include "lib/element.clh"

#define WIDTH 16

#define SCAN(NAME, NEUTRAL, OP)                                                                     \
    __kernel void NAME(__global const MEMORY *x, __global MEMORY *y, int outer, int size,          \
                       int inner, int flags)                                                        \
    {                                                                                               \
        int blocks = (inner + WIDTH - 1) / WIDTH;                                                   \
        long lines = (long)outer * blocks;                                                          \
        for (long line = get_group_id(0); line < lines; line += get_num_groups(0)) {                \
            int n0 = (int)(line % blocks) * WIDTH;                                                  \
            int width = min(WIDTH, inner - n0);                                                     \
            size_t base = (size_t)(line / blocks) * size * inner + n0;                              \
            SUM total[WIDTH];                                                                       \
            for (int n = 0; n < WIDTH; ++n)                                                         \
                total[n] = NEUTRAL;                                                                 \
            for (int k = 0; k < size; ++k) {                                                        \
                size_t at = base + (size_t)(flags & 2 ? size - 1 - k : k) * inner;                  \
                for (int n = 0; n < width; ++n) {                                                   \
                    SUM before = total[n];                                                          \
                    total[n] = before OP ELEMENT(x, at + n);                                        \
                    PUT(flags & 1 ? before : total[n], y, at + n);                                  \
                }                                                                                   \
            }                                                                                       \
        }                                                                                           \
    }

SCAN(cumsum, (SUM)0, +)
SCAN(cumprod, (SUM)1, *)
