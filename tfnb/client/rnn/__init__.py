"""Recurrent cells and networks, and sequence-to-sequence models."""
