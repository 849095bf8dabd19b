"""Frames, windows, spectra and transforms of signals: `tf.signal` and `tf.spectral`."""
