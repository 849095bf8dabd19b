"""Fuzzing of everything that reads files or messages which somebody else may have written.

`PYTHONPATH=tests python -m fuzz` runs it long, `test_fuzz.py` runs it short. A file in `readers/` describes one reader;
docs/readers.md lists what each reader refuses.
"""
