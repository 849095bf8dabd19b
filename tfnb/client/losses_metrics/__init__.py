"""Losses, and metrics over many batches."""
