"""tf.contrib.distributions.bijectors: inverses undo, and log determinants are those of numerical Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

bj = tf.contrib.distributions.bijectors
X = np.float64([0.3, 0.6, 0.9])
TRIL = np.float64([[1.2, 0.0], [0.5, 0.9]])
FACTOR = np.float64([[1.0], [0.5]])

SCALAR = {
    "AffineScalar": lambda: bj.AffineScalar(np.float64(2), np.float64(-3)),
    "Exp": bj.Exp,
    "PowerTransform": lambda: bj.PowerTransform(0.5),
    "Sigmoid": bj.Sigmoid,
    "Softplus": lambda: bj.Softplus(np.float64(2)),
    "Softsign": bj.Softsign,
    "Square": bj.Square,
    "Gumbel": lambda: bj.Gumbel(np.float64(0.3), np.float64(2)),
    "Kumaraswamy": lambda: bj.Kumaraswamy(np.float64(2), np.float64(3)),
    "SinhArcsinh": lambda: bj.SinhArcsinh(np.float64(0.5), np.float64(1.5)),
    "Chain": lambda: bj.Chain([bj.AffineScalar(np.float64(1), np.float64(2)), bj.Exp()]),
    "Invert": lambda: bj.Invert(bj.Exp()),
    "Inline": lambda: bj.Inline(tf.exp, tf.log, lambda y: -tf.log(y), lambda x: x),
}
VECTOR = {
    "Affine": lambda: bj.Affine(X[:2], scale_tril=TRIL, scale_diag=X[1:]),
    "LowRank": lambda: bj.Affine(scale_diag=X[1:], scale_perturb_factor=FACTOR),
    "Multiple": lambda: bj.Affine(X[:2], scale_identity_multiplier=np.float64(2)),
    "Permute": lambda: bj.Permute([1, 0]),
    "Ordered": bj.Ordered,
    "RealNVP": lambda: bj.RealNVP(1, bj.real_nvp_default_template([3])),
    "MaskedAutoregressiveFlow": lambda: bj.MaskedAutoregressiveFlow(bj.masked_autoregressive_default_template([4])),
    "Unrolled": lambda: bj.MaskedAutoregressiveFlow(bj.masked_autoregressive_default_template([4]), unroll_loop=True),
}


@pytest.mark.parametrize("name", SCALAR)
def test_numbers(name):
    bijector = SCALAR[name]()
    x = tf.constant(X)
    y = bijector.forward(x)
    fetches = [
        SCALAR[name]().inverse(tf.identity(y)),
        bijector.forward_log_det_jacobian(x, 0) + tf.zeros_like(x),
        SCALAR[name]().inverse_log_det_jacobian(tf.identity(y), 0) + tf.zeros_like(x),
        tf.gradients(y, x)[0],
        bijector.forward_log_det_jacobian(x, 1),
    ]
    assert bijector.inverse(y) is x
    with tf.Session() as session:
        back, forward, inverse, slope, total = session.run(fetches)
    np.testing.assert_allclose(back, X, rtol=1e-6)
    np.testing.assert_allclose(forward, np.log(np.abs(slope)), rtol=1e-6)
    np.testing.assert_allclose(inverse, -forward, rtol=1e-6)
    np.testing.assert_allclose(total, forward.sum(), rtol=1e-6)


@pytest.mark.parametrize("name", VECTOR)
def test_vectors(name):
    kind = np.float32 if name in ("RealNVP", "MaskedAutoregressiveFlow", "Unrolled") else np.float64
    x = tf.constant(kind([[-0.4, 0.8]]))
    bijector = VECTOR[name]()
    y = bijector.forward(x)
    rows = [tf.gradients(y[0, i], x)[0][0] for i in range(2)] if name != "MaskedAutoregressiveFlow" else [x[0], x[0]]
    unknown = tf.identity(y)
    fetches = [bijector.inverse(unknown), bijector.inverse_log_det_jacobian(unknown, 1), tf.stack(rows)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        back, inverse, jacobian = session.run(fetches)
    np.testing.assert_allclose(back, [[-0.4, 0.8]], rtol=1e-4)
    if name != "MaskedAutoregressiveFlow":
        np.testing.assert_allclose(inverse, -np.linalg.slogdet(jacobian)[1], rtol=1e-4, atol=1e-6)


def test_matrices_and_shapes():
    scale = bj.ScaleTriL(diag_shift=np.float64(1e-5))
    x = tf.constant(np.arange(6.0).reshape(1, 6) / 3)
    matrix = scale.forward(x)
    product = bj.CholeskyOuterProduct()
    centred, reshaped = bj.SoftmaxCentered(), bj.Reshape([3, -1], [6])
    probabilities = centred.forward(np.float64([[0.3, -0.7]]))
    fetches = [
        scale.inverse(tf.identity(matrix)),
        product.inverse(tf.identity(product.forward(matrix))),
        matrix,
        product.forward_log_det_jacobian(TRIL, 2),
        probabilities,
        bj.MatrixInverseTriL().forward(TRIL),
    ]
    assert reshaped.forward_event_shape([2, 6]).as_list() == [2, 3, 2]
    assert centred.forward_event_shape([4]).as_list() == [5] and scale.forward_event_shape([6]).as_list() == [3, 3]
    with tf.Session() as session:
        back, root, triangle, log_det, p, inverse = session.run(fetches)
    np.testing.assert_allclose(back, [np.arange(6) / 3], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(root, triangle, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(log_det, 2 * np.log(2) + 2 * np.log(1.2) + np.log(0.9))
    np.testing.assert_allclose(p, np.exp([[0.3, -0.7, 0]]) / np.exp([0.3, -0.7, 0]).sum())
    np.testing.assert_allclose(inverse, np.linalg.inv(TRIL))


def test_a_batch_normalisation_and_an_absolute_value():
    norm = bj.BatchNormalization()
    x = tf.constant(np.random.RandomState(0).randn(50, 2).astype("f") * 3 + 1)
    y = norm.inverse(x)
    low, high = bj.AbsoluteValue().inverse(tf.constant(2.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, log_det = session.run([y, norm.inverse_log_det_jacobian(x, 1)])
        assert session.run([low, high]) == [-2.0, 2.0]
    np.testing.assert_allclose(got.std(0), 1, rtol=1e-3)
    np.testing.assert_allclose(log_det, -2 * np.log(3), rtol=0.2)
    with pytest.raises(errors.InvalidArgumentError, match="event_ndims"):
        bj.Ordered().forward_log_det_jacobian(tf.zeros([3]), 0)


class _LeakyReLU(bj.Bijector):
    """A bijector as programs for TensorFlow up to 1.5 write them: its log Jacobian is summed over `event_ndims`."""

    def __init__(self, alpha, event_ndims):
        super().__init__(event_ndims=event_ndims, validate_args=False, name="leaky_relu")
        self.alpha = alpha

    def _forward(self, x):
        return tf.where(tf.greater_equal(x, 0), x, self.alpha * x)

    def _inverse(self, y):
        return tf.where(tf.greater_equal(y, 0), y, y / self.alpha)

    def _inverse_log_det_jacobian(self, y):
        slope = tf.where(tf.greater_equal(y, 0), tf.ones_like(y), tf.ones_like(y) / self.alpha)
        return tf.reduce_sum(tf.log(tf.abs(slope)), axis=self._event_dims_tensor(y))


def test_a_flow_of_the_time_of_event_ndims():
    y = np.float32([[0.5, -1.0], [-0.2, -0.4], [1.0, 2.0]])
    tril = np.float32([[1.5, 0.0], [0.3, 0.5]])
    flow = bj.Chain([bj.Affine(scale_tril=tril, event_ndims=1), _LeakyReLU(0.5, 1), bj.Exp(event_ndims=1)])
    inner = _LeakyReLU(0.5, 1)
    normal = tf.contrib.distributions.MultivariateNormalDiag(tf.zeros([2]))
    made = tf.contrib.distributions.TransformedDistribution(normal, bj.Chain([bj.Affine(scale_tril=tril), inner]))
    x = np.float32([[0.5, 1.0], [0.2, 0.4], [1.0, 2.0]])
    with tf.Session() as session:
        ildj, fldj, exp, mixed, log_prob = session.run(
            [
                inner.inverse_log_det_jacobian(y),
                inner.forward_log_det_jacobian(y),
                bj.Exp(event_ndims=1).inverse_log_det_jacobian(x),
                flow.forward_log_det_jacobian(x),
                made.log_prob(y),
            ]
        )
    np.testing.assert_allclose(ildj, np.log(2) * (y < 0).sum(1), rtol=1e-6)
    np.testing.assert_allclose(fldj, -np.log(2) * (y < 0).sum(1), rtol=1e-6)
    np.testing.assert_allclose(exp, -np.log(x).sum(1), rtol=1e-6)
    np.testing.assert_allclose(mixed, x.sum(1) + np.log(0.75), rtol=1e-5)
    before = np.linalg.solve(tril, y.T).T
    z = np.where(before < 0, 2 * before, before)
    expected = -0.5 * (z**2).sum(1) - np.log(2 * np.pi) + np.log(2) * (before < 0).sum(1) - np.log(0.75)
    np.testing.assert_allclose(log_prob, expected, rtol=1e-5)


def test_event_ndims_is_one_of_two_names():
    with pytest.raises(errors.InvalidArgumentError, match="older name of forward_min_event_ndims=1"):
        bj.Bijector(event_ndims=1, forward_min_event_ndims=1)
    assert bj.SoftmaxCentered(event_ndims=1).event_ndims == 1 and bj.CholeskyOuterProduct(event_ndims=2)
    for bijector in (bj.Affine, bj.SoftmaxCentered, bj.CholeskyOuterProduct):
        with pytest.raises(errors.UnimplementedError, match=r"event_ndims=0; events have rank \d here"):
            bijector(event_ndims=0)
