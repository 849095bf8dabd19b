"""The default graph, graphs as files, functions as ops, ops of a user's own."""
