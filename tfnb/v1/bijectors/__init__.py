"""`tf.contrib.distributions.bijectors`: invertible functions whose change of volume is known."""
