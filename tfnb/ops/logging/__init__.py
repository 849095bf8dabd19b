"""Output and checks of a running step: printing, assertions, checks of numbers, summaries."""

FAMILIES = (
    "assertions",
    "print_assert",
    "summary",
)
# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "memory_stats": "BytesInUse MaxBytesInUse BytesLimit",
}
