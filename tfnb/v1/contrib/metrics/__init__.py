"""`tf.contrib.metrics` beyond `tf.metrics`, and the losses of metric learning."""
