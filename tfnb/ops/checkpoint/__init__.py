"""Save and restore ops, and the checkpoint formats: tfnb's own and TensorFlow's two."""

FAMILIES = ("save_restore",)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {"save_slices": "Save SaveSlices Restore RestoreSlice"}
