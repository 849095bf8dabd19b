"""Loops without a propagator: a loop whose nodes all finish at once is one kernel (OSDI'16, section 3.4).

`lowering` finds such loops in a plan and brings each into one typed `form`; `kernel` interprets it, or runs the Python
function that `codegen` writes of it. `scalars` computes a loop's counters and conditions on the host.
"""
