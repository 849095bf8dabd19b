"""Runs and checks programs for TensorFlow 0.x and 1.x that are unchanged: their `import tensorflow` means tfnb."""
