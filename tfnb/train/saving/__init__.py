"""Saver, the files that list the checkpoints of a folder, MetaGraphs and SavedModels."""
