"""The update ops of optimizers, dense and sparse."""

FAMILIES = (
    "sparse_updates",
    "updates",
)
