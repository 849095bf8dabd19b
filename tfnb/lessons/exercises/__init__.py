"""The exercises of each notebook of examples/, a module for each.

A module has `EXERCISES`: three titles with their cases.
"""
