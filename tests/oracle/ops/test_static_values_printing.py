"""Functions of later 1.x: sets, serialised sparse tensors, factors of matrices, formatted texts, as TensorFlow's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(4)
MATRICES = (RNG.uniform(-1, 1, (2, 3, 3)) + 2 * np.eye(3)).astype(np.float64)
TALL = RNG.uniform(-1, 1, (2, 4, 3)).astype(np.float64)
ROWS = RNG.integers(0, 6, (3, 4)).astype(np.int64)


def sparse(tf, rows):
    places = np.argwhere(rows > 1)
    return tf.SparseTensor(places, rows[tuple(places.T)], rows.shape)


def sets(tf):
    a, b = tf.constant(ROWS), sparse(tf, ROWS[::-1].copy())
    return [
        tf.sets.set_intersection(a, a[::-1]),
        tf.sets.set_difference(a, b),
        tf.sets.set_difference(b, a),
        tf.sets.set_union(b, b),
        tf.sets.set_difference(a, b, aminusb=False),
        tf.sets.set_size(b),
    ]


def round_trips(tf):
    many = tf.serialize_many_sparse(sparse(tf, ROWS))
    return [
        many,
        tf.serialize_sparse(sparse(tf, ROWS)),
        tf.deserialize_many_sparse(many, tf.int64, rank=1),
        tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(ROWS)), tf.int64),
    ]


def matrices(tf):
    a, tall = tf.constant(MATRICES), tf.constant(TALL)
    packed, order = tf.linalg.lu(a)
    return [
        tf.linalg.expm(a),
        tf.linalg.sqrtm(a),
        packed,
        order,
        tf.linalg.lu_solve(packed, order, a[..., :2]),
        tf.linalg.lu_matrix_inverse(packed, order),
        tf.linalg.lu_reconstruct(packed, order),
        tf.linalg.adjoint(tall),
        tf.linalg.matvec(tall, tall[:, 0]),
        tf.linalg.pinv(tall),
        tf.linalg.pinv(a),
        tf.linalg.matrix_rank(tall),
        *tf.linalg.normalize(tall, axis=1),
        tf.linalg.lu_reconstruct(*tf.linalg.lu(a[0])),
    ]


def texts(tf):
    return [
        tf.strings.format("{} and {}", (tf.constant(ROWS), tf.constant("x"))),
        tf.strings.format("{}", tf.constant(TALL), summarize=1),
        tf.strings.unicode_transcode(tf.constant([b"a\xffb", "größe".encode()]), "UTF-8", "UTF-16-BE"),
        tf.strings.regex_replace(tf.constant([b"abcabc"]), "b", "_"),
        tf.strings.unsorted_segment_join(tf.constant([b"a", b"b", b"c"]), [1, 0, 1], 2, separator=","),
    ]


def run(tf, build):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(tf))


@pytest.mark.parametrize("build", [sets, round_trips, matrices, texts], ids=lambda b: b.__name__)
def test_functions(build):
    for k, (mine, theirs) in enumerate(zip(run(tfnb, build), run(tf1, build), strict=True)):
        parts = (mine, theirs) if isinstance(mine, tuple) else ([mine], [theirs])
        for a, b in zip(*parts, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.dtype.kind == b.dtype.kind or {a.dtype.kind, b.dtype.kind} <= set("SO"), k
            if a.dtype.kind == "f":
                np.testing.assert_allclose(a, b, 1e-9, 1e-9, err_msg=str(k))
            else:
                assert a.tolist() == b.tolist(), k


@pytest.mark.parametrize(
    "call",
    [
        lambda tf, x: tf.linalg.expm(x),
        lambda tf, x: tf.linalg.sqrtm(x),
        lambda tf, x: tf.linalg.pinv(x),
    ],
)
def test_gradients(call):
    def slope(tf):
        x = tf.constant(MATRICES)
        return tf.gradients(tf.reduce_sum(tf.sin(call(tf, x))), x)[0]

    np.testing.assert_allclose(run(tfnb, slope), run(tf1, slope), 1e-7, 1e-7)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_fractional_pooling(kind, overlapping):
    """TensorFlow's gradients over the windows that were drawn here, and what is pooled in them."""
    x = RNG.uniform(-1, 1, (2, 7, 9, 2)).astype(np.float64)
    with tfnb.Graph().as_default(), tfnb.Session() as session:
        image = tfnb.constant(x)
        pooled = getattr(tfnb.nn, f"fractional_{kind}_pool")(image, [1.0, 1.5, 1.4, 1.0], overlapping=overlapping)
        slope = tfnb.gradients(tfnb.reduce_sum(tfnb.sin(pooled[0])), image)[0]
        y, rows, cols, dx = session.run([*pooled, slope])
        again = getattr(tfnb.nn, f"fractional_{kind}_pool")(image, [1.0, 1.5, 1.4, 1.0], True, overlapping, seed=3)
        assert [a.tolist() for a in session.run(again)] == [a.tolist() for a in session.run(again)]
    more = int(overlapping)
    assert rows[0] == 0 and rows[-1] == 7 and len(rows) == 5 and len(cols) == 7
    for i in range(4):
        for j in range(6):
            part = x[:, rows[i] : rows[i + 1] + more, cols[j] : cols[j + 1] + more]
            np.testing.assert_allclose(y[:, i, j], part.max((1, 2)) if kind == "max" else part.mean((1, 2)), 1e-12)
    raw = tensorflow.raw_ops
    with tf1.Graph().as_default(), tf1.Session() as session:
        given = {"out_backprop": np.cos(y), "row_pooling_sequence": rows, "col_pooling_sequence": cols}
        if kind == "max":
            wanted = raw.FractionalMaxPoolGrad(orig_input=x, orig_output=y, **given, overlapping=overlapping)
        else:
            wanted = raw.FractionalAvgPoolGrad(
                orig_input_tensor_shape=np.array(x.shape), **given, overlapping=overlapping
            )
        np.testing.assert_allclose(dx, session.run(wanted), 1e-12, 1e-12)
