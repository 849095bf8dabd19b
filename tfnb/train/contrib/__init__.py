"""Training parts of `tf.contrib`: training loops of slim and `contrib.training`, evaluation, input, optimizers."""
