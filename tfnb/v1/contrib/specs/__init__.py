"""`tf.contrib.specs`: networks as short texts, "net = Cr(64, [3, 3]) | Mp([2, 2]) | Flat | Fm(10)"."""
