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

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "fused_layers": "_FusedConv2D _FusedMatMul",
    "windows_as_inputs": "MaxPoolV2 MaxPoolGradV2 MaxPoolGradGradV2 FusedPadConv2D FusedResizeAndPadConv2D",
}
