"""The update ops of optimizers, dense and sparse."""

FAMILIES = (
    "later_updates",
    "sparse_updates",
    "updates",
)
