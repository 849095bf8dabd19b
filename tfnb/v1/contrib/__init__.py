"""Parts of `tf.contrib` and of late 1.x that load when a program names them, each built as a graph of existing ops."""
