"""From nodes to groups: definitions of values over loop variables, and which of them become one kernel."""
