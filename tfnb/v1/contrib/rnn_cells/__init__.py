"""`tf.contrib.rnn`: cells of later papers, fused cells, and stacks of bidirectional networks."""
