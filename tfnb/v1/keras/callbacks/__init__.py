"""`tf.keras.callbacks`: what is done at the beginning and end of batches, epochs and training."""
