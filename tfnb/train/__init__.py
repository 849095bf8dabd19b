"""The training library: optimizers, schedules, moving averages (OSDI'16, section 4.1).

User-level code over graph, gradients and variables: nothing in the runtime knows an optimizer.
"""
