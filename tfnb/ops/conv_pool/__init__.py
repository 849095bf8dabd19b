"""Convolution, pooling and dilation over sliding windows: ops, launches of kernels, host references."""

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
