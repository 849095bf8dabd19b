"""`tf.distributions` against SciPy's: densities, moments, entropies, divergences, and statistics of draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tfnb as tf

ds = tf.contrib.distributions
A, B = np.float64([0.7, 2.0, 3.5]), np.float64([1.5, 0.8, 2.5])
P = np.float64([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])

SCALAR = {
    "Normal": (lambda: ds.Normal(A, B), stats.norm(A, B), A + 0.3 * B),
    "Uniform": (lambda: ds.Uniform(A, A + B), stats.uniform(A, B), A + 0.3 * B),
    "Gamma": (lambda: ds.Gamma(A, B), stats.gamma(A, scale=1 / B), B),
    "Exponential": (lambda: ds.Exponential(B), stats.expon(scale=1 / B), A),
    "Beta": (lambda: ds.Beta(A, B), stats.beta(A, B), np.float64([0.1, 0.5, 0.9])),
    "Laplace": (lambda: ds.Laplace(A, B), stats.laplace(A, B), A + 0.3 * B),
    "StudentT": (lambda: ds.StudentT(2.0 + A, A, B), stats.t(2.0 + A, A, B), A - 0.3 * B),
}
INTEGER = {
    "Bernoulli": (lambda: ds.Bernoulli(probs=P[0]), stats.bernoulli(P[0]), [0, 1, 1]),
    "Poisson": (lambda: ds.Poisson(A), stats.poisson(A), [0.0, 2.0, 3.0]),
}


def run(*fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


def test_scalar_distributions():
    with tf.Session() as sess:  # one step for all, which compiles once
        quantities = {}
        for name, (make, _, x) in SCALAR.items():
            d = make()
            quantities[name] = (d.log_prob(x), d.prob(x), d.cdf(x), d.mean(), d.variance(), d.entropy())
        values = sess.run(quantities)
    for name, (_, expected, x) in SCALAR.items():
        wanted = (
            expected.logpdf(x),
            expected.pdf(x),
            expected.cdf(x),
            expected.mean(),
            expected.var(),
            expected.entropy(),
        )
        for value, right in zip(values[name], wanted, strict=True):
            np.testing.assert_allclose(value * np.ones(3), right * np.ones(3), rtol=1e-6, err_msg=name)


def test_draws_have_the_mean():
    draws = {name: make().sample(4000, seed=3) for name, (make, _, _) in (SCALAR | INTEGER).items()}
    assert draws["Normal"].shape.as_list() == [4000, 3]
    with tf.Session() as sess:
        values = sess.run(draws)
    for name, (_, expected, _) in (SCALAR | INTEGER).items():
        deviation = np.sqrt(expected.var() / 4000)
        np.testing.assert_array_less(np.abs(values[name].mean(0) - expected.mean()), 5 * deviation, err_msg=name)


@pytest.mark.parametrize("name", INTEGER)
def test_integer_distributions(name):
    make, expected, x = INTEGER[name]
    d = make()
    log_prob, mean, variance = run(d.log_prob(x), d.mean(), d.variance())
    np.testing.assert_allclose(log_prob, expected.logpmf(x), rtol=1e-6)
    np.testing.assert_allclose(mean, expected.mean(), rtol=1e-6)
    np.testing.assert_allclose(variance, expected.var(), rtol=1e-6)


def test_classes():
    d, one_hot = ds.Categorical(probs=P), ds.OneHotCategorical(probs=P, dtype=tf.float64)
    log_prob, cdf, entropy, mode, vectors = run(
        d.log_prob([0, 2]), d.cdf([0, 1]), d.entropy(), d.mode(), one_hot.sample(2000, seed=1)
    )
    np.testing.assert_allclose(log_prob, np.log([0.2, 0.8]))
    np.testing.assert_allclose(cdf, [0.0, 0.1])  # as in TensorFlow, without the class itself
    np.testing.assert_allclose(entropy, -(P * np.log(P)).sum(1))
    np.testing.assert_array_equal(mode, [1, 2])
    np.testing.assert_allclose(vectors.mean(0), P, atol=0.06)
    assert d.sample([2, 5]).shape.as_list() == [2, 5, 2] and d.batch_shape.as_list() == [2]


def test_counts_and_probabilities():
    counts = np.float64([2, 1, 2])
    multinomial, dirichlet = ds.Multinomial(5.0, probs=P[0]), ds.Dirichlet(A)
    mixed = ds.DirichletMultinomial(5.0, A)
    both = run(multinomial.log_prob(counts), multinomial.covariance(), dirichlet.log_prob(P[0]), dirichlet.entropy())
    np.testing.assert_allclose(both[0], stats.multinomial(5, P[0]).logpmf(counts))
    np.testing.assert_allclose(both[1], stats.multinomial(5, P[0]).cov())
    np.testing.assert_allclose(both[2], stats.dirichlet(A).logpdf(P[0]))
    np.testing.assert_allclose(both[3], stats.dirichlet(A).entropy())
    log_prob, mean, draws = run(mixed.log_prob(counts), mixed.mean(), mixed.sample(3000, seed=2))
    np.testing.assert_allclose(log_prob, stats.dirichlet_multinomial(A, 5).logpmf(counts.astype(int)))
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.12)
    assert (draws.sum(1) == 5).all()


def test_numbers_of_draws_with_a_dimension_of_one_belong_to_the_batch():
    """TensorFlow documents numbers without that dimension, and has moments only with it."""
    counts, concentration = np.float64([[2], [3], [4], [5]]), np.tile(A, (4, 1))
    mixed = ds.DirichletMultinomial(counts, concentration)
    assert mixed.batch_shape == (4,)
    assert mixed.covariance().shape == (4, 3, 3)
    covariance, variance, mean = run(mixed.covariance(), mixed.variance(), mixed.mean())
    np.testing.assert_allclose(mean, counts * A / A.sum())
    for k, n in enumerate((2, 3, 4, 5)):
        np.testing.assert_allclose(covariance[k], stats.dirichlet_multinomial(A, n).cov())
        np.testing.assert_allclose(variance[k], np.diag(covariance[k]))
    assert ds.DirichletMultinomial(np.ones([3, 5, 1]), np.ones([3, 5, 4])).covariance().shape == (3, 5, 4, 4)


def test_vectors_of_independent_normals():
    d = ds.MultivariateNormalDiag(A, B)
    log_prob, entropy, draws = run(d.log_prob(B), d.entropy(), d.sample(3000, seed=4))
    expected = stats.multivariate_normal(A, np.diag(B**2))
    np.testing.assert_allclose(log_prob, expected.logpdf(B))
    np.testing.assert_allclose(entropy, expected.entropy())
    np.testing.assert_allclose(draws.std(0), B, rtol=0.06)


PAIRS = [
    lambda: (ds.Normal(0.5, 1.5), ds.Normal(1.0, 0.7)),
    lambda: (ds.Gamma(2.0, 1.5), ds.Gamma(3.0, 0.7)),
    lambda: (ds.Beta(2.0, 1.5), ds.Beta(3.0, 0.7)),
    lambda: (ds.Bernoulli(probs=0.2), ds.Bernoulli(probs=0.7)),
    lambda: (ds.Categorical(probs=P[0]), ds.Categorical(probs=P[1])),
    lambda: (ds.Dirichlet(A), ds.Dirichlet(B)),
    lambda: (ds.MultivariateNormalDiag(A, B), ds.MultivariateNormalDiag(B, A)),
]


def test_divergences_are_means_of_log_ratios():
    fetches = []
    for pair in PAIRS:
        a, b = pair()
        x = a.sample(20000, seed=5)
        fetches.append((a.kl_divergence(b), a.log_prob(x) - b.log_prob(x), a.cross_entropy(b), a.entropy()))
    for divergence, ratios, crossed, entropy in run(*fetches):
        np.testing.assert_allclose(divergence, ratios.mean(0), atol=5 * ratios.std() / np.sqrt(20000))
        np.testing.assert_allclose(crossed, entropy + divergence, rtol=1e-4)


def test_gradients_reach_the_parameters():
    scale = tf.Variable(2.0)
    loss = tf.reduce_mean(ds.Normal(0.0, scale).sample(2000, seed=1) ** 2)
    grad = tf.gradients(loss, scale)[0]
    with tf.Session() as sess:
        sess.run(scale.initializer)
        assert abs(sess.run(grad) - 4.0) < 0.5


def test_far_tails_of_the_normal_distribution():
    log_cdf = run(ds.Normal(np.float64(0), 1.0).log_cdf(np.float64([-40.0, -8.0, -1.0, 3.0])))[0]
    np.testing.assert_allclose(log_cdf, stats.norm.logcdf([-40, -8, -1, 3]), rtol=1e-4)


def test_what_is_not_defined():
    mean = ds.StudentT([0.5, 2.0], 1.0, 1.0).mean()
    np.testing.assert_array_equal(run(mean)[0], [np.nan, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs df > 1"):
        run(ds.StudentT(0.5, 1.0, 1.0, allow_nan_stats=False).mean())
    with pytest.raises(tf.errors.InvalidArgumentError, match="positive"):
        run(ds.Normal(0.0, -1.0, validate_args=True).sample())
    with pytest.raises(tf.errors.InvalidArgumentError, match="either"):
        ds.Bernoulli()
    with pytest.raises(tf.errors.UnimplementedError, match="no divergence"):
        ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Laplace(0.0, 1.0))


def test_a_copy_changes_parameters():
    d = ds.Exponential(rate=2.0).copy(rate=4.0)
    assert run(d.mean())[0] == 0.25


def test_a_divergence_that_is_no_number_names_both():
    a, b = tf.distributions.Normal(float("nan"), 1.0, name="one"), tf.distributions.Normal(0.0, 1.0, name="other")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"KL calculation between one.* and other.* returned NaN"):
        run(tf.distributions.kl_divergence(a, b, allow_nan_stats=False))


def test_a_distribution_without_nan_refuses_a_divergence_that_is_no_number():
    a = tf.distributions.Normal(float("nan"), 1.0, allow_nan_stats=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN values"):
        run(a.kl_divergence(tf.distributions.Normal(0.0, 1.0)))


def test_divergences_are_registered_once_and_are_functions():
    class Own(tf.distributions.Normal):
        pass

    with pytest.raises(TypeError, match="must be callable, received"):
        tf.distributions.RegisterKL(Own, Own)("no function")
    tf.distributions.RegisterKL(Own, Own)(lambda a, b, name=None: a.loc)
    with pytest.raises(ValueError, match=r"KL\(Own and Own\) has already been registered"):
        tf.distributions.RegisterKL(Own, Own)(lambda a, b, name=None: b.loc)


class Point(tf.distributions.Distribution):
    """A distribution of a program: all of it at one point."""

    def __init__(self, at):
        self.at = tf.convert_to_tensor(at)
        kind = tf.distributions.FULLY_REPARAMETERIZED
        super().__init__(self.at.dtype, kind, False, True, {}, [self.at], "Point")

    def _batch_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _batch_shape(self):
        return tf.TensorShape([])

    def _event_shape_tensor(self):
        return tf.shape(self.at)

    def _event_shape(self):
        return self.at.shape

    def _mean(self):
        return self.at

    def _sample_n(self, n, seed=None):
        return tf.tile(self.at[tf.newaxis], [n, 1])

    def _log_prob(self, value):
        return -tf.reduce_sum(tf.square(value - self.at), -1)


def test_a_program_may_define_a_distribution():
    with tf.Graph().as_default(), tf.Session() as session:
        point = Point([1.0, 2.0])
        assert (point.batch_shape, point.event_shape) == (tf.TensorShape([]), tf.TensorShape([2]))
        assert [point.sample(n).shape.as_list() for n in ((), 3, [2, 3])] == [[2], [3, 2], [2, 3, 2]]
        shapes = [point.batch_shape_tensor(), point.event_shape_tensor()]
        drawn, mean, density, batch, event = session.run(
            [point.sample(2), point.mean(), point.prob([[1.0, 2.0], [1.0, 1.0]]), *shapes]
        )
    assert drawn.tolist() == [[1, 2], [1, 2]] and mean.tolist() == [1, 2]
    assert (batch.tolist(), event.tolist()) == ([], [2])
    np.testing.assert_allclose(density, [1, np.exp(-1)], rtol=1e-6)
