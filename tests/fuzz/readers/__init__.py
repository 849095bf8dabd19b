"""One file for each reader, with a function `target(folder)` that describes it to the runner."""
