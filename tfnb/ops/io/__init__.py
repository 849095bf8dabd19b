"""Files, also of records and CSV, readers of records, tf.Example, and tensors as strings."""
