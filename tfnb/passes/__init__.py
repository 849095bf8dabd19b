"""Compiler passes: Graph -> Graph, one module each (white paper, section 5).

Their order is `STAGES` in `tfnb/session/compile.py`. Nothing here compiles or runs.
"""
