"""Parts of a program besides its graph: flags, logging, files (TensorFlow's `platform`)."""
