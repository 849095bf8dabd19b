"""The functions and classes that users call, beyond single ops: variables and scopes, gradients, layers, losses."""
