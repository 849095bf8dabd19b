"""Fusion: nodes become definitions of values over loop variables, and definitions become groups, a kernel each."""
