"""Elementwise arithmetic, comparisons, reductions, cumulative sums, segment sums, counting and Fourier transforms."""

FAMILIES = (
    "binary",
    "bits",
    "buckets_norms_bessel",
    "cast",
    "clip",
    "compare",
    "complex_numbers",
    "fft",
    "host_math",
    "reduce",
    "reduce_functions",
    "reduce_sum",
    "scan",
    "segment",
    "segment_sparse",
    "special",
    "unary",
    "unique_bincount",
)
