"""Training loops, evaluation and hyperparameters: `tf.contrib.training`."""
