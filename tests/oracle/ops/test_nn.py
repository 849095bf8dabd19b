"""Functions of tf.nn against real TensorFlow: losses, normalisation, moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pairs import compare

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SHAPES = [(3, 4), (1, 1), (5,), (2, 3, 4), (0, 3)]


def normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def probabilities(*shape: int) -> Any:
    x = np.random.default_rng(7).random(shape) + 0.1
    return x / x.sum(-1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "relu", "elu", "selu", "softplus", "relu6", "crelu"])
def test_activations(name: str, shape: tuple[int, ...]) -> None:
    compare(lambda tf, x: getattr(tf.nn, name)(x), normal(*shape))


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_softmax_over_any_axis(axis: int) -> None:
    compare(lambda tf, x: tf.nn.softmax(x, axis), normal(2, 3, 4))
    compare(lambda tf, x: tf.nn.log_softmax(x, axis), normal(2, 3, 4))


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (17, 10), (0, 3), (2, 3, 4)])
def test_softmax_cross_entropy(shape: tuple[int, ...]) -> None:
    def loss(tf: Any, x: Any, z: Any) -> Any:
        return tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=z)

    def loss_v2(tf: Any, x: Any, z: Any) -> Any:
        return tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=z)

    compare(loss, normal(*shape), probabilities(*shape))
    compare(loss_v2, normal(*shape), probabilities(*shape), order=1)


def test_softmax_cross_entropy_over_an_axis_and_by_position() -> None:
    def over(tf: Any, x: Any, z: Any) -> Any:
        return tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=z, axis=1)

    compare(over, normal(2, 3, 4), probabilities(2, 4, 3).swapaxes(1, 2), order=1)
    compare(
        lambda tf, x, z: tf.nn.softmax_cross_entropy_with_logits(x, z),
        normal(3, 4),
        probabilities(3, 4),
        theirs=lambda tf, x, z: tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=z),
    )


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_softmax_cross_entropy(shape: tuple[int, ...], dtype: str) -> None:
    labels = np.random.default_rng(3).integers(0, shape[-1], shape[:-1]).astype(dtype)

    def loss(tf: Any, x: Any, z: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=z)

    compare(loss, normal(*shape), labels)


@pytest.mark.parametrize("shape", SHAPES)
def test_logistic_losses(shape: tuple[int, ...]) -> None:
    z = np.random.default_rng(5).random(shape)
    compare(
        lambda tf, x, z: tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=z),
        normal(*shape) * 5,
        z,
    )
    compare(lambda tf, x, z: tf.nn.weighted_cross_entropy_with_logits(z, x, 1.7), normal(*shape), z)
    compare(lambda tf, x, z: tf.nn.log_poisson_loss(z, x, True), normal(*shape) / 2, z * 5, rtol=2e-4)


@pytest.mark.parametrize("axes", [[0], [0, 1], [-1], [0, 1, 2]])
@pytest.mark.parametrize("keep", [False, True])
def test_moments(axes: list[int], keep: bool) -> None:
    compare(lambda tf, x: tf.nn.moments(x, axes, keep_dims=keep), normal(3, 4, 5))


def test_batch_normalization() -> None:
    inputs = normal(3, 4), normal(4), np.full(4, 0.7), normal(4), normal(4)
    compare(lambda tf, x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 1e-3), *inputs, rtol=2e-4)
    compare(
        lambda tf, x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
        *inputs[:3],
        rtol=2e-4,
    )


def test_affine_layers() -> None:
    parts = normal(2, 3), normal(3, 4), normal(4)
    compare(lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b), *parts, rtol=1e-4)
    compare(lambda tf, x, w, b: tf.nn.relu_layer(x, w, b), *parts, rtol=1e-4)
    compare(lambda tf, x, b: tf.nn.bias_add(x, b), normal(2, 3, 4, 5), normal(5))
    compare(lambda tf, x, b: tf.nn.bias_add(x, b, "NCHW"), normal(2, 3, 4, 5), normal(3), order=1)


def test_small_functions() -> None:
    compare(lambda tf, x: tf.nn.l2_normalize(x, 0), normal(3, 4), rtol=1e-4)
    compare(lambda tf, x: tf.nn.l2_normalize(x, [0, 1]), normal(3, 4), rtol=1e-4)
    compare(lambda tf, x: tf.nn.zero_fraction(tf.nn.relu(x)), normal(7, 4), order=0, rtol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_norm(training: bool) -> None:
    """In float32, which is all TensorFlow's kernel takes; ours in float64 is as near."""

    # TensorFlow gives the moments of the inference form no gradient
    given = {} if training else {"mean": np.float32([0.1, -0.2, 0]), "variance": np.float32([1, 0.7, 2])}

    def single(tf: Any, *parts: Any) -> Any:
        parts32 = (tf.cast(p, "float32") for p in parts)
        found = tf.nn.fused_batch_norm(*parts32, epsilon=0.01, is_training=training, **given)
        return tf.cast(found[0], parts[0].dtype)

    vectors = np.array([1.0, 0.5, 2.0]), normal(3)
    images = normal(2, 3, 4, 3)
    compare(single, images, *vectors, order=1, rtol=1e-4, wide=1e-4)
    compare(
        lambda tf, x: tf.nn.fused_batch_norm(tf.cast(x, "float32"), vectors[0].astype("f"), vectors[1].astype("f"))[1:],
        images,
        order=0,
        rtol=1e-4,
        wide=1e-4,
    )
