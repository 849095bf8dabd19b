// Optimizer updates of the rows of a variable that an index vector names (the rules of tfnb/ops/training/updates.py).
//
//   var, slots  (rows, width)   in place
//   lr, rho, ...  one T each    hyperparameters
//   grad        (count, width)
//   indices     (count)         int or long; an index outside [0, rows) is skipped
//   for i in order: row indices[i] of var and of each slot is updated with grad[i, :]
//   next, last  (count)         with -DSUMMED=1, from link_rows: a row that occurs several times is updated once, with
//                               the sum of its gradients in their order
//
// -DT=float|double   element type and type of all arithmetic
// -DINDEX=int        type of the indices
// -DNESTEROV=0       sparse_momentum looks ahead
// -DUPDATE_SLOTS=1   sparse_adagrad updates its accumulator
// -DSUMMED=0         gradients of the same row are summed first
// Group g of G owns the rows r with r % G == g and reads all indices, so repeated indices are no race and results do not
// depend on the number of groups. One work-item per group.

#ifndef T
#define T float
#endif
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
#define ROOT ROOT_OF(T)

#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define REF(name) __global T *restrict name
#define HYPER(name) __global const T *restrict name

#if !SUMMED

#define ROWS __global const T *restrict grad, __global const INDEX *restrict indices, int rows, int width, int count

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
                T g = grad[(size_t)i * width + k];                                               \
                body                                                                             \
            }                                                                                    \
        }                                                                                        \
    }

#else

#define ROWS                                                                                     \
    __global const T *restrict grad, __global const INDEX *restrict indices, __global const int *restrict next, \
        __global const int *restrict last, int rows, int width, int count
#define BLOCK 256  // elements that are summed at once

