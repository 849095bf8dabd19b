"""Random numbers, and the samplers of candidate classes."""
