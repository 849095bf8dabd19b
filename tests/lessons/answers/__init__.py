"""Answers to the exercises, right and wrong ones, a module for each notebook.

`ANSWERS` of a module has, by an exercise's number, a right answer under `Kind.RIGHT` and one for each kind of mistake
that makes sense there. `SECRETS` has what no text of a check may contain: the lines and values that are asked for.
"""
