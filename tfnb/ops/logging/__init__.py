"""What a running step says: printing, assertions, checks of numbers, summaries."""

FAMILIES = (
    "assertions",
    "print_assert",
    "summary",
)
