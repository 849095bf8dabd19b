// Exact results of elementwise functions, and the comparison of a library's results with them; native.py compiles it.
//
//   NARROW, WORD   the type that is measured, and its bits as an unsigned type
//   WIDE           the type of exact results: double for float, long double for double
//   DIGITS, LEAST, MOST   digits after the leading one, exponents of the least normal number and above the largest
//
// The functions are glibc's of the wider type: those of double may come from its vector library, whose errors of 4 units
// in the last place are 1e-8 of those of a float. Invariant: `compare` counts as measure.py does.

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VECTOR(name) __attribute__((simd("notinbranch"), const)) double name(double);
#if defined(__x86_64__) && __GLIBC__ == 2 && __GLIBC_MINOR__ >= 35
VECTOR(exp) VECTOR(expm1) VECTOR(log) VECTOR(log1p) VECTOR(sin) VECTOR(cos) VECTOR(tan) VECTOR(asin) VECTOR(acos)
VECTOR(atan) VECTOR(sinh) VECTOR(cosh) VECTOR(tanh) VECTOR(asinh) VECTOR(acosh) VECTOR(atanh) VECTOR(erf) VECTOR(erfc)
#endif
#include <tgmath.h>

typedef WIDE wide;
typedef void Function(const wide *, const wide *, wide *, size_t);

#define REFERENCE(name, value) \
    void of_##name(const wide *xs, const wide *ys, wide *found, size_t n) \
    { \
        for (size_t i = 0; i < n; ++i) { \
            wide x = xs[i], y = ys[i]; \
            (void)y; \
            found[i] = value; \
        } \
    }

REFERENCE(abs, fabs(x))
REFERENCE(neg, -x)
REFERENCE(sign, x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0)
REFERENCE(reciprocal, 1 / x)
REFERENCE(square, x *x)
REFERENCE(sqrt, sqrt(x))
REFERENCE(rsqrt, 1 / sqrt(x))
REFERENCE(exp, exp(x))
REFERENCE(expm1, expm1(x))
REFERENCE(log, log(x))
REFERENCE(log1p, log1p(x))
REFERENCE(sin, sin(x))
REFERENCE(cos, cos(x))
REFERENCE(tan, tan(x))
REFERENCE(asin, asin(x))
REFERENCE(acos, acos(x))
REFERENCE(atan, atan(x))
REFERENCE(sinh, sinh(x))
REFERENCE(cosh, cosh(x))
REFERENCE(asinh, asinh(x))
REFERENCE(acosh, acosh(x))
REFERENCE(atanh, atanh(x))
REFERENCE(tanh, tanh(x))
REFERENCE(sigmoid, (x < 0 ? exp(-fabs(x)) : 1) / (1 + exp(-fabs(x))))
REFERENCE(log_sigmoid, -((x < 0 ? -x : x != x ? x : 0) + log1p(exp(-fabs(x)))))
REFERENCE(softplus, (x > 0 ? x : x != x ? x : 0) + log1p(exp(-fabs(x))))
REFERENCE(erf, erf(x))
REFERENCE(erfc, erfc(x))
REFERENCE(lgamma, x == -INFINITY ? INFINITY : lgamma(x))
REFERENCE(floor, floor(x))
REFERENCE(ceil, ceil(x))
REFERENCE(rint, rint(x))
REFERENCE(round, rint(x))
REFERENCE(elu, x < 0 ? expm1(x) : x)
REFERENCE(selu, x < 0 ? expm1(x) * (wide)1.7580993408473768 : x * (wide)1.0507009873554805)
REFERENCE(softsign, fabs(x) == INFINITY ? NAN : x / (1 + fabs(x)))
REFERENCE(leaky_relu, x > 0 ? x : x * (wide)0.2f)
REFERENCE(add, x + y)
REFERENCE(sub, x - y)
REFERENCE(mul, x *y)
REFERENCE(realdiv, x / y)
REFERENCE(pow, pow(x, y))
REFERENCE(atan2, atan2(x, y))
REFERENCE(squared_difference, (x - y) * (x - y))

// The y >= 0 of erf(y) = a, or erfc(y) = rest where that is less than a half: a first value good to 2e-3, or to 1e-2 where
// rest is 1e-307, then Halley's method, of which each step triples the digits. `both` is (1 - a) (1 + a).
static inline wide inverse(wide a, wide rest, wide both)
{
    wide l = log(both), h = (wide)4.330746750799873 + l / 2;
    wide y = sqrt(sqrt(h * h - l / (wide)0.147) - h);
    for (int i = 0; i < 4; ++i) {
        wide below = erf(y) - a, above = rest - erfc(y), e = exp(-y * y);
        wide step = (rest < (wide)0.5 ? above : below) / ((wide)1.1283791670955125738961589031L * e);
        y -= step / (1 + y * step);
    }
    return a < (wide)1e-10 ? a * (wide)0.88622692545275801364908374167L : y;
}

static inline wide erfinv(wide x)
{
    wide a = fabs(x), y = inverse(a, 1 - a, (1 - a) * (1 + a));
    return a < 1 ? copysign(y, x) : a == 1 ? x * INFINITY : NAN;
}

