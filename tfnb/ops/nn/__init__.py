"""Parts of neural networks: activations, losses, normalisation, CTC, and 8-bit inference."""
