"""Save and restore as ops, and the formats of checkpoints: ours and TensorFlow's two."""

FAMILIES = ("save_restore",)
