"""String tensors: joining, splitting, conversion, regular expressions, hashing, and Unicode."""

FAMILIES = (
    "convert",
    "hashing",
    "join_split",
    "unicode",
)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {"ngrams": "StringNGrams"}
