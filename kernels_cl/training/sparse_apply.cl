// Optimizer updates of the rows of a variable that an index vector names (the rules of tfnb/ops/training/updates.py).
//
//   var, slots  (rows, width)   in place
//   lr, rho, ...  one each      hyperparameters
//   grad        (count, width)
//   indices     (count)         int or long; an index outside [0, rows) is skipped
//   for i in order: row indices[i] of var and of each slot is updated with grad[i, :]
//   next, last  (count)         with -DSUMMED=1, from link_rows: a row that occurs several times is updated once, with
//                               the sum of its gradients in their order
//
// -DT=float          element type: float, double, or half and bfloat, which are computed in float (lib/element.clh)
// -DINDEX=int        type of the indices
// -DNESTEROV=0       sparse_momentum looks ahead
// -DUPDATE_SLOTS=1   sparse_adagrad updates its accumulator
// -DSUMMED=0         gradients of the same row are summed first
// Group g of G owns the rows r with r % G == g and reads all indices, so repeated indices are no race and results do not
// depend on the number of groups. One work-item per group.

#include "lib/element.clh"

#ifndef INDEX
#define INDEX int
#endif
#ifndef NESTEROV
#define NESTEROV 0
#endif
#ifndef UPDATE_SLOTS
#define UPDATE_SLOTS 1
#endif

#ifndef SUMMED
#define SUMMED 0
#endif

// Clang makes vectors of a loop with its own square root, but not of one with OpenCL's; both are rounded correctly.
#ifdef __clang__
#define double_root __builtin_sqrt
#define float_root __builtin_sqrtf
#else
#define double_root sqrt
#define float_root sqrt
#endif
#define JOIN(a, b) a##b
#define ROOT_OF(type) JOIN(type, _root)
#define ROOT ROOT_OF(SUM)

#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define REF(name) __global MEMORY *restrict name
#define HYPER(name) __global const MEMORY *restrict name
#define READ(name) SUM name = ELEMENT(name##_, 0)

#if !SUMMED

#define ROWS __global const MEMORY *restrict grad, __global const INDEX *restrict indices, int rows, int width, int count

// The body runs for each element: `at` is its place in var and slots, `g` its gradient.
#define EACH_ELEMENT(body)                                                                       \
    {                                                                                            \
        int share = get_num_groups(0), own = get_group_id(0);                                    \
        for (int i = 0; i < count; ++i) {                                                        \
            INDEX r = indices[i];                                                                \
            if (r < 0 || r >= rows || r % share != own)                                          \
                continue;                                                                        \
            size_t first = (size_t)r * width;                                                    \
            for (int k = 0; k < width; ++k) {                                                    \
                size_t at = first + k;                                                           \
                SUM g = ELEMENT(grad, (size_t)i * width + k);                                    \
                body                                                                             \
            }                                                                                    \
        }                                                                                        \
    }

#else

#define ROWS                                                                                     \
    __global const MEMORY *restrict grad, __global const INDEX *restrict indices, __global const int *restrict next, \
        __global const int *restrict last, int rows, int width, int count
#define BLOCK 256  // elements that are summed at once

