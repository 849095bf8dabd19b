// Optimizer updates of the rows of a variable that an index vector names (the rules of tfnb/ops/training/updates.py).
//
//   var, slots  (rows, width)   in place
//   lr, rho, ...  one T each    hyperparameters
//   grad        (count, width)
//   indices     (count)         int or long; an index outside [0, rows) is skipped
//   for i in order: row indices[i] of var and of each slot is updated with grad[i, :]
//
// -DT=float|double   element type and type of all arithmetic
// -DINDEX=int        type of the indices
// -DNESTEROV=0       sparse_momentum looks ahead
// -DUPDATE_SLOTS=1   sparse_adagrad updates its accumulator
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

#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define REF(name) __global T *restrict name
#define HYPER(name) __global const T *restrict name
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

// The point of least l1 |v| + l2/2 v^2 + |v - x|^2 / (2 rate).
inline T shrink(T x, T rate, T l1, T l2)
{
    T size = (x < 0 ? -x : x) - rate * l1;
    size = size > 0 ? size : 0;
    return (x < 0 ? -size : size) / (1 + rate * l2);
}

inline T lr_power_of(T x, T lr_power)
{
    return lr_power == (T)-0.5 ? sqrt(x) : pow(x, -lr_power);
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
        var[at] -= lr * g / sqrt(a);
    })
}

KERNEL sparse_adadelta(
    REF(var), REF(accum), REF(accum_update), HYPER(lr_), HYPER(rho_), HYPER(epsilon_), ROWS)
{
    T lr = *lr_, rho = *rho_, epsilon = *epsilon_;
    EACH_ELEMENT({
        T a = accum[at] * rho + g * g * (1 - rho);
        T update = sqrt(accum_update[at] + epsilon) / sqrt(a + epsilon) * g;
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
        T step = mom[at] * rate + g * lr / sqrt(square + epsilon);
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
        T step = mom[at] * rate + g * lr / sqrt(square - mean * mean + epsilon);
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
        T rate = lr / sqrt(a);
        accum[at] = a;
        var[at] = shrink(var[at] - g * rate, rate, l1, l2);
    })
}
