"""One process of a cluster: it keeps registered parts of steps and runs them when a master calls it."""
