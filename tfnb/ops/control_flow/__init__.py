"""The primitives of branches and loops, what loops keep, Python functions, Send and Recv."""
