"""Gradients by extending the graph, also backwards through loops."""
