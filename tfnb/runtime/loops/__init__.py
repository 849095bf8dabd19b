"""Loops without a propagator: a loop whose nodes all finish at once is one kernel (OSDI'16, section 3.4).

`lowering` finds such loops in a plan and converts each to a `LoopForm` (module `form`). `kernel` interprets the form,
or runs the Python function that `codegen` generates from it. `scalars` computes counters and conditions on the host.
"""
