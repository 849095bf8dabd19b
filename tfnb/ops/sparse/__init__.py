"""Sparse tensors: arithmetic, layout, and sets as their rows."""