#define EACH_ELEMENT(body)                                                                       \
    {                                                                                            \
        int share = get_num_groups(0), own = get_group_id(0);                                    \
        SUM sums[BLOCK];                                                                         \
        for (int i = 0; i < count; ++i) {                                                        \
            INDEX r = indices[i];                                                                \
            if (last[i] < 0 || r < 0 || r >= rows || r % share != own)                           \
                continue;                                                                        \
            for (int begin = 0; begin < width; begin += BLOCK) {                                 \
                int n = width - begin < BLOCK ? width - begin : BLOCK;                           \
                size_t first = (size_t)r * width + begin;                                        \
                __global const MEMORY *restrict from = grad + (size_t)i * width + begin;              \
                for (int k = 0; k < n; ++k)                                                      \
                    sums[k] = (SUM)0 + ELEMENT(from, k);                                         \
                for (int j = next[i]; j >= 0; j = next[j]) {                                     \
                    from = grad + (size_t)j * width + begin;                                     \
                    for (int k = 0; k < n; ++k)                                                  \
                        sums[k] += ELEMENT(from, k);                                             \
                }                                                                                \
                for (int k = 0; k < n; ++k) {                                                    \
                    size_t at = first + k;                                                       \
                    SUM g = sums[k];                                                             \
                    body                                                                         \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
    }

// Links equal indices: next[i] = where indices[i] occurs next, or -1; last[i] = where it occurs last if i is where it
// occurs first, else -1. `table` has 2^bits numbers, at least 2 * count. One work-item.
KERNEL link_rows(__global const INDEX *restrict indices, __global int *restrict next, __global int *restrict last,
                 __global int *restrict table, int count, int bits)
{
    int size = 1 << bits;
    for (int h = 0; h < size; ++h)
        table[h] = -1;
    for (int i = 0; i < count; ++i) {
        INDEX r = indices[i];
        uint h = (((uint)r ^ (uint)((ulong)r >> 32)) * 2654435769u) >> (32 - bits);
        while (table[h] >= 0 && indices[table[h]] != r)
            h = (h + 1) & (uint)(size - 1);
        int first = table[h];
        next[i] = -1;
        last[i] = first < 0 ? i : -1;
        if (first < 0) {
            table[h] = i;
        } else {
            next[last[first]] = i;
            last[first] = i;
        }
    }
}

#endif

// The point of least l1 |v| + l2/2 v^2 + |v - x|^2 / (2 rate).
inline SUM shrink(SUM x, SUM rate, SUM l1, SUM l2)
{
    SUM size = (x < 0 ? -x : x) - rate * l1;
    size = size > 0 ? size : 0;
    return (x < 0 ? -size : size) / (1 + rate * l2);
}

inline SUM lr_power_of(SUM x, SUM lr_power)
{
    return lr_power == (SUM)-0.5 ? ROOT(x) : pow(x, -lr_power);
}

KERNEL sparse_momentum(REF(var), REF(accum), HYPER(lr_), HYPER(rate_), ROWS)
{
    READ(lr); READ(rate);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at) * rate + g;
        PUT(a, accum, at);
        PUT(ELEMENT(var, at) - (NESTEROV ? g * lr + a * rate * lr : a * lr), var, at);
    })
}

KERNEL sparse_adagrad(REF(var), REF(accum), HYPER(lr_), ROWS)
{
    READ(lr);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at);
        if (UPDATE_SLOTS) {
            a += g * g;
            PUT(a, accum, at);
        }
        PUT(ELEMENT(var, at) - lr * g / ROOT(a), var, at);
    })
}

KERNEL sparse_adadelta(
    REF(var), REF(accum), REF(accum_update), HYPER(lr_), HYPER(rho_), HYPER(epsilon_), ROWS)
{
    READ(lr); READ(rho); READ(epsilon);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at) * rho + g * g * (1 - rho);
        SUM update = ROOT(ELEMENT(accum_update, at) + epsilon) / ROOT(a + epsilon) * g;
        PUT(a, accum, at);
        PUT(ELEMENT(var, at) - update * lr, var, at);
        PUT(ELEMENT(accum_update, at) * rho + update * update * (1 - rho), accum_update, at);
    })
}

KERNEL sparse_rms_prop(
    REF(var), REF(ms), REF(mom), HYPER(lr_), HYPER(rho_), HYPER(rate_), HYPER(epsilon_), ROWS)
{
    READ(lr); READ(rho); READ(rate); READ(epsilon);
    EACH_ELEMENT({
        SUM square = ELEMENT(ms, at) + (g * g - ELEMENT(ms, at)) * (1 - rho);
        SUM step = ELEMENT(mom, at) * rate + g * lr / ROOT(square + epsilon);
        PUT(square, ms, at);
        PUT(step, mom, at);
        PUT(ELEMENT(var, at) - step, var, at);
    })
}

KERNEL sparse_centered_rms_prop(
    REF(var), REF(mg), REF(ms), REF(mom), HYPER(lr_), HYPER(rho_), HYPER(rate_), HYPER(epsilon_), ROWS)
{
    READ(lr); READ(rho); READ(rate); READ(epsilon);
    EACH_ELEMENT({
        SUM square = ELEMENT(ms, at) + (g * g - ELEMENT(ms, at)) * (1 - rho);
        SUM mean = ELEMENT(mg, at) + (g - ELEMENT(mg, at)) * (1 - rho);
        SUM step = ELEMENT(mom, at) * rate + g * lr / ROOT(square - mean * mean + epsilon);
        PUT(square, ms, at);
        PUT(mean, mg, at);
        PUT(step, mom, at);
        PUT(ELEMENT(var, at) - step, var, at);
    })
}

