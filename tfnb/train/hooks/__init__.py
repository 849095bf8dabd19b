"""Hooks: code that runs around every step of a monitored session."""
