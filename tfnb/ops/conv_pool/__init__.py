"""Convolution, pooling and dilation over sliding windows: ops, kernel launches, and reference implementations."""

FAMILIES = (
    "conv",
    "conv3d",
    "conv_functions",
    "depthwise",
    "dilation",
    "fractional_pool",
    "pool",
    "pool3d",
    "pool_argmax",
    "pool_functions",
    "space_windows",
)
