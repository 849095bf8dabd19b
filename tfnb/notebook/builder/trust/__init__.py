"""Which code the builder may run by itself: the functions by name, and the statements that the user has run."""
