"""Elementwise arithmetic, comparisons, reductions, running sums, segments, counts and Fourier transforms."""
