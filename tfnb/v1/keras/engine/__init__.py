"""Layers and models of Keras: calls that are remembered, compiling, fitting, saving."""
