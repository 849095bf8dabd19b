"""Elementwise arithmetic, comparisons, reductions, cumulative sums, segment sums, counting and Fourier transforms."""

FAMILIES = (
    "binary",
    "bits",
    "cast",
    "clip",
    "compare",
    "complex_numbers",
    "fft",
    "later_math",
    "reduce",
    "reduce_functions",
    "reduce_sum",
    "scan",
    "segment",
    "segment_sparse",
    "special",
    "unary",
    "unique_bincount",
    "v1_late_math",
)
