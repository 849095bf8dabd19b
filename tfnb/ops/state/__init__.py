"""Variables and their updates, tensor arrays, lists and stacks, and handles of resources."""

FAMILIES = (
    "scatter",
    "scatter_nd",
    "slice_assign",
    "stacks",
    "tensor_array",
    "tensor_list",
    "variables",
)
