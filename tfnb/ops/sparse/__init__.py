"""Sparse tensors: arithmetic, layout, and sets as their rows."""

FAMILIES = (
    "arithmetic",
    "functions",
    "layout",
    "pairs",
    "rows",
    "sets",
)