#define EACH_ELEMENT(body)                                                                       \
    {                                                                                            \
        int share = get_num_groups(0), own = get_group_id(0);                                    \
        T sums[BLOCK];                                                                           \
        for (int i = 0; i < count; ++i) {                                                        \
            INDEX r = indices[i];                                                                \
            if (last[i] < 0 || r < 0 || r >= rows || r % share != own)                           \
                continue;                                                                        \
            for (int begin = 0; begin < width; begin += BLOCK) {                                 \
                int n = width - begin < BLOCK ? width - begin : BLOCK;                           \
                size_t first = (size_t)r * width + begin;                                        \
                __global const T *restrict from = grad + (size_t)i * width + begin;              \
                for (int k = 0; k < n; ++k)                                                      \
                    sums[k] = (T)0 + from[k];                                                    \
                for (int j = next[i]; j >= 0; j = next[j]) {                                     \
                    from = grad + (size_t)j * width + begin;                                     \
                    for (int k = 0; k < n; ++k)                                                  \
                        sums[k] += from[k];                                                      \
                }                                                                                \
                for (int k = 0; k < n; ++k) {                                                    \
                    size_t at = first + k;                                                       \
                    T g = sums[k];                                                               \
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
inline T shrink(T x, T rate, T l1, T l2)
{
    T size = (x < 0 ? -x : x) - rate * l1;
    size = size > 0 ? size : 0;
    return (x < 0 ? -size : size) / (1 + rate * l2);
}

inline T lr_power_of(T x, T lr_power)
{
    return lr_power == (T)-0.5 ? ROOT(x) : pow(x, -lr_power);
}

KERNEL sparse_momentum(REF(var), REF(accum), HYPER(lr_), HYPER(rate_), ROWS)
{
    T lr = *lr_, rate = *rate_;
    EACH_ELEMENT({
        T a = accum[at] * rate + g;
        accum[at] = a;
        var[at] -= NESTEROV ? g * lr + a * rate * lr : a * lr;
    })
}

KERNEL sparse_adagrad(REF(var), REF(accum), HYPER(lr_), ROWS)
{
    T lr = *lr_;
    EACH_ELEMENT({
        T a = accum[at];
        if (UPDATE_SLOTS) {
            a += g * g;
            accum[at] = a;
        }
        var[at] -= lr * g / ROOT(a);
    })
}

KERNEL sparse_adadelta(
    REF(var), REF(accum), REF(accum_update), HYPER(lr_), HYPER(rho_), HYPER(epsilon_), ROWS)
{
    T lr = *lr_, rho = *rho_, epsilon = *epsilon_;
    EACH_ELEMENT({
        T a = accum[at] * rho + g * g * (1 - rho);
        T update = ROOT(accum_update[at] + epsilon) / ROOT(a + epsilon) * g;
        accum[at] = a;
        var[at] -= update * lr;
        accum_update[at] = accum_update[at] * rho + update * update * (1 - rho);
    })
}

KERNEL sparse_rms_prop(
    REF(var), REF(ms), REF(mom), HYPER(lr_), HYPER(rho_), HYPER(rate_), HYPER(epsilon_), ROWS)
{
    T lr = *lr_, rho = *rho_, rate = *rate_, epsilon = *epsilon_;
    EACH_ELEMENT({
        T square = ms[at] + (g * g - ms[at]) * (1 - rho);
        T step = mom[at] * rate + g * lr / ROOT(square + epsilon);
        ms[at] = square;
        mom[at] = step;
        var[at] -= step;
    })
}

KERNEL sparse_centered_rms_prop(
    REF(var), REF(mg), REF(ms), REF(mom), HYPER(lr_), HYPER(rho_), HYPER(rate_), HYPER(epsilon_), ROWS)
{
    T lr = *lr_, rho = *rho_, rate = *rate_, epsilon = *epsilon_;
    EACH_ELEMENT({
        T square = ms[at] + (g * g - ms[at]) * (1 - rho);
        T mean = mg[at] + (g - mg[at]) * (1 - rho);
        T step = mom[at] * rate + g * lr / ROOT(square - mean * mean + epsilon);
        ms[at] = square;
        mg[at] = mean;
        mom[at] = step;
        var[at] -= step;
    })
}

KERNEL sparse_ftrl(
    REF(var), REF(accum), REF(linear), HYPER(lr_), HYPER(l1_), HYPER(l2_), HYPER(lr_power_), ROWS)
{
    T lr = *lr_, l1 = *l1_, l2 = *l2_, lr_power = *lr_power_;
    EACH_ELEMENT({
        T squares = accum[at] + g * g;
        T scale = lr_power_of(squares, lr_power);
        T z = linear[at] + g - (scale - lr_power_of(accum[at], lr_power)) / lr * var[at];
        T bounded = z > l1 ? l1 : z < -l1 ? -l1 : z;
        accum[at] = squares;
        linear[at] = z;
        var[at] = z > l1 || z < -l1 ? (bounded - z) / (scale / lr + 2 * l2) : 0;
    })
}

KERNEL sparse_proximal_gradient_descent(REF(var), HYPER(alpha_), HYPER(l1_), HYPER(l2_), ROWS)
{
    T alpha = *alpha_, l1 = *l1_, l2 = *l2_;
    EACH_ELEMENT({ var[at] = shrink(var[at] - alpha * g, alpha, l1, l2); })
}

KERNEL sparse_proximal_adagrad(
    REF(var), REF(accum), HYPER(lr_), HYPER(l1_), HYPER(l2_), ROWS)
{
    T lr = *lr_, l1 = *l1_, l2 = *l2_;
    EACH_ELEMENT({
        T a = accum[at] + g * g;
        T rate = lr / ROOT(a);
        accum[at] = a;
        var[at] = shrink(var[at] - g * rate, rate, l1, l2);
    })
}

KERNEL sparse_keras_momentum(REF(var), REF(accum), HYPER(lr_), HYPER(rate_), ROWS)
{
    T lr = *lr_, rate = *rate_;
    EACH_ELEMENT({
        T a = accum[at] * rate - g * lr;
        accum[at] = a;
        var[at] += NESTEROV ? a * rate - g * lr : a;
    })
}

KERNEL sparse_adagrad_v2(REF(var), REF(accum), HYPER(lr_), HYPER(epsilon_), ROWS)
{
    T lr = *lr_, epsilon = *epsilon_;
    EACH_ELEMENT({
        T a = accum[at];
        if (UPDATE_SLOTS) {
            a += g * g;
            accum[at] = a;
        }
        var[at] -= lr * g / (ROOT(a) + epsilon);
    })
}

KERNEL sparse_adagrad_da(
    REF(var), REF(sums), REF(squares), HYPER(lr_), HYPER(l1_), HYPER(l2_), __global const long *restrict step_, ROWS)
{
    T lr = *lr_, l1 = *l1_, l2 = *l2_, step = (T)*step_;
    EACH_ELEMENT({
        T sum = sums[at] + g;
        T square = squares[at] + g * g;
        sums[at] = sum;
        squares[at] = square;
        T size = l1 > 0 ? (sum < 0 ? -sum : sum) - l1 * step : (sum < 0 ? -sum : sum);
        size = size > 0 ? size : 0;
        var[at] = (sum < 0 ? size : -size) * lr / (ROOT(square) + l2 * step * lr);
    })
}

KERNEL sparse_ftrl_v2(REF(var), REF(accum), REF(linear), HYPER(lr_), HYPER(l1_), HYPER(l2_), HYPER(shrinkage_),
                      HYPER(lr_power_), ROWS)
{
    T lr = *lr_, l1 = *l1_, l2 = *l2_, shrinkage = *shrinkage_, lr_power = *lr_power_;
    EACH_ELEMENT({
        T squares = accum[at] + g * g;
        T scale = lr_power_of(squares, lr_power);
        T shrunk = g + 2 * shrinkage * var[at];
        T z = linear[at] + shrunk - (scale - lr_power_of(accum[at], lr_power)) / lr * var[at];
        T bounded = z > l1 ? l1 : z < -l1 ? -l1 : z;
        accum[at] = squares;
        linear[at] = z;
        var[at] = z > l1 || z < -l1 ? (bounded - z) / (scale / lr + 2 * l2) : 0;
    })
}
