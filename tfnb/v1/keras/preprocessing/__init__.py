"""`tf.keras.preprocessing`: sequences, text and images as arrays."""
