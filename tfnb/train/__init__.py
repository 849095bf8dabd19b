"""The training library: optimizers, schedules, moving averages, checkpoints and sessions (OSDI'16, section 4.1).

It is built on graphs, gradients and variables; no part of the runtime knows about optimizers.
"""
