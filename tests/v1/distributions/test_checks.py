"""What a step checks with `validate_args`, in TensorFlow's first words, and numbers far out in the tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import tfnb as tf

ds = tf.distributions


def fails(fetch, match):
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=match):
        sess.run(fetch)


def test_parameters():
    scale = tf.constant(-1.0, name="scale")
    fails(ds.Laplace(tf.constant(0.0, name="loc"), scale, validate_args=True).mean(), "x > 0 did not hold.*scale")
    fails(ds.Normal(0.0, scale, validate_args=True).mean(), "Condition x > 0 did not hold.*scale")
    fails(ds.StudentT([2.0, -5.0], 0.0, 1.0, validate_args=True).mode(), "Condition x > 0 did not hold")
    fails(ds.Uniform([1.0], [1.0], validate_args=True).low, "x < y")
    fails(ds.Gamma(tf.constant(0.0, name="alpha"), 1.0, validate_args=True).mean(), "alpha")
    fails(ds.Bernoulli(probs=1.01, validate_args=True).probs, "probs has components greater than 1")
    fails(ds.Bernoulli(probs=-1.0, validate_args=True).probs, "Condition x >= 0")
    fails(ds.Gamma(0.5, 1.0, allow_nan_stats=False).mode(), "Condition x < y did not hold.*needs concentration > 1")


def test_values():
    beta = ds.Beta([[1.0, 2.0]], [[2.0, 4.0]], validate_args=True)
    fails(beta.prob([0.0, 0.1]), "sample must be positive")
    fails(beta.cdf([0.2, 1.2]), "sample must be no larger than `1`")
    bernoulli = ds.Bernoulli(probs=[0.1, 0.2], validate_args=True)
    fails(bernoulli.prob([1, -1]), "must be non-negative")
    fails(bernoulli.prob([2, 0]), "Elements cannot exceed 1")
    dirichlet = ds.Dirichlet([1.0, 2.0], validate_args=True)
    fails(dirichlet.prob([0.0, 1.0]), "samples must be positive")
    fails(dirichlet.prob([0.5, 0.6]), "sample last-dimension must sum to `1`")
    counts = ds.Multinomial(5.0, probs=[0.4, 0.6], validate_args=True)
    fails(counts.prob([-1.0, 6.0]), "must be non-negative")
    fails(counts.prob([1.0, 6.0]), "counts must sum to `self.total_count`")
    fails(counts.prob([2.5, 2.5]), "cannot contain fractional components")
    mixed = ds.DirichletMultinomial(5.0, [1.0, 2.0], validate_args=True)
    fails(mixed.prob([1.0, 6.0]), "last-dimension must sum to `self.total_count`")


def test_values_of_another_dtype_than_draws():
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(ds.Categorical(probs=[0.2, 0.8]).prob([0.0, 1.0])), [0.2, 0.8], rtol=1e-6)


def test_parameters_that_are_variables():
    loc, p = tf.Variable(np.float64(0.0)), tf.Variable(np.float64([0.0, 0.3, 1.0]))
    quantile = ds.Normal(loc, tf.Variable(np.float64(2.0))).quantile(p)
    gradients = tf.gradients(quantile, [loc, p])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got, (by_loc, by_p) = sess.run([quantile, gradients])
    np.testing.assert_allclose(got, stats.norm(0, 2).ppf([0.0, 0.3, 1.0]))
    assert by_loc == 3.0 and np.isfinite(by_p).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tails(dtype):
    x = np.array([-100, -30, -12, -9, -5.1, -1, 0, 2, 5.1, 8.1, 9, 20, 100], dtype)
    with tf.Session() as sess:
        for d, wanted in ((ds.Normal(dtype(0), dtype(1)), stats.norm), (ds.Laplace(dtype(0), dtype(1)), stats.laplace)):
            values = [d.log_cdf(x), d.log_survival_function(x), d.survival_function(x)]
            at = tf.constant(x)
            slopes = [tf.gradients(f(at), at)[0] for f in (d.log_cdf, d.log_survival_function, d.cdf)]
            (log_cdf, log_sf, sf), slopes = sess.run([values, slopes])
            x64, near = x.astype(np.float64), 1e-5 if dtype is np.float32 else 1e-8
            np.testing.assert_allclose(log_cdf, wanted.logcdf(x64), rtol=near, atol=1e-37)
            np.testing.assert_allclose(log_sf, wanted.logsf(x64), rtol=near, atol=1e-37)
            np.testing.assert_allclose(sf, wanted.sf(x64), rtol=1e-4, atol=1e-7)
            assert np.isfinite(slopes).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverse_of_the_normal_distribution_function(dtype):
    p = np.hstack([np.linspace(0, 1, 101), np.exp(-np.linspace(0.01, 80, 50)), [-0.1, 1.1]]).astype(dtype)
    with tf.Session() as sess:
        got = sess.run(tf.math.ndtri(p))
    np.testing.assert_allclose(got, special.ndtri(p.astype(np.float64)), rtol=8 * np.finfo(dtype).eps, atol=1e-7)


def test_shapes_of_parameters():
    assert ds.Normal.param_static_shapes([10, 3]) == {"loc": [10, 3], "scale": [10, 3]}
    shapes = ds.StudentT.param_shapes(tf.constant([10, 3]))
    assert sorted(shapes) == ["df", "loc", "scale"]
    with tf.Session() as sess:
        assert sess.run(shapes["df"]).tolist() == [10, 3]
    with pytest.raises(tf.errors.UnimplementedError, match="do not have the shape of a draw"):
        ds.Multinomial.param_shapes([10, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be known"):
        ds.Normal.param_static_shapes(tf.placeholder(tf.int32, [2]))
