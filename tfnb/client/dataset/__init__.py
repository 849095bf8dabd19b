"""tf.data: data sets, their elements, functions and iterators."""
