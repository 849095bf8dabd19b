"""What programs use of optimizers beside their public names, in classes of their own and to initialize them."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

MADE = {
    "Adam": (
        lambda: tf.train.AdamOptimizer(0.25, 0.5, 0.75, 1e-3),
        "_t",
        {"_lr": 0.25, "_beta1": 0.5, "_epsilon": 1e-3},
    ),
    "Adadelta": (lambda: tf.train.AdadeltaOptimizer(0.25, 0.5), "_t", {"_lr": 0.25, "_rho": 0.5}),
    "SGD": (lambda: tf.train.GradientDescentOptimizer(0.25), "_tensor", {"_learning_rate": 0.25}),
    "Momentum": (lambda: tf.train.MomentumOptimizer(0.25, 0.5), "_tensor", {"_learning_rate": 0.25, "_momentum": 0.5}),
    "RMSProp": (lambda: tf.train.RMSPropOptimizer(0.25, 0.5), "_tensor", {"_learning_rate": 0.25, "_decay": 0.5}),
    "FTRL": (
        lambda: tf.train.FtrlOptimizer(0.25, l1_regularization_strength=0.5),
        "_tensor",
        {"_learning_rate": 0.25, "_l1_regularization_strength": 0.5, "_learning_rate_power": -0.5},
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_hyper_parameters_under_their_names(kind):
    make, tensors, expected = MADE[kind]
    optimizer = make()
    assert {name: getattr(optimizer, name) for name in expected} == expected
    assert all(getattr(optimizer, f"{name}{tensors}") is None for name in expected)
    v = tf.Variable([1.0])
    optimizer.minimize(tf.reduce_sum(v * v))
    with tf.Session() as session:
        made = session.run([getattr(optimizer, f"{name}{tensors}") for name in expected])
    np.testing.assert_allclose(made, list(expected.values()))


def test_a_learning_rate_that_is_changed_before_the_step_is_made():
    v = tf.Variable([1.0])
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    optimizer._learning_rate = 0.5
    step = optimizer.minimize(tf.reduce_sum(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [0.5]


def test_the_variables_of_an_optimizer_initialize_it():
    """As in programs that restore a model and train it further with a new optimizer."""
    v = tf.Variable([1.0, 2.0])
    optimizer = tf.train.AdamOptimizer(0.5)
    step = optimizer.minimize(tf.reduce_sum(v))
    names = ["Variable/Adam:0", "Variable/Adam_1:0", "beta1_power:0", "beta2_power:0"]
    assert [x.name for x in optimizer.variables()] == names
    assert [x.op.name for x in optimizer._get_beta_accumulators()] == ["beta1_power", "beta2_power"]
    with tf.Session() as session:
        session.run([v.initializer, tf.variables_initializer(optimizer.variables())])
        session.run(step)
        np.testing.assert_allclose(session.run(v), [0.5, 1.5], rtol=1e-6)


class Lazy(tf.train.AdamOptimizer):
    """A class as those of programs: Adam that leaves rows without a gradient alone."""

    def _apply_sparse(self, grad, var):
        power1, power2 = (tf.cast(p, var.dtype.base_dtype) for p in self._get_beta_accumulators())
        rate, beta1, beta2, epsilon = (
            tf.cast(t, var.dtype.base_dtype) for t in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = tf.scatter_update(m, grad.indices, beta1 * tf.gather(m, grad.indices) + (1 - beta1) * grad.values)
        new_v = tf.scatter_update(
            v, grad.indices, beta2 * tf.gather(v, grad.indices) + (1 - beta2) * tf.square(grad.values)
        )
        steps = rate * tf.sqrt(1 - power2) / (1 - power1) * tf.gather(new_m, grad.indices)
        steps /= tf.sqrt(tf.gather(new_v, grad.indices)) + epsilon
        return tf.group(tf.scatter_sub(var, grad.indices, steps), new_m, new_v)


def test_a_programs_class_of_adam():
    found = []
    for kind in (Lazy, tf.contrib.opt.LazyAdamOptimizer):
        with tf.Graph().as_default():
            rows = tf.Variable(np.arange(8.0, dtype=np.float32).reshape(4, 2))
            step = kind(0.1).minimize(tf.reduce_sum(tf.square(tf.gather(rows, [1, 3, 1]))))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for _ in range(3):
                    session.run(step)
                found.append(session.run(rows))
    np.testing.assert_allclose(*found, rtol=1e-6)
    assert found[0][0].tolist() == [0, 1] and found[0][1, 0] < 2


def test_the_part_that_dense_and_sparse_forms_share():
    """A class that changes what is done with rows defines `_apply_sparse_shared` alone."""

    class Signs(tf.train.AdamOptimizer):
        def _apply_sparse_shared(self, grad, var, indices, scatter_add):
            return tf.group(scatter_add(var, indices, -tf.cast(self._lr_t, var.dtype.base_dtype) * tf.sign(grad)))

    rows = tf.Variable([[1.0], [2.0], [3.0]])
    step = Signs(0.5).minimize(tf.reduce_sum(tf.square(tf.gather(rows, [2, 0]))))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(rows).tolist() == [[0.5], [2], [2.5]]


def test_a_programs_optimizer_with_a_variable_of_its_own():
    class Halving(tf.train.Optimizer):
        def __init__(self, rate):
            super().__init__(False, "Halving")
            self._rate = rate

        def _create_slots(self, var_list):
            first = min(var_list, key=lambda x: x.name)
            self._create_non_slot_variable(initial_value=self._rate, name="rate", colocate_with=first)
            for v in var_list:
                start = tf.constant_initializer(2.0)
                self._get_or_make_slot_with_initializer(v, start, v.shape, v.dtype, "scale", self._name)

        def _prepare(self):
            self._least = tf.convert_to_tensor(self._call_if_callable(lambda: 0.25))

        def _apply_dense(self, grad, var):
            rate = tf.maximum(self._get_non_slot_variable("rate", tf.get_default_graph()), self._least)
            return tf.assign_sub(var, rate * self.get_slot(var, "scale") * grad).op

        def _finish(self, update_ops, name_scope):
            rate = self._get_non_slot_variable("rate", tf.get_default_graph())
            with tf.control_dependencies(update_ops):
                return tf.group(rate.assign(rate / 2), name=name_scope)

    v = tf.Variable([8.0])
    optimizer = Halving(1.0)
    step = optimizer.minimize(tf.reduce_sum(v))
    assert [x.op.name for x in optimizer.variables()] == ["Variable/Halving", "rate"]
    assert list(optimizer._non_slot_variables()) == [optimizer._get_non_slot_variable("rate", v.graph)]
    optimizer._assert_valid_dtypes([v])
    with pytest.raises(InvalidArgumentError, match=r"Invalid type tf\.int32 for "):
        optimizer._assert_valid_dtypes([tf.constant(1)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(4):
            session.run(step)
            found.append(session.run(v)[0])
    assert found == [6, 5, 4.5, 4]
