"""tf.estimator, and `tf.Model`, a model with fit, evaluate and predict."""
