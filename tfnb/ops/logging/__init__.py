"""Output and checks of a running step: printing, assertions, checks of numbers, summaries."""

FAMILIES = (
    "assertions",
    "print_assert",
    "summary",
)
