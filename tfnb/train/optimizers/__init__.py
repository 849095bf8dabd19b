"""Optimizers with their slots and learning-rate schedules, moving averages, and the global step."""
