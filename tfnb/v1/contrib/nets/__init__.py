"""`tf.contrib.slim.nets`: networks for images, with the names of variables that slim's checkpoints have."""
