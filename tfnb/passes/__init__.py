"""Compiler passes: Graph -> Graph, one module each (white paper, section 5).

prune -> expand -> fold -> cse -> simplify -> cluster. Nothing here compiles or runs.
"""
