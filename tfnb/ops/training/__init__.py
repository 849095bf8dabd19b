"""The updates that optimizers make to variables, dense and sparse."""

FAMILIES = (
    "sparse_updates",
    "updates",
)
