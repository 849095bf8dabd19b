"""Runtime: executes compiled steps, node by node as their inputs come (OSDI'16, section 3.3; white paper, 3.1, 3.2)."""
