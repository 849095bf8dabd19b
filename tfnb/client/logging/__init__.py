"""Summaries, and checks of numbers over a whole graph."""
