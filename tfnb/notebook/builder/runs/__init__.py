"""What runs in the builder: a node up to which one runs, a training, their sessions, and the values that are shown."""
