"""The interpreter of generated kernels: one kernel that runs the text of others, which then need no compiler."""
