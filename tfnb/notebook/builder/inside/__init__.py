"""What a node contains: its operations, the body of the function that it calls, and what it costs."""
