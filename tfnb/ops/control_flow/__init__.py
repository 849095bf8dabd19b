"""The primitives of branches and loops, what loops keep, Python functions, Send and Recv."""

FAMILIES = (
    "loop_products",
    "loop_stack",
    "python_function",
    "switch_merge",
    "variants",
)
