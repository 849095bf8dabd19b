"""`tf.keras.metrics`: values that are accumulated over the batches of an epoch."""