static inline wide ndtri(wide p)
{
    wide q = p < (wide)0.5 ? p : 1 - p, y = inverse(2 * ((wide)0.5 - q), 2 * q, 4 * q * (1 - q));
    wide t = (wide)1.4142135623730950488016887242L * y;
    t = p < (wide)0.5 ? -t : t;
    return p > 0 && p < 1 ? t : p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
}
REFERENCE(erfinv, erfinv(x))
REFERENCE(ndtri, ndtri(x))

// Numbers of these bits in the wider type; returns how many are subnormal, and these as zeros in `flushed`.
size_t widen(const NARROW *bits, wide *found, wide *flushed, size_t n)
{
    size_t count = 0;
    const wide tiny = scalbn((wide)1, LEAST);
    for (size_t i = 0; i < n; ++i) {
        wide x = bits[i];
        found[i] = x;
        count += (x != 0) & (fabs(x) < tiny);
    }
    for (size_t i = 0; count && i < n; ++i)
        flushed[i] = fabs(found[i]) < tiny ? copysign((wide)0, found[i]) : found[i];
    return count;
}

typedef struct {
    uint64_t count, at[2]; // how often, and the first operands
} Fault;

typedef struct {
    double worst;
    uint64_t worst_at[2], count, zeroed, kept;
    Fault lost, made, sign;
} Found;

static wide clipped(wide x)
{
    const wide top = scalbn((wide)1, MOST);
    return x > top ? top : x < -top ? -top : x;
}

static double error_of(wide got, wide want)
{
    if (got != got || want != want)
        return got != got && want != want ? 0 : INFINITY;
    wide near = clipped(want), size = fabs(near);
    if (size < scalbn((wide)1, LEAST) && got == 0)
        return 0;
    if (fabs(got) == INFINITY && size >= scalbn((wide)1, MOST) * (1 - scalbn((wide)1, -(DIGITS + 2))) && (got > 0) == (near > 0))
        return 0;
    int exponent = size == 0 ? LEAST : ilogb(size);
    return fabs(clipped(got) - near) * scalbn((wide)1, DIGITS - (exponent > LEAST ? exponent : LEAST));
}

static int subnormal(NARROW x) { return x != 0 && fabs((wide)x) < scalbn((wide)1, LEAST); }

static void note(Fault *fault, WORD a, WORD b)
{
    if (!fault->count++)
        fault->at[0] = a, fault->at[1] = b;
}

static void compare_one(Found *found, NARROW a, NARROW b, wide got, wide want, wide zeroed)
{
    int below = subnormal(a) || subnormal(b);
    wide normal = fabs(got) < scalbn((wide)1, LEAST) ? copysign((wide)0, got) : got; // what counts as zero
    double error = error_of(got, want), other = below ? error_of(normal, zeroed) : error;
    int kept = error <= 2, as_zero = below && !kept && other <= 2;
    WORD bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    found->zeroed += as_zero;
    found->kept += below && kept && want != zeroed;
    if (want != want && got == got && !as_zero)
        note(&found->lost, bits_a, bits_b);
    if (want == want && got != got && !as_zero)
        note(&found->made, bits_a, bits_b);
    if (!below && got == 0 && want == 0 && !signbit(got) != !signbit(want))
        note(&found->sign, bits_a, bits_b);
    error = as_zero || other < error ? other : error;
    if (error > found->worst && error < INFINITY)
        found->worst = error, found->worst_at[0] = bits_a, found->worst_at[1] = bits_b;
}

#if DIGITS == 23
// True if each error is at most that of the worst element, and there is no fault; it has no branches and becomes vectors.
static int usual(double worst, const NARROW *got, const wide *want, size_t n)
{
    int64_t bad = 0;
    for (size_t i = 0; i < n; ++i) {
        double w = want[i], g = got[i], near = clipped(w);
        int64_t exponent, bits, sign;
        memcpy(&exponent, &near, 8);
        memcpy(&bits, &w, 8);
        memcpy(&sign, &g, 8);
        exponent = exponent >> 52 & 0x7ff;
        exponent = (2046 + DIGITS - (exponent > LEAST + 1023 ? exponent : LEAST + 1023)) << 52;
        double scale;
        memcpy(&scale, &exponent, 8);
        int64_t close = (fabs(clipped(g) - near) * scale <= worst) | ((w != w) & (g != g));
        close |= (fabs(w) < 0x1p-126) & (g == 0);
        bad |= (close ^ 1) | ((w == 0) & (g == 0) & ((bits ^ sign) < 0));
    }
    return !bad;
}
#endif

// Adds `n` results to `found`. `zeroed` is what is wanted with zeros in place of subnormal operands, or null if there are none.
void compare(Found *found, const NARROW *a, const NARROW *b, const NARROW *got, const wide *want, const wide *zeroed, size_t n)
{
    found->count += n;
    for (size_t start = 0; start < n; start += 1024) {
        size_t end = start + 1024 < n ? start + 1024 : n;
#if DIGITS == 23
        if (!zeroed && usual(found->worst, got + start, want + start, end - start))
            continue;
#endif
        for (size_t i = start; i < end; ++i)
            compare_one(found, a[i], b[i], got[i], want[i], zeroed ? zeroed[i] : want[i]);
    }
}
