"""How the work of one group is laid out over loops, lanes and work-groups: a kernel of each kind."""
