"""Tensors of strings: joined, split, converted, matched, hashed; texts in Unicode."""

FAMILIES = (
    "convert",
    "hashing",
    "join_split",
    "unicode",
)
