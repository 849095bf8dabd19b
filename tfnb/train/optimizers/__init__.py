"""Optimizers, their slots and schedules, moving averages, the global step."""
