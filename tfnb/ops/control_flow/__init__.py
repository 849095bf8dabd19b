"""Control-flow primitives, the state that loops keep for gradients, Python functions, and Send and Recv."""

FAMILIES = (
    "loop_products",
    "loop_stack",
    "python_function",
    "switch_merge",
    "variants",
)
