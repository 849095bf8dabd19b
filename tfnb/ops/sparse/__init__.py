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

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {"ragged": "RaggedGather RaggedRange RaggedTensorToSparse"}
