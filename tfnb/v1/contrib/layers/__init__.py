"""`tf.contrib.layers`: what single layers share, and the layers that load when a program names them."""
