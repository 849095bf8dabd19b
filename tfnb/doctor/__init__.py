"""`tfnb doctor`: looks at an installation and names the command that mends what is wrong.

Each check is a module of this package with a function `check(fix)`, which yields records: one line each, with ok,
warning or wrong. What needs a library of others, or a driver, runs in a process of its own, so that a missing package,
a crash or a driver that hangs is a line, too. Invariant: without `--fix` nothing is changed, and no secret is read.
"""
