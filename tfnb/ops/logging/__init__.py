"""What a running step says: printing, assertions, checks of numbers, summaries."""
