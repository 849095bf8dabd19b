"""Benchmarks against peers: every figure comes from one alternating run and stands beside its floor."""

import os

# Steps are timed with compiled kernels; what measures first steps says otherwise for its processes.
os.environ.setdefault("TFNB_INTERPRET", "0")
