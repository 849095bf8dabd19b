"""tf.data: data sets with their elements, functions of elements, and iterators."""
