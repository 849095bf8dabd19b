"""Takes steps with each optimizer of Keras, under TensorFlow 1.15 or under tfnb, and prints the values as JSON.

    python3.7 tests/v1/keras/optimizer_steps.py > tests/v1/keras/optimizer_steps.json

writes what `test_optimizer_steps.py` compares with. It has the syntax of Python 3.7. Invariant: gradients, rows and
beginnings are the same numbers in every run.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

__all__ = ["CASES", "Custom", "taken"]

STEPS = 4
ROWS = [[2, 0, 2], [1, 2, 1], [3, 3, 0], [2, 1, 0]]  # those of a sparse gradient in each step; some occur twice


def _case(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return name, arguments


CASES = {
    "sgd": _case("SGD", learning_rate=0.1),
    "sgd decay": _case("SGD", lr=0.1, decay=0.5),
    "sgd momentum": _case("SGD", learning_rate=0.1, momentum=0.9),
    "sgd nesterov": _case("SGD", learning_rate=0.1, momentum=0.9, nesterov=True),
    "rmsprop": _case("RMSprop", learning_rate=0.1),
    "rmsprop centered": _case("RMSprop", learning_rate=0.1, centered=True, epsilon=0.01),
    "rmsprop momentum": _case("RMSprop", learning_rate=0.1, momentum=0.5, rho=0.8),
    "rmsprop both": _case("RMSprop", learning_rate=0.1, momentum=0.5, centered=True, epsilon=0.01),
    "adagrad": _case("Adagrad", learning_rate=0.1, initial_accumulator_value=0.2),
    "adadelta": _case("Adadelta", learning_rate=1.0, rho=0.9),
    "adam": _case("Adam", learning_rate=0.1),
    "adam amsgrad": _case("Adam", learning_rate=0.1, amsgrad=True, decay=0.1),
    "adamax": _case("Adamax", learning_rate=0.1, beta_1=0.8),
    "nadam": _case("Nadam", learning_rate=0.1),
    "ftrl": _case("Ftrl", learning_rate=0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.1),
    "ftrl shrinkage": _case("Ftrl", learning_rate=0.1, l2_shrinkage_regularization_strength=0.2),
    "ftrl power": _case("Ftrl", learning_rate=0.1, learning_rate_power=-0.7, l1_regularization_strength=0.01),
}


def Custom(tf: Any) -> Any:
    """Returns an optimizer as users of the time wrote them, on the methods that subclasses define."""

    class Halves(tf.keras.optimizers.Optimizer):
        def __init__(self, learning_rate: float = 0.1, name: str = "Halves", **kwargs: Any) -> None:
            super().__init__(name, **kwargs)
            self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
            self._set_hyper("decay", self._initial_decay)

        def _create_slots(self, var_list: Any) -> None:
            for var in var_list:
                self.add_slot(var, "last")

        def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
            rate = self._decayed_lr(var.dtype.base_dtype)
            last = self.get_slot(var, "last")
            with tf.control_dependencies([tf.assign_sub(var, rate * (grad + 0.5 * last))]):
                return tf.assign(last, grad)

        def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
            return tf.scatter_sub(var, indices, self._get_hyper("learning_rate", var.dtype.base_dtype) * grad)

        def get_config(self) -> Any:
            config = super().get_config()
            config["learning_rate"] = self._serialize_hyperparameter("learning_rate")
            return config

    return Halves


def taken(tf: Any, optimizer: Any, sparse: bool) -> dict[str, Any]:
    """Returns the variable after each step, and the optimizer's weights after the last one, with their names."""
    random = np.random.RandomState(7)
    start = random.uniform(-1, 1, [4, 3]).astype(np.float32)
    gradients = random.uniform(-2, 2, [STEPS, 3 if sparse else 4, 3]).astype(np.float32)
    variable = tf.Variable(start, name="w")
    fed = tf.placeholder(tf.float32, gradients.shape[1:])
    rows = tf.placeholder(tf.int32, [None])
    gradient = tf.IndexedSlices(fed, rows, tf.constant([4, 3])) if sparse else fed
    step = optimizer.apply_gradients([(gradient, variable)])
    values = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for k in range(STEPS):
            session.run(step, {fed: gradients[k], rows: ROWS[k]})
            values.append(session.run(variable).tolist())
        weights = session.run(optimizer.weights)
    names = [w.name for w in optimizer.weights]
    return {"values": values, "weights": {n: np.asarray(w).tolist() for n, w in zip(names, weights)}}  # noqa: B905


def main() -> None:
    """Prints the values of all cases under the TensorFlow of this Python."""
    import tensorflow as tf

    tf.enable_resource_variables()
    found: dict[str, Any] = {"tensorflow": tf.__version__}
    for case, (name, arguments) in CASES.items():
        for sparse in (False, True):
            with tf.Graph().as_default():
                made = getattr(tf.keras.optimizers, name)(**arguments)
                found[case + (" rows" if sparse else "")] = taken(tf, made, sparse)
    for sparse in (False, True):
        with tf.Graph().as_default():
            found["custom rows" if sparse else "custom"] = taken(tf, Custom(tf)(), sparse)
    lines = (f"{json.dumps(case)}: {json.dumps(value)}" for case, value in found.items())
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
