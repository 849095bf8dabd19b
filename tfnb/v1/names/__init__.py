"""The public names of this house: where each is defined, what means the same, what is refused and why."""
