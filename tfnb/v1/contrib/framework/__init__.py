"""`tf.contrib.framework`: variables by purpose, checks of shapes, names of scopes, deprecation, nodes of graphs."""
