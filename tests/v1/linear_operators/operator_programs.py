"""Linear operators by name, made from arrays by the functions of `tf`, which is tfnb or TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["OPERATORS", "complex_array", "floats"]


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Random numbers in [0.4, 1.6), the same in every run."""
    return np.random.default_rng(seed).uniform(0.4, 1.6, shape)


def complex_array(*shape: int, seed: int = 0) -> np.ndarray:
    """Random complex numbers, the same in every run."""
    return floats(*shape, seed=seed) + 1j * floats(*shape, seed=seed + 1)


def _definite(*shape: int) -> np.ndarray:
    a = floats(*shape, seed=7)
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])


_SQUARE = floats(2, 3, 3, seed=3) + 2 * np.eye(3)
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "full": lambda tf: tf.linalg.LinearOperatorFullMatrix(_SQUARE),
    "full complex": lambda tf: tf.linalg.LinearOperatorFullMatrix(complex_array(3, 3) + 3 * np.eye(3)),
    "full definite": lambda tf: tf.linalg.LinearOperatorFullMatrix(
        _definite(2, 3, 3), is_self_adjoint=True, is_positive_definite=True
    ),
    "triangle": lambda tf: tf.linalg.LinearOperatorLowerTriangular(_SQUARE),
    "diagonal": lambda tf: tf.linalg.LinearOperatorDiag(floats(2, 3), is_positive_definite=True),
    "diagonal complex": lambda tf: tf.linalg.LinearOperatorDiag(complex_array(3)),
    "identity": lambda tf: tf.linalg.LinearOperatorIdentity(3, batch_shape=[2], dtype=tf.float64),
    "scaled": lambda tf: tf.linalg.LinearOperatorScaledIdentity(3, floats(2), is_positive_definite=True),
    "householder": lambda tf: tf.linalg.LinearOperatorHouseholder(floats(2, 3)),
    "adjoint": lambda tf: tf.linalg.LinearOperatorAdjoint(tf.linalg.LinearOperatorFullMatrix(_SQUARE)),
    "inversion": lambda tf: tf.linalg.LinearOperatorInversion(
        tf.linalg.LinearOperatorFullMatrix(_SQUARE, is_non_singular=True)
    ),
    "composition": lambda tf: tf.linalg.LinearOperatorComposition(
        [tf.linalg.LinearOperatorFullMatrix(_SQUARE), tf.linalg.LinearOperatorDiag(floats(3))]
    ),
    "blocks": lambda tf: tf.linalg.LinearOperatorBlockDiag(
        [tf.linalg.LinearOperatorFullMatrix(_SQUARE[:, :2, :2]), tf.linalg.LinearOperatorDiag(floats(1))]
    ),
    "kronecker": lambda tf: tf.linalg.LinearOperatorKronecker(
        [tf.linalg.LinearOperatorFullMatrix(_SQUARE[:, :1, :1]), tf.linalg.LinearOperatorFullMatrix(_SQUARE)]
    ),
    "update": lambda tf: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorDiag(floats(2, 3), is_positive_definite=True), floats(2, 3, 1), floats(2, 1)
    ),
    "update of both sides": lambda tf: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorDiag(floats(2, 3), is_positive_definite=True),
        floats(2, 3, 2),
        v=floats(2, 3, 2, seed=5),
    ),
    "circulant": lambda tf: tf.linalg.LinearOperatorCirculant(complex_array(2, 3), tf.complex128),
    "circulant 2D": lambda tf: tf.linalg.LinearOperatorCirculant2D(complex_array(1, 3), tf.complex128),
    "circulant 3D": lambda tf: tf.linalg.LinearOperatorCirculant3D(complex_array(1, 3, 1), tf.complex128),
    "toeplitz": lambda tf: tf.linalg.LinearOperatorToeplitz(floats(2, 3) + [3, 0, 0], floats(2, 3) + [3, 0, 0]),
}
