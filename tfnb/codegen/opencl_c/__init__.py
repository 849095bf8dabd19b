"""The text of kernels: expressions, statements as trees, parameters, and their rendering as OpenCL C."""
