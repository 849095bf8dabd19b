"""Loops without a propagator: a loop whose nodes all finish at once is one kernel (OSDI'16, section 3.4).

`lowering` finds such loops in a plan and converts each to a `LoopForm` (module `form`). `kernel` interprets the form,
or runs the Python function that `codegen` generates from it. `scalars` computes counters and conditions on the host.

Counters and conditions are computed on the host so that no iteration waits for a device. The form is interpreted where
it has branches inside, or where its steps are timed. The propagator runs all other loops, and with `TFNB_FAST_LOOPS=0`
all loops.
"""
