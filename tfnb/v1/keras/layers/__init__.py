"""`tf.keras.layers`: the layers by family."""
