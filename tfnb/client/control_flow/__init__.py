"""Conditionals and loops: cond, while_loop, map and scan, tensor arrays."""
