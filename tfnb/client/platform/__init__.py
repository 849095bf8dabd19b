"""What a program uses beside the graph: flags, logging, files (TensorFlow's `platform`)."""
