"""The further distributions of tf.contrib.distributions: densities as SciPy's, draws with the right moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tfnb as tf
from tfnb import errors

ds = tf.contrib.distributions
A, B = np.float64([0.7, 2.0, 3.5]), np.float64([1.5, 0.8, 2.5])
X = np.float64([0.3, 0.6, 0.9])
K = np.float64([0, 2, 3])
TRIL = np.float64([[1.2, 0.0], [0.5, 0.9]])
MEANS = np.float64([[0.3, -0.7], [1.0, 2.0]])

CONTINUOUS = {
    "Logistic": (lambda: ds.Logistic(A, B), stats.logistic(A, B)),
    "HalfNormal": (lambda: ds.HalfNormal(B), stats.halfnorm(scale=B)),
    "InverseGamma": (lambda: ds.InverseGamma(A + 2.0, B), stats.invgamma(A + 2, scale=B)),
    "Chi2": (lambda: ds.Chi2(A + 2.0), stats.chi2(A + 2)),
    "ExponentialWithSoftplusRate": (
        lambda: ds.ExponentialWithSoftplusRate(B),
        stats.expon(scale=1 / np.log1p(np.exp(B))),
    ),
    "Transformed": (
        lambda: ds.TransformedDistribution(ds.Normal(A, B), ds.bijectors.AffineScalar(np.float64(1), np.float64(2))),
        stats.norm(1 + 2 * A, 2 * B),
    ),
}
DISCRETE = {
    "Binomial": (lambda: ds.Binomial(np.float64(5), probs=X), stats.binom(5, X)),
    "Geometric": (lambda: ds.Geometric(probs=X), stats.geom(X, loc=-1)),
    "NegativeBinomial": (lambda: ds.NegativeBinomial(A + 1.0, probs=X), stats.nbinom(A + 1, 1 - X)),
}


def test_densities_and_moments():
    fetches = {}
    for name, (make, _) in (CONTINUOUS | DISCRETE).items():
        d, x = make(), X if name in CONTINUOUS else K
        fetches[name] = {"log_prob": d.log_prob(x), "cdf": d.cdf(x), "mean": d.mean()}
        if name != "Transformed":
            fetches[name]["stddev"] = d.stddev()
        if name in CONTINUOUS or name == "Geometric":
            fetches[name]["entropy"] = d.entropy()
    with tf.Session() as session:
        values = session.run(fetches)
    for name, (_, wanted) in (CONTINUOUS | DISCRETE).items():
        x = X if name in CONTINUOUS else K
        right = {
            "log_prob": wanted.logpdf(x) if name in CONTINUOUS else wanted.logpmf(x),
            "cdf": wanted.cdf(x),
            "mean": wanted.mean(),
            "stddev": wanted.std(),
            "entropy": wanted.entropy(),
        }
        for quantity, value in values[name].items():
            np.testing.assert_allclose(value, right[quantity], rtol=1e-5, err_msg=f"{name}.{quantity}")


def test_draws_have_the_moments_that_are_told():
    made = {
        name: make()
        for name, (make, _) in (CONTINUOUS | DISCRETE).items()
        if name not in ("InverseGamma", "Transformed")
    }
    made["Kumaraswamy"] = ds.Kumaraswamy(A + 1.0, B + 1.0)
    made["TriL"] = ds.MultivariateNormalTriL(MEANS, TRIL)
    made["Laplace"] = ds.VectorLaplaceDiag(MEANS, scale_diag=B[:2])
    made["Mixture"] = ds.Mixture(
        ds.Categorical(probs=np.float64([[0.3, 0.7]] * 3)), [ds.Normal(A, B), ds.Normal(-A, B)]
    )
    made["Family"] = ds.MixtureSameFamily(ds.Categorical(probs=np.float64([0.2, 0.3, 0.5])), ds.Normal(A, B))
    made["Wishart"] = ds.WishartCholesky(np.float64(4.5), TRIL)
    fetches = {k: (d.sample(8000, seed=3), d.mean(), d.variance()) for k, d in made.items()}
    with tf.Session() as session:
        values = session.run(fetches)
    for name, (drawn, mean, variance) in values.items():
        spread = np.sqrt(variance / 8000)
        assert np.all(np.abs(drawn.mean(0) - mean) < 5 * spread + 1e-9), name
        np.testing.assert_allclose(drawn.var(0), variance * np.ones_like(drawn[0]), rtol=0.25, err_msg=name)


def test_normal_vectors():
    covariance = TRIL @ TRIL.T
    full = ds.MultivariateNormalFullCovariance(MEANS, covariance)
    tril = ds.MultivariateNormalTriL(MEANS, TRIL)
    diag = ds.MultivariateNormalDiag(MEANS[0], B[:2])
    low = ds.MultivariateNormalDiagPlusLowRank(MEANS[0], B[:2], scale_perturb_factor=np.float64([[1.0], [0.5]]))
    with tf.Session() as session:
        got = session.run([full.log_prob(MEANS + 0.3), tril.log_prob(MEANS + 0.3), tril.entropy(), low.log_prob(X[:2])])
        divergence, lower = session.run([ds.kl_divergence(tril, diag), ds.kl_divergence(low, tril)])
        drawn, p, q = session.run([low.covariance(), tril.covariance(), diag.covariance()])
    wanted = stats.multivariate_normal([0, 0], covariance)
    np.testing.assert_allclose(got[0], wanted.logpdf([0.3, 0.3]), rtol=1e-6)
    np.testing.assert_allclose(got[1], got[0])
    np.testing.assert_allclose(got[2], wanted.entropy(), rtol=1e-6)
    np.testing.assert_allclose(got[3], stats.multivariate_normal(MEANS[0], drawn).logpdf(X[:2]), rtol=1e-6)
    delta = MEANS - MEANS[0]
    inverse = np.linalg.inv(q)
    exact = 0.5 * (np.trace(inverse @ p) - 2 + np.log(np.linalg.det(q) / np.linalg.det(p)))
    np.testing.assert_allclose(divergence, exact + 0.5 * np.einsum("bi,ij,bj->b", delta, inverse, delta), rtol=1e-6)
    assert lower.shape == (2,)


def test_wishart_and_others():
    scale = TRIL @ TRIL.T
    matrices = np.stack([2 * scale, scale])
    independent = ds.Independent(ds.Normal(MEANS, np.float64(1.5)), 1)
    quantized = ds.QuantizedDistribution(ds.Normal(A, B), low=np.float64(-1), high=np.float64(3))
    mixture = ds.MixtureSameFamily(ds.Categorical(probs=np.float64([0.2, 0.3, 0.5])), ds.Normal(A, B))
    reshaped = ds.BatchReshape(ds.Normal(np.arange(6.0), np.float64(1)), [2, -1])
    assert (independent.batch_shape.as_list(), independent.event_shape.as_list()) == ([2], [2])
    assert reshaped.batch_shape.as_list() == [2, 3]
    with tf.Session() as session:
        got = session.run(
            [
                ds.WishartFull(np.float64(5), scale).log_prob(matrices),
                independent.log_prob(MEANS + 0.2),
                quantized.prob(K),
                mixture.log_prob(np.float64(0.5)),
                reshaped.log_prob(np.ones((2, 3))),
            ]
        )
    np.testing.assert_allclose(got[0], stats.wishart(5, scale).logpdf(matrices.transpose(1, 2, 0)), rtol=1e-6)
    np.testing.assert_allclose(got[1], 2 * stats.norm(0, 1.5).logpdf([0.2, 0.2]), rtol=1e-6)
    below, normal = stats.norm(A, B).cdf(K - 1), stats.norm(A, B).cdf(K)
    np.testing.assert_allclose(got[2], np.where(K < 3, normal, 1) - below, rtol=1e-6)
    np.testing.assert_allclose(got[3], np.log(stats.norm(A, B).pdf(0.5) @ [0.2, 0.3, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(got[4], stats.norm(np.arange(6).reshape(2, 3), 1).logpdf(1), rtol=1e-6)


def test_relaxed_classes_are_near_classes():
    d = ds.RelaxedOneHotCategorical(0.5, probs=np.float32([0.2, 0.5, 0.3]))
    x = d.sample(2000, seed=1)
    gradient = tf.gradients(d.log_prob(x), d.logits)[0]
    with tf.Session() as session:
        drawn, slope = session.run([x, gradient])
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-4)
    np.testing.assert_allclose(np.bincount(drawn.argmax(-1)) / 2000, [0.2, 0.5, 0.3], atol=0.05)
    assert np.isfinite(slope).all()


def test_statistics():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 5))
    series = rng.normal(size=(2, 9)).cumsum(1).astype("f")
    with tf.Session() as session:
        got = session.run(
            [
                ds.percentile(x, 30.0, axis=0),
                ds.auto_correlation(series, max_lags=2, normalize=False),
                ds.reduce_weighted_logsumexp(
                    MEANS, tf.constant([[1.0, -2.0], [0.5, 1.0]], tf.float64), 1, return_sign=True
                ),
                ds.fill_triangular(np.arange(6.0)),
                ds.fill_triangular_inverse(ds.fill_triangular(np.arange(6.0), True), True),
                ds.tridiag(A[:1], A[:2], B[:1]),
                ds.softplus_inverse(tf.nn.softplus(MEANS)),
            ]
        )
    np.testing.assert_allclose(got[0], np.percentile(x, 30, axis=0, method="nearest"))
    centred = series - series.mean(1, keepdims=True)
    wanted = [[(c[: 9 - k] * c[k:]).mean() for k in range(3)] for c in centred]
    np.testing.assert_allclose(got[1], wanted, rtol=1e-4, atol=1e-5)
    sums = (np.exp(MEANS) * [[1, -2], [0.5, 1]]).sum(1)
    np.testing.assert_allclose(got[2], [np.log(np.abs(sums)), np.sign(sums)], rtol=1e-6)
    np.testing.assert_array_equal(got[3], [[3, 0, 0], [5, 4, 0], [2, 1, 0]])
    np.testing.assert_array_equal(got[4], np.arange(6))
    np.testing.assert_array_equal(got[5], [[0.7, 1.5], [0.7, 2.0]])
    np.testing.assert_allclose(got[6], MEANS, rtol=1e-5)


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="interpolation"):
        ds.percentile(A, 3.0, interpolation="linear")
    with pytest.raises(errors.InvalidArgumentError, match="exceed"):
        ds.Independent(ds.Normal(A, B), 2)
    with pytest.raises(errors.InvalidArgumentError, match="classes"):
        ds.Mixture(ds.Categorical(probs=[0.5, 0.5]), [ds.Normal(0.0, 1.0)])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [[None], [2, None], None])
def test_triangles_of_vectors_of_unknown_length(shape, upper):
    vectors = np.arange(12.0).reshape(2, 6) if shape is None or len(shape) == 2 else np.arange(6.0)
    x = tf.placeholder(tf.float64, shape)
    with tf.Session() as sess:
        found = sess.run(ds.fill_triangular(x, upper), {x: vectors})
        np.testing.assert_array_equal(found, sess.run(ds.fill_triangular(vectors, upper)))
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(ds.fill_triangular(x, upper), {x: vectors[..., :5]})
