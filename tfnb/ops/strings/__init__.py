"""String tensors: joining, splitting, conversion, regular expressions, hashing, and Unicode."""

FAMILIES = (
    "convert",
    "hashing",
    "join_split",
    "unicode",
)
