"""Queues, accumulators and barriers as users know them."""
