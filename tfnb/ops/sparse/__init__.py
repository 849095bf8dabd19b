"""Sparse tensors: arithmetic, changes of layout, set operations on their rows, and edit distances of sequences."""

FAMILIES = (
    "arithmetic",
    "cross",
    "edit_distance",
    "functions",
    "layout",
    "pairs",
    "reset_shape",
    "rows",
    "sets",
)
