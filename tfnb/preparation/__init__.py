"""Preparation: compiles, before they are needed, the kernels that first programs have in common.

`tfnb prepare` does it when it is called, as when an image is built; a notebook starts it in a second process when it
imports tfnb for the first time on a machine. Invariant: it only fills the cache of kernels, so a program gives the same
bits with and without it.
"""
