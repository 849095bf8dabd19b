"""`tf.contrib.seq2seq`: decoders of sequences that step through a cell, what they read, and what they attend to."""
