"""`tf.keras.datasets`: data sets in files on this machine; nothing is downloaded."""
