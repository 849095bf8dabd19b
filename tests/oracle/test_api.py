"""The public functions and operators against tf.compat.v1: the same expression built in both, values and dtypes
compared.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from evaluate import evaluate

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

X = np.random.default_rng(1).uniform(-2, 2, (3, 4)).astype(np.float32)
Y = np.random.default_rng(2).uniform(0.5, 2, (3, 4)).astype(np.float32)
Z = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4)).astype(np.float32)
I = np.array([[7, -7, 5, 0], [1, 2, -3, 4], [9, 8, -8, 6]], np.int32)  # noqa: E741
B = np.array([[True, False, True, True]] * 2 + [[False] * 4])

# name -> expression of (tf, x float (3, 4), y positive float (3, 4), z float (2, 3, 4), i int (3, 4), b bool (3, 4))
EXPRESSIONS = {
    "add": lambda tf, x, y, z, i, b: x + 1,
    "radd": lambda tf, x, y, z, i, b: 2.5 + x,
    "sub": lambda tf, x, y, z, i, b: 1 - x - y,
    "mul_numpy": lambda tf, x, y, z, i, b: x * np.array([1.0, 2.0, 3.0, 4.0]),
    "rmul_numpy": lambda tf, x, y, z, i, b: np.array([1.0, 2.0, 3.0, 4.0], np.float32) * x,
    "truediv": lambda tf, x, y, z, i, b: x / y,
    "truediv_int": lambda tf, x, y, z, i, b: i / 2,
    "truediv_byte": lambda tf, x, y, z, i, b: tf.cast(i, tf.int8) / tf.cast(3, tf.int8),
    "floordiv_int": lambda tf, x, y, z, i, b: i // 2,
    "floordiv_float": lambda tf, x, y, z, i, b: x // 0.5,
    "mod_int": lambda tf, x, y, z, i, b: i % 3,
    "mod_float": lambda tf, x, y, z, i, b: x % 0.75,
    "rmod": lambda tf, x, y, z, i, b: 7 % (i * i + 1),
    "pow": lambda tf, x, y, z, i, b: x**2 + 2**y,
    "neg_abs": lambda tf, x, y, z, i, b: -abs(x),
    "compare": lambda tf, x, y, z, i, b: [x < y, x <= 0.5, i > 3, i >= 4],
    "logic": lambda tf, x, y, z, i, b: [b & (x > 0), b | (x > 0), b ^ (x > 0), ~b],
    "matmul_operator": lambda tf, x, y, z, i, b: x @ tf.transpose(y),
    "div": lambda tf, x, y, z, i, b: [tf.div(i, 2), tf.div(x, y)],
    "truediv_function": lambda tf, x, y, z, i, b: tf.truediv(i, 4),
    "floordiv_function": lambda tf, x, y, z, i, b: [tf.floordiv(i, 4), tf.floordiv(x, y)],
    "mod_functions": lambda tf, x, y, z, i, b: [
        tf.mod(i, 4),
        tf.floormod(i, -4),
        tf.truncatemod(i, 4),
    ],
    "divides": lambda tf, x, y, z, i, b: [
        tf.truncatediv(i, 4),
        tf.realdiv(x, y),
        tf.divide(x, y),
        tf.div_no_nan(x, 0.0 * x),
    ],
    "arithmetic": lambda tf, x, y, z, i, b: [
        tf.add(x, y),
        tf.subtract(x, y),
        tf.multiply(x, 2.0),
        tf.negative(x),
    ],
    "squared": lambda tf, x, y, z, i, b: [
        tf.square(i),
        tf.squared_difference(x, y),
        tf.maximum(x, 0.0),
        tf.minimum(0.5, x),
    ],
    "unary": lambda tf, x, y, z, i, b: [
        tf.exp(x),
        tf.log(y),
        tf.sqrt(y),
        tf.rsqrt(y),
        tf.sigmoid(x),
        tf.tanh(x),
        tf.sign(x),
    ],
    "rounding": lambda tf, x, y, z, i, b: [tf.floor(x), tf.ceil(x), tf.round(x), tf.rint(x)],
    "special": lambda tf, x, y, z, i, b: [
        tf.erf(x),
        tf.lgamma(y),
        tf.digamma(y),
        tf.reciprocal(y),
        tf.polygamma(2.0, y),
    ],
    "logical": lambda tf, x, y, z, i, b: [
        tf.logical_and(b, x > 0),
        tf.logical_xor(b, x > 0),
        tf.logical_not(b),
    ],
    "equal": lambda tf, x, y, z, i, b: [
        tf.equal(i, 7),
        tf.not_equal(i, 7),
        tf.less(i, 3),
        tf.greater_equal(x, y),
    ],
    "casts": lambda tf, x, y, z, i, b: [
        tf.cast(x, tf.int32),
        tf.to_float(i),
        tf.to_int64(x),
        tf.cast(b, "float64"),
        tf.to_double(x),
    ],
    "saturate": lambda tf, x, y, z, i, b: [
        tf.saturate_cast(x * 1000, tf.uint8),
        tf.saturate_cast(i * 100, tf.int8),
    ],
    "saturate_wide": lambda tf, x, y, z, i, b: tf.saturate_cast(x * 1e30, tf.int32),
    "sums": lambda tf, x, y, z, i, b: [
        tf.reduce_sum(x),
        tf.reduce_sum(z, 1),
        tf.reduce_sum(z, [0, -1]),
        tf.reduce_sum(z, axis=1, keepdims=True),
    ],
    "old_names": lambda tf, x, y, z, i, b: [
        tf.reduce_mean(z, reduction_indices=[1]),
        tf.reduce_max(z, reduction_indices=0, keep_dims=True),
    ],
    "reductions": lambda tf, x, y, z, i, b: [
        tf.reduce_prod(x, 0),
        tf.reduce_min(x),
        tf.reduce_mean(i),
        tf.reduce_all(b, 1),
        tf.reduce_any(b, 0),
    ],
    "no_axes": lambda tf, x, y, z, i, b: tf.reduce_sum(x, []),
    "logsumexp": lambda tf, x, y, z, i, b: [
        tf.reduce_logsumexp(x),
        tf.reduce_logsumexp(z * 100, 1),
        tf.reduce_logsumexp(z, [0, 2], keepdims=True),
    ],
    "count_nonzero": lambda tf, x, y, z, i, b: [
        tf.count_nonzero(i),
        tf.count_nonzero(b, 0),
        tf.count_nonzero(i, axis=1, dtype=tf.int32),
    ],
    "norm": lambda tf, x, y, z, i, b: [
        tf.norm(x),
        tf.norm(x, axis=1),
        tf.norm(x, ord=1, axis=0),
        tf.norm(x, ord=np.inf),
        tf.norm(x, 3, 1),
    ],
    "argmax": lambda tf, x, y, z, i, b: [
        tf.argmax(x, 1),
        tf.argmax(x),
        tf.argmin(z, axis=-1),
        tf.argmax(x, dimension=1),
        tf.argmax(x, 0, output_type=tf.int32),
    ],
    "l2": lambda tf, x, y, z, i, b: tf.nn.l2_loss(x),
    "cumulative": lambda tf, x, y, z, i, b: [
        tf.cumsum(x),
        tf.cumsum(x, 1, exclusive=True),
        tf.cumprod(x, axis=-1, reverse=True),
    ],
    "matmul": lambda tf, x, y, z, i, b: [
        tf.matmul(x, y, transpose_b=True),
        tf.matmul(x, y, True),
        tf.matmul(z, z, adjoint_a=True),
    ],
    "tensordot": lambda tf, x, y, z, i, b: [
        tf.tensordot(x, y, [[0], [0]]),
        tf.tensordot(z, x, [[1, 2], [0, 1]]),
        tf.tensordot(x, tf.transpose(y), 1),
    ],
    "constants": lambda tf, x, y, z, i, b: [
        tf.constant(3),
        tf.constant(2.5),
        tf.constant([1, 2], shape=[2, 2]),
        tf.constant(1, tf.float32, [2, 3]),
        tf.constant([True]),
    ],
    "constant_dtypes": lambda tf, x, y, z, i, b: [
        tf.constant(np.arange(3.0)),
        tf.constant([1.5, 2]),
        tf.constant(1 << 40),
        tf.constant([1, 2], tf.int64),
    ],
    "filled": lambda tf, x, y, z, i, b: [
        tf.zeros([2, 3]),
        tf.ones([40, 50], tf.int32),
        tf.fill([2, 2], 7),
        tf.zeros(tf.shape(x)),
        tf.zeros((), tf.bool),
    ],
    "like": lambda tf, x, y, z, i, b: [
        tf.zeros_like(x),
        tf.ones_like(i),
        tf.zeros_like(i, tf.float32),
        tf.ones_like(x, dtype=tf.bool),
    ],
    "ranges": lambda tf, x, y, z, i, b: [
        tf.range(5),
        tf.range(1, 10, 3),
        tf.range(3.0),
        tf.range(10, 0, -4),
        tf.range(0, 1, 0.25),
        tf.range(3, dtype=tf.int64),
    ],
    "linspace": lambda tf, x, y, z, i, b: [tf.linspace(0.0, 1.0, 5), tf.lin_space(1.0, 3.0, 3)],
    "shapes": lambda tf, x, y, z, i, b: [
        tf.shape(z),
        tf.size(z),
        tf.rank(z),
        tf.shape(z)[1],
        tf.shape(z, out_type=tf.int64),
        tf.size(z, out_type=tf.int64),
    ],
    "reshape": lambda tf, x, y, z, i, b: [
        tf.reshape(z, [-1]),
        tf.reshape(z, [6, -1]),
        tf.reshape(x, [tf.shape(x)[0], 2, 2]),
        tf.reshape(x[0, 0], []),
    ],
    "expand_squeeze": lambda tf, x, y, z, i, b: [
        tf.expand_dims(x, 0),
        tf.expand_dims(x, -1),
        tf.squeeze(tf.expand_dims(x, 1)),
        tf.squeeze(x[:1], [0]),
    ],
    "transpose": lambda tf, x, y, z, i, b: [
        tf.transpose(x),
        tf.transpose(z, [2, 0, 1]),
        tf.transpose(z, perm=[1, 0, 2]),
    ],
    "concat": lambda tf, x, y, z, i, b: [
        tf.concat([x, y], 0),
        tf.concat([x, y], axis=-1),
        tf.concat(values=[x, y], axis=1),
    ],
    "stack": lambda tf, x, y, z, i, b: [
        tf.stack([x, y]),
        tf.stack([x, y], axis=2),
        tf.stack([tf.shape(x)[0], 5]),
    ],
    "unstack": lambda tf, x, y, z, i, b: [*tf.unstack(x, 3), *tf.unstack(z, num=3, axis=1)],
    "split": lambda tf, x, y, z, i, b: [
        *tf.split(x, 2, 1),
        *tf.split(x, [1, 3], axis=1),
        *tf.split(value=z, num_or_size_splits=3, axis=1),
    ],
    "slice": lambda tf, x, y, z, i, b: [
        tf.slice(x, [1, 0], [2, 3]),
        tf.slice(x, [0, 1], [-1, 2]),
        tf.slice(x, [i[1, 0], 0], [1, 4]),
    ],
    "strided": lambda tf, x, y, z, i, b: [
        tf.strided_slice(x, [0, 0], [3, 4], [2, 1]),
        tf.strided_slice(x, [1], [3]),
    ],
    "getitem": lambda tf, x, y, z, i, b: [
        x[0],
        x[-1],
        x[1:],
        x[:, 1],
        x[:, ::2],
        x[::-1],
        x[0, 0],
        z[..., 1],
        z[1, ..., 2:],
        z[:, tf.newaxis],
        x[None],
    ],
    "getitem_more": lambda tf, x, y, z, i, b: [
        z[-1, 1:3, ::-2],
        z[0][1],
        z[...],
        x[2:0:-1],
        x[5:],
        x[:-5],
        z[:, :, None, -1],
        z[1, ..., None],
    ],
    "getitem_tensor": lambda tf, x, y, z, i, b: [
        x[i[1, 0]],
        x[i[1, 0] - 2],
        z[:, i[1, 0]],
        z[..., i[1, 1], 1:],
        x[i[1, 0] : i[1, 1] + 1],
        x[: tf.shape(x)[0] - 1],
    ],
    "getitem_two_tensors": lambda tf, x, y, z, i, b: [
        x[i[1, 0], i[1, 1]],
        z[i[1, 0], :, i[1, 1]],
        z[i[1, 0], ..., i[1, 1]],
        z[0, i[1, 1], i[1, 0]],
    ],
    "pad": lambda tf, x, y, z, i, b: [
        tf.pad(x, [[1, 0], [0, 2]]),
        tf.pad(x, [[1, 1], [2, 2]], "REFLECT"),
        tf.pad(x, [[1, 1], [0, 3]], "SYMMETRIC"),
        tf.pad(x, [[1, 0], [0, 0]], constant_values=3),
    ],
    "tile": lambda tf, x, y, z, i, b: [
        tf.tile(x, [2, 1]),
        tf.tile(x[0], [3]),
        tf.tile(x, tf.stack([1, i[1, 1]])),
    ],
    "reverse": lambda tf, x, y, z, i, b: [tf.reverse(x, [0]), tf.reverse(z, axis=[-1, 1])],
    "gather": lambda tf, x, y, z, i, b: [
        tf.gather(x, [2, 0, 2]),
        tf.gather(x, [[1], [0]]),
        tf.gather(x, 1),
        tf.gather(x, [3, 0], axis=1),
        tf.gather(z, [1, 1], axis=-2),
    ],
    "gather_nd": lambda tf, x, y, z, i, b: [
        tf.gather_nd(x, [[0, 1], [2, 3]]),
        tf.gather_nd(z, [[1], [0]]),
    ],
    "scatter_nd": lambda tf, x, y, z, i, b: tf.scatter_nd([[0], [2]], x[:2], [4, 4]),
    "segments": lambda tf, x, y, z, i, b: tf.unsorted_segment_sum(x, [0, 1, 0], 3),
    "one_hot": lambda tf, x, y, z, i, b: [
        tf.one_hot([0, 2], 3),
        tf.one_hot([0, 2], 3, 5, -1),
        tf.one_hot([[0], [1]], 2, axis=0),
        tf.one_hot([1], 2, dtype=tf.int32),
        tf.one_hot([1], 2, 2.0, 1.0),
    ],
    "one_hot_bool": lambda tf, x, y, z, i, b: tf.one_hot([1, 0], 2, True, False),
    "where": lambda tf, x, y, z, i, b: [
        tf.where(b, x, y),
        tf.where(b),
        tf.where([True, False, True], x, y),
    ],
    "boolean_mask": lambda tf, x, y, z, i, b: [
        tf.boolean_mask(x, [True, False, True]),
        tf.boolean_mask(x, b),
        tf.boolean_mask(x, [True, False, True, True], axis=1),
    ],
    "unique": lambda tf, x, y, z, i, b: list(tf.unique([3, 1, 3, 2])),
    "partition": lambda tf, x, y, z, i, b: tf.dynamic_partition(x, [1, 0, 1], 2),
    "stitch": lambda tf, x, y, z, i, b: tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[2:]]),
    "top_k": lambda tf, x, y, z, i, b: [*tf.nn.top_k(x, 2), *tf.nn.top_k(x)],
    "in_top_k": lambda tf, x, y, z, i, b: tf.nn.in_top_k(x, [0, 3, 1], 2),
    "sequence_mask": lambda tf, x, y, z, i, b: [
        tf.sequence_mask([1, 3, 2]),
        tf.sequence_mask([[1], [2]], 4),
        tf.sequence_mask([1, 2], 3, tf.float32),
    ],
    "meshgrid": lambda tf, x, y, z, i, b: [
        *tf.meshgrid([1, 2, 3], [4, 5]),
        *tf.meshgrid([1.0, 2.0], [3.0], [5.0, 6.0], indexing="ij"),
    ],
    "diagonals": lambda tf, x, y, z, i, b: [
        tf.diag([1.0, 2.0]),
        tf.diag_part(x[:, :3]),
        tf.matrix_diag(x),
        tf.matrix_diag_part(z),
    ],
    "clip": lambda tf, x, y, z, i, b: [
        tf.clip_by_value(x, -1, 1),
        tf.clip_by_value(i, 0, 5),
        tf.clip_by_norm(x, 1.5),
        tf.clip_by_norm(x, 100.0),
        tf.clip_by_norm(x, 1.0, axes=[1]),
    ],
    "clip_norms": lambda tf, x, y, z, i, b: [
        tf.global_norm([x, y]),
        *tf.clip_by_global_norm([x, y], 2.0)[0],
        tf.clip_by_global_norm([x, y], 50.0)[1],
        tf.clip_by_average_norm(x, 0.1),
    ],
    "add_n": lambda tf, x, y, z, i, b: [tf.add_n([x, y, x]), tf.accumulate_n([x, y])],
    "identity": lambda tf, x, y, z, i, b: [
        tf.identity(x),
        tf.stop_gradient(x),
        tf.broadcast_to(x[0], [2, 4]),
    ],
    "nested_lists": lambda tf, x, y, z, i, b: [
        tf.stack([[x[0, 0], 1.0], [2.0, x[1, 1]]]),
        tf.convert_to_tensor([x[0], y[0]]),
        x + (x[0, 0], 1.0, 2.0, 3.0),
    ],
    "bounds": lambda tf, x, y, z, i, b: [
        tf.invert_permutation([2, 0, 1]),
        tf.atan2(x, y),
        tf.log1p(y),
        tf.expm1(x),
        tf.is_nan(x),
        tf.is_finite(x),
    ],
}

# 0.x spellings, which TensorFlow itself no longer has: name -> (0.x expression, 1.x expression)
OLD = {
    "concat": (lambda tf, x, y: tf.concat(1, [x, y]), lambda tf, x, y: tf.concat([x, y], 1)),
    "concat_dim": (
        lambda tf, x, y: tf.concat(concat_dim=0, values=[x, y]),
        lambda tf, x, y: tf.concat([x, y], 0),
    ),
    "split": (lambda tf, x, y: tf.split(1, 2, x), lambda tf, x, y: tf.split(x, 2, 1)),
    "split_names": (
        lambda tf, x, y: tf.split(split_dim=1, num_split=4, value=x),
        lambda tf, x, y: tf.split(x, 4, 1),
    ),
    "pack": (lambda tf, x, y: tf.pack([x, y]), lambda tf, x, y: tf.stack([x, y])),
    "unpack": (lambda tf, x, y: tf.unpack(x), lambda tf, x, y: tf.unstack(x)),
    "names": (
        lambda tf, x, y: [tf.sub(x, y), tf.mul(x, y), tf.neg(x), tf.inv(y), tf.select(x > 0, x, y)],
        lambda tf, x, y: [x - y, x * y, -x, tf.reciprocal(y), tf.where(x > 0, x, y)],
    ),
    "reverse": (lambda tf, x, y: tf.reverse(x, [True, False]), lambda tf, x, y: tf.reverse(x, [0])),
    "sum": (
        lambda tf, x, y: tf.reduce_sum(x, 1, True),
        lambda tf, x, y: tf.reduce_sum(x, 1, keepdims=True),
    ),
    "batch_matmul": (
        lambda tf, x, y: tf.batch_matmul(tf.expand_dims(x, 0), tf.expand_dims(y, 0), adj_y=True),
        lambda tf, x, y: tf.matmul(tf.expand_dims(x, 0), tf.expand_dims(y, 0), transpose_b=True),
    ),
    "expand_dims": (
        lambda tf, x, y: tf.expand_dims(x, dim=1),
        lambda tf, x, y: tf.expand_dims(x, 1),
    ),
    "squeeze": (
        lambda tf, x, y: tf.squeeze(x[:1], squeeze_dims=[0]),
        lambda tf, x, y: tf.squeeze(x[:1], [0]),
    ),
}


def _flat(made):
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _ours(expression, arrays, partial):
    with tfnb.Graph().as_default():
        shapes = [[None] * a.ndim if partial else a.shape for a in arrays]
        inputs = [tfnb.placeholder(a.dtype, s) for a, s in zip(arrays, shapes, strict=True)]
        made = _flat(expression(tfnb, *inputs))
        made = [tfnb.convert_to_tensor(t) for t in made]
        values = evaluate(made, dict(zip(inputs, arrays, strict=True)))
        for t, v in zip(made, values, strict=True):
            assert t.shape.is_compatible_with(v.shape), f"{t} gave shape {v.shape}"
        return values


def _theirs(expression, arrays):
    with tf1.Graph().as_default(), tf1.Session() as session:
        inputs = [tf1.placeholder(a.dtype, a.shape) for a in arrays]
        made = [tf1.convert_to_tensor(t) for t in _flat(expression(tf1, *inputs))]
        return session.run(made, dict(zip(inputs, arrays, strict=True)))


def _compare(ours, theirs):
    assert len(ours) == len(theirs)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{k}: {a.dtype}{a.shape}, TensorFlow {b.dtype}{b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=f"value {k}")


@pytest.mark.parametrize("partial", [False, True], ids=["shapes", "ranks"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression(name, partial):
    arrays = (X, Y, Z, I, B)
    _compare(_ours(EXPRESSIONS[name], arrays, partial), _theirs(EXPRESSIONS[name], arrays))


@pytest.mark.parametrize("name", OLD)
def test_old_spelling(name):
    old, new = OLD[name]
    _compare(_ours(old, (X, Y), False), _theirs(new, (X, Y)))
