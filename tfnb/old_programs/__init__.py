"""Programs of TensorFlow 0.x and 1.x as they are: `import tensorflow` means tfnb; a runner; a reader of programs."""
