"""`tf.contrib.learn`: estimators, experiments and monitors of TensorFlow 0.8 to 1.3."""
