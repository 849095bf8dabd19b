"""Code generation: it turns a cluster with concrete shapes into OpenCL C and a launch plan, without pyopencl."""
