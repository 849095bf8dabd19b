"""Names of other libraries and versions: tf.contrib, tf.keras, tf.compat, late 1.x."""
