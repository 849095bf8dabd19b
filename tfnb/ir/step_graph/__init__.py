"""The graph of one step, which passes rewrite: nodes, their order, frames, clusters, edits, rules."""
