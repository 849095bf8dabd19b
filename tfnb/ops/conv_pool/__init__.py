"""Convolution, pooling and dilation over sliding windows: ops, launches of kernels, host references."""
