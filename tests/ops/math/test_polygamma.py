"""polygamma and zeta of negative numbers, also of large ones."""

from __future__ import annotations

import numpy as np
from scipy import special

import tfnb as tf


def test_polygamma_below_zero_ends() -> None:
    """SciPy adds the terms of a negative number one by one, which takes forever for a large one."""
    x = np.array([-0.5, -1.3, -2.0, -7.7, 0.0, 3.0, -1e6 - 0.25, -1e15, -1e300, np.nan])
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, [None])
        orders = [tf.polygamma(tf.constant(n, tf.float64), fed) for n in (1.0, 2.0, 3.0)]
        slope = tf.gradients(tf.digamma(fed), fed)[0]
        found = session.run([*orders, slope, tf.zeta(tf.constant(2.0, tf.float64), fed)], {fed: x})
    for n, values in enumerate(found[:3], 1):
        np.testing.assert_allclose(values[:6], special.polygamma(n, x[:6]), rtol=1e-12)
        assert np.isfinite(values[6]) and np.isinf(values[7:9]).all() and np.isnan(values[9])
    np.testing.assert_array_equal(found[3], found[0])
    np.testing.assert_allclose(found[4], found[0])
    # By reflection, of the fraction 1/4: the square of pi over the sine, less what is above 10^6.
    np.testing.assert_allclose(found[0][6], 2 * np.pi**2 - 1e-6, rtol=1e-9)
