"""Sparse tensors: arithmetic, layout, sets as their rows, distances of their sequences."""

FAMILIES = (
    "arithmetic",
    "edit_distance",
    "functions",
    "layout",
    "pairs",
    "rows",
    "sets",
)
