"""Tensors of strings: joined, split, converted, matched, hashed; texts in Unicode."""
