"""Hooks: code that runs before and after each step of a monitored session."""
