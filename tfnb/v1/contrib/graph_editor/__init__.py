"""`tf.contrib.graph_editor`: parts of a graph are selected, copied with other inputs, cut off and connected anew."""
