"""`tf.contrib.quantize`: graphs are rewritten so that they are trained with the rounding errors of 8-bit inference.

Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2017.
"""
