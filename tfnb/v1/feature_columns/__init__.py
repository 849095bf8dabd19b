"""`tf.feature_column`: from a dict of features to the inputs of a model, column by column."""
