"""`tf.keras.backend`: the functions of Keras on tensors, variables, sessions and the learning phase."""
