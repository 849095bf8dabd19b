"""The times of steps: traces read from files, laid out in lanes, drawn."""
