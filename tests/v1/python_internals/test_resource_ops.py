"""`tf.raw_ops` on resource variables: a handle is the variable, and the update rules do what their formulas say."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

raw = tf.raw_ops
pytestmark = pytest.mark.opencl
F = np.float32
GRAD, START = F([[0.5, -1.0], [2.0, 0.25]]), F([[1.0, -2.0], [0.5, 3.0]])
SLOTS = F([[0.1, 0.2], [0.3, 0.4]])


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def variable(sess, value):
    handle = raw.VarHandleOp(dtype=tf.float32, shape=np.shape(value))
    sess.run(raw.AssignVariableOp(resource=handle, value=value))
    return handle


def value_of(sess, handle):
    return sess.run(raw.ReadVariableOp(resource=handle, dtype=tf.float32))


def test_a_variable_is_assigned_and_read(sess):
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[2])
    known = raw.VarIsInitializedOp(resource=handle)
    assert not sess.run(known)
    assigned = raw.AssignVariableOp(resource=handle, value=F([1, 2]))
    assert isinstance(assigned, tf.Operation)
    sess.run(assigned)
    assert sess.run(known)
    sess.run(raw.AssignAddVariableOp(resource=handle, value=F([1, 1])))
    sess.run(raw.AssignSubVariableOp(resource=handle, value=F([0, 5])))
    assert value_of(sess, handle).tolist() == [2, -2]
    assert sess.run(raw.VariableShape(input=handle)).tolist() == [2]


def test_a_read_is_differentiable(sess):
    handle = variable(sess, START)
    x = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
    assert sess.run(tf.gradients(x * x, handle)[0]).tolist() == (2 * START).tolist()


def test_rows_are_gathered_and_changed(sess):
    handle = variable(sess, F([[1, 2], [3, 4], [5, 6]]))
    rows = raw.ResourceGather(resource=handle, indices=[2, 0], dtype=tf.float32)
    parts = raw.ResourceGather(resource=handle, indices=[[1], [0], [1]], dtype=tf.float32, batch_dims=1)
    one = raw.ResourceGatherNd(resource=handle, indices=[[1, 1]], dtype=tf.float32)
    assert [x.tolist() for x in sess.run([rows, parts, one])] == [[[5, 6], [1, 2]], [[2], [3], [6]], [4]]
    sess.run(raw.ResourceScatterAdd(resource=handle, indices=[0], updates=F([[10, 10]])))
    sess.run(raw.ResourceScatterNdUpdate(ref=handle, indices=[[2, 1]], updates=F([0])))
    sess.run(raw.ResourceStridedSliceAssign(ref=handle, begin=[1], end=[2], strides=[1], value=F([[7, 7]])))
    assert value_of(sess, handle).tolist() == [[11, 12], [7, 7], [5, 0]]


def test_another_dtype_is_refused(sess):
    handle = variable(sess, F([1]))
    with pytest.raises(tf.errors.DTypeError, match="float32, needed int32"):
        raw.ReadVariableOp(resource=handle, dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="missing"):
        raw.ReadVariableOp(resource=handle)


def ada_max(var, m, v, grad):
    m, v = m * 0.9 + grad * 0.1, np.maximum(v * 0.8, abs(grad))
    return var - 0.1 / (1 - 0.9) * m / (v + 1e-3), m, v


def amsgrad(var, m, v, vhat, grad):
    m, v = m * 0.9 + grad * 0.1, v * 0.8 + grad**2 * 0.2
    vhat = np.maximum(vhat, v)
    return var - 0.1 * np.sqrt(1 - 0.8) / (1 - 0.9) * m / (np.sqrt(vhat) + 1e-3), m, v, vhat


def adagrad_v2(var, accum, grad):
    accum = accum + grad**2
    return var - 0.1 * grad / (np.sqrt(accum) + 1e-3), accum


def adagrad_da(var, sums, squares, grad):
    sums, squares = sums + grad, squares + grad**2
    pulled = np.maximum(abs(sums) - 0.01 * 3, 0) * np.sign(sums)
    return -0.1 * pulled / (np.sqrt(squares) + 0.02 * 3 * 0.1), sums, squares


def add_sign(var, m, grad):
    m = m * 0.7 + grad * 0.3
    return var - 0.1 * (1.5 + 0.6 * np.sign(grad) * np.sign(m)) * grad, m


def power_sign(var, m, grad):
    m = m * 0.7 + grad * 0.3
    return var - 0.1 * np.exp(1.5 * 0.6 * np.sign(grad) * np.sign(m)) * grad, m


def keras_momentum(var, accum, grad):
    accum = accum * 0.9 - 0.1 * grad
    return var + accum, accum


def ftrl_v2(var, accum, linear, grad):
    squares = accum + grad**2
    linear = linear + grad + 2 * 0.05 * var - (np.sqrt(squares) - np.sqrt(accum)) / 0.1 * var
    pull = np.clip(linear, -0.01, 0.01) - linear
    return np.where(abs(linear) > 0.01, pull / (np.sqrt(squares) / 0.1 + 2 * 0.02), 0), squares, linear


ADAM = {"beta1": 0.9, "beta2": 0.8, "epsilon": 1e-3, "lr": 0.1}
# rule -> (formula, names of slots, hyperparameters)
RULES = {
    "AdaMax": (ada_max, "m v", {**ADAM, "beta1_power": 0.9}),
    "AdamWithAmsgrad": (amsgrad, "m v vhat", {**ADAM, "beta1_power": 0.9, "beta2_power": 0.8}),
    "AdagradV2": (adagrad_v2, "accum", {"lr": 0.1, "epsilon": 1e-3}),
    "AdagradDA": (
        adagrad_da,
        "gradient_accumulator gradient_squared_accumulator",
        {"lr": 0.1, "l1": 0.01, "l2": 0.02, "global_step": 3},
    ),
    "AddSign": (add_sign, "m", {"lr": 0.1, "alpha": 1.5, "sign_decay": 0.6, "beta": 0.7}),
    "PowerSign": (power_sign, "m", {"lr": 0.1, "logbase": 1.5, "sign_decay": 0.6, "beta": 0.7}),
    "KerasMomentum": (keras_momentum, "accum", {"lr": 0.1, "momentum": 0.9}),
    "FtrlV2": (
        ftrl_v2,
        "accum linear",
        {"lr": 0.1, "l1": 0.01, "l2": 0.02, "l2_shrinkage": 0.05, "lr_power": -0.5},
    ),
}
SPARSE = ("AdagradV2", "AdagradDA", "KerasMomentum", "FtrlV2")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rows", ["all", "some"])
def test_an_update_rule(sess, rule, rows):
    formula, names, hyper = RULES[rule]
    var = variable(sess, START)
    with tf.colocate_with(var):
        slots = {name: variable(sess, SLOTS * (i + 1)) for i, name in enumerate(names.split())}
    before = [START, *(SLOTS * (i + 1) for i in range(len(slots)))]
    if rows == "all":
        sess.run(getattr(raw, f"ResourceApply{rule}")(var=var, grad=GRAD, **slots, **hyper))
        expected = formula(*before, GRAD)
    elif rule in SPARSE:
        some = {"indices": np.int64([1]), "grad": GRAD[:1]}
        sess.run(getattr(raw, f"ResourceSparseApply{rule}")(var=var, **some, **slots, **hyper))
        changed = formula(*(x[1:] for x in before), GRAD[:1])
        expected = [np.concatenate([x[:1], y]) for x, y in zip(before, changed, strict=True)]
    else:
        pytest.skip("TensorFlow has no such operation")
    for handle, right in zip([var, *slots.values()], expected, strict=True):
        np.testing.assert_allclose(value_of(sess, handle), right, rtol=1e-5, atol=1e-6)
