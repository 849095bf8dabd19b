"""What programs of the time import from inside `tensorflow.python`, by what it does."""