KERNEL sparse_ftrl(
    REF(var), REF(accum), REF(linear), HYPER(lr_), HYPER(l1_), HYPER(l2_), HYPER(lr_power_), ROWS)
{
    READ(lr); READ(l1); READ(l2); READ(lr_power);
    EACH_ELEMENT({
        SUM squares = ELEMENT(accum, at) + g * g;
        SUM scale = lr_power_of(squares, lr_power);
        SUM z = ELEMENT(linear, at) + g - (scale - lr_power_of(ELEMENT(accum, at), lr_power)) / lr * ELEMENT(var, at);
        SUM bounded = z > l1 ? l1 : z < -l1 ? -l1 : z;
        PUT(squares, accum, at);
        PUT(z, linear, at);
        PUT(z > l1 || z < -l1 ? (bounded - z) / (scale / lr + 2 * l2) : 0, var, at);
    })
}

KERNEL sparse_proximal_gradient_descent(REF(var), HYPER(alpha_), HYPER(l1_), HYPER(l2_), ROWS)
{
    READ(alpha); READ(l1); READ(l2);
    EACH_ELEMENT({ PUT(shrink(ELEMENT(var, at) - alpha * g, alpha, l1, l2), var, at); })
}

KERNEL sparse_proximal_adagrad(
    REF(var), REF(accum), HYPER(lr_), HYPER(l1_), HYPER(l2_), ROWS)
{
    READ(lr); READ(l1); READ(l2);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at) + g * g;
        SUM rate = lr / ROOT(a);
        PUT(a, accum, at);
        PUT(shrink(ELEMENT(var, at) - g * rate, rate, l1, l2), var, at);
    })
}

KERNEL sparse_keras_momentum(REF(var), REF(accum), HYPER(lr_), HYPER(rate_), ROWS)
{
    READ(lr); READ(rate);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at) * rate - g * lr;
        PUT(a, accum, at);
        PUT(ELEMENT(var, at) + (NESTEROV ? a * rate - g * lr : a), var, at);
    })
}

KERNEL sparse_adagrad_v2(REF(var), REF(accum), HYPER(lr_), HYPER(epsilon_), ROWS)
{
    READ(lr); READ(epsilon);
    EACH_ELEMENT({
        SUM a = ELEMENT(accum, at);
        if (UPDATE_SLOTS) {
            a += g * g;
            PUT(a, accum, at);
        }
        PUT(ELEMENT(var, at) - (lr * g / (ROOT(a) + epsilon)), var, at);
    })
}

KERNEL sparse_adagrad_da(
    REF(var), REF(totals), REF(squares), HYPER(lr_), HYPER(l1_), HYPER(l2_), __global const long *restrict step_, ROWS)
{
    READ(lr); READ(l1); READ(l2); SUM step = (SUM)*step_;
    EACH_ELEMENT({
        SUM sum = ELEMENT(totals, at) + g;
        SUM square = ELEMENT(squares, at) + g * g;
        PUT(sum, totals, at);
        PUT(square, squares, at);
        SUM size = l1 > 0 ? (sum < 0 ? -sum : sum) - l1 * step : (sum < 0 ? -sum : sum);
        size = size > 0 ? size : 0;
        PUT((sum < 0 ? size : -size) * lr / (ROOT(square) + l2 * step * lr), var, at);
    })
}

KERNEL sparse_ftrl_v2(REF(var), REF(accum), REF(linear), HYPER(lr_), HYPER(l1_), HYPER(l2_), HYPER(shrinkage_),
                      HYPER(lr_power_), ROWS)
{
    READ(lr); READ(l1); READ(l2); READ(shrinkage); READ(lr_power);
    EACH_ELEMENT({
        SUM squares = ELEMENT(accum, at) + g * g;
        SUM scale = lr_power_of(squares, lr_power);
        SUM shrunk = g + 2 * shrinkage * ELEMENT(var, at);
        SUM z = ELEMENT(linear, at) + shrunk - (scale - lr_power_of(ELEMENT(accum, at), lr_power)) / lr * ELEMENT(var, at);
        SUM bounded = z > l1 ? l1 : z < -l1 ? -l1 : z;
        PUT(squares, accum, at);
        PUT(z, linear, at);
        PUT(z > l1 || z < -l1 ? (bounded - z) / (scale / lr + 2 * l2) : 0, var, at);
    })
}
