"""The master of a session: it registers a step's parts at the tasks, starts each step there and gathers the results."""
