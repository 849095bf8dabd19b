"""Matrices known by what they do: products, solutions, determinants (`tf.linalg.LinearOperator`)."""
