"""Variables and their updates, tensor arrays, lists and stacks, and handles of resources."""
