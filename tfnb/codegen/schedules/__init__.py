"""Schedules: they lay the work of a group out over loops, lanes and work-groups; a file for each kind of kernel."""
