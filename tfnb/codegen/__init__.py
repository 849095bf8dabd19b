"""Code generation: a cluster with concrete shapes becomes OpenCL C and a launch plan; no pyopencl here."""
