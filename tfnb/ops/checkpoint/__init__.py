"""Save and restore ops, and the checkpoint formats: tfnb's own and TensorFlow's two."""

FAMILIES = ("save_restore",)
