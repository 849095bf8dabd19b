"""`tf.keras` of TensorFlow 1.15: layers, models and their training as graphs that sessions run."""
