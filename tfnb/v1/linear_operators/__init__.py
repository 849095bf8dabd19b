"""`tf.linalg.LinearOperator*`: matrices known by their structure, computed with without being written out."""
