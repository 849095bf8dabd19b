"""Benchmarks against peers: every figure comes from one alternating run and stands beside its floor."""
