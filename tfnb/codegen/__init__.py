"""Code generation: it turns a cluster with concrete shapes into OpenCL C and a launch plan, without pyopencl.

The result is a straight-line program: a list of kernel launches over an arena whose layout is planned before it runs.
Neighbours that are elementwise or reductions fuse; matrix products and convolutions take fused epilogues. A weight is
updated where the product for its gradient is computed, tile by tile, and small kernels that follow each other become
one launch. Fusion changes no integer: integers wrap as they do in each op by itself, although C promises nothing for
signed numbers. With `TFNB_OPTIMIZE=0` each op is a kernel by itself, so no float changes either.
"""
