"""Mutable state: variables and their updates, tensor arrays, lists, stacks, and resource handles."""

FAMILIES = (
    "scatter",
    "scatter_nd",
    "session_tensors",
    "slice_assign",
    "stacks",
    "tables",
    "tensor_array",
    "tensor_list",
    "variables",
)
