"""tf.estimator, and models to fit and evaluate."""
