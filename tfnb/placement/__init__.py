"""Placement: which device runs a node (white paper, sections 3.2.1 and 4.3)."""
