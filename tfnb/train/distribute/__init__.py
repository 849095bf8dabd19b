"""Strategies of training with replicas of a model on several devices (`tf.distribute`)."""
