"""The update ops of optimizers, dense and sparse."""

FAMILIES = (
    "adaptive_sign_updates",
    "sparse_updates",
    "updates",
)
