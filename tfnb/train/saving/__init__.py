"""Saver, the files that keep track of checkpoints, MetaGraphs and SavedModels."""
