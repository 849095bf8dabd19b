"""Quantised ops against TensorFlow's: the same graph, from floats through 8 bits and back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from evaluate import evaluate

import tfnb
from tfnb.ops import CATALOG

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
X = np.random.default_rng(0).uniform(-2, 3, (2, 5, 6, 3)).astype(np.float32)
W = np.random.default_rng(1).uniform(-1, 1, (3, 2, 3, 4)).astype(np.float32)
B = np.random.default_rng(2).uniform(-1, 1, 4).astype(np.float32)
RANGES = [(-1.0, 1.5), (0.5, 2.0), (-6.0, 0.0), (-2.0, -2.0)]


class Ours:
    """Ops by name with TensorFlow's keywords."""

    def __getattr__(self, name):
        op = CATALOG[name]

        def call(**given):
            inputs = [given.pop(a.name) for a in op.input_args]
            graph = tfnb.get_default_graph()
            found = op(*inputs, graph=graph, **given)
            return found

        return call


def theirs(build):
    with tf1.Graph().as_default(), tf1.Session() as session:
        made = build(tensorflow.raw_ops, tf1)
        plain = {tf1.quint8: tf1.uint8, tf1.qint8: tf1.int8, tf1.qint32: tf1.int32}
        return session.run([tf1.bitcast(t, plain[t.dtype]) if t.dtype in plain else t for t in made])


def ours(build):
    with tfnb.Graph().as_default():
        return evaluate(list(build(Ours(), tfnb)))


def same(build, steps=0):
    for a, b in zip(ours(build), theirs(build), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind in "iu":
            np.testing.assert_allclose(a.astype(np.int64), b.astype(np.int64), rtol=0, atol=steps)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def quantized(r, tf, x, low, high, T=None, mode="MIN_FIRST"):
    return list(r.QuantizeV2(input=x, min_range=low, max_range=high, T=T or tf.quint8, mode=mode))


@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
@pytest.mark.parametrize("kind", ["quint8", "qint8"])
@pytest.mark.parametrize("low, high", RANGES)
def test_there_and_back(mode, kind, low, high):
    if (mode, kind, high) == ("SCALED", "quint8", 0.0) or (kind == "quint8" and mode == "SCALED" and high < 0):
        pytest.skip("a range without positive numbers has no scale around zero in unsigned integers")

    def build(r, tf):
        q = quantized(r, tf, X, low, high, getattr(tf, kind), mode)
        back = r.Dequantize(input=q[0], min_range=q[1], max_range=q[2], mode=mode, dtype=tf.float32)
        return [*q, back]

    same(build, steps=1 if mode == "MIN_FIRST" else 0)


@pytest.mark.parametrize("flip", [False, True])
def test_matmul_requantised(flip):
    def build(r, tf):
        a = quantized(r, tf, X.reshape(10, 18).T if flip else X.reshape(10, 18), -2.0, 3.0)
        b = quantized(r, tf, W.reshape(18, 4), -1.0, 1.0)
        product = r.QuantizedMatMul(
            a=a[0],
            b=b[0],
            min_a=a[1],
            max_a=a[2],
            min_b=b[1],
            max_b=b[2],
            Toutput=tf.qint32,
            Tactivation=tf.quint8,
            transpose_a=flip,
            transpose_b=False,
        )
        return _after(r, tf, list(product))

    same(build)


def _after(r, tf, product):
    """What follows a product in a quantised network."""
    whole = dict(zip(("input", "input_min", "input_max"), product, strict=True))
    small = list(r.QuantizeDownAndShrinkRange(**whole, out_type=tf.quint8))
    span = list(r.RequantizationRange(**whole))
    wanted = {"requested_output_min": span[0], "requested_output_max": span[1]}
    again = list(r.Requantize(**whole, **wanted, out_type=tf.quint8))
    cut = dict(zip(("features", "min_features", "max_features"), small, strict=True))
    relu = list(r.QuantizedRelu(**cut, out_type=tf.quint8))
    six = list(r.QuantizedRelu6(**cut, out_type=tf.quint8))
    return [*product, *small, *span, *again, *relu, *six]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_conv_pool(padding, stride):
    def build(r, tf):
        x, w = quantized(r, tf, X, -2.0, 3.0), quantized(r, tf, W, -1.0, 1.0)
        product = list(
            r.QuantizedConv2D(
                input=x[0],
                filter=w[0],
                min_input=x[1],
                max_input=x[2],
                min_filter=w[1],
                max_filter=w[2],
                strides=[1, stride, stride, 1],
                padding=padding,
                out_type=tf.qint32,
            )
        )
        made = _after(r, tf, product)
        small = made[3:6]
        pooled = list(
            r.QuantizedMaxPool(
                input=small[0],
                min_input=small[1],
                max_input=small[2],
                ksize=[1, 2, 2, 1],
                strides=[1, 1, 2, 1],
                padding="VALID",
            )
        )
        flat = r.QuantizedReshape(tensor=pooled[0], shape=[-1], input_min=pooled[1], input_max=pooled[2])
        return [*made, *pooled, *flat]

    same(build)


@pytest.mark.parametrize("low, high", [(-1.37, 2.11), (-0.4, 0.9)])
def test_bias(low, high):
    """TensorFlow adds in float32, whose last bit is 256 of the 2**32 steps."""

    def build(r, tf):
        x, bias = quantized(r, tf, X[..., :4], low, high), quantized(r, tf, B[:3], -0.91, 0.53)
        return r.QuantizedBiasAdd(
            input=x[0],
            bias=bias[0],
            min_input=x[1],
            max_input=x[2],
            min_bias=bias[1],
            max_bias=bias[2],
            out_type=tf.qint32,
        )

    same(build, steps=600)


def _network(tf):
    """A graph with a quantised constant, written with either library's names."""
    x = tf.placeholder(tf.float32, [4], name="x")
    q = tf.quantize_v2(x, 0.0, 2.0, tf.quint8)
    k = tf.constant(np.array([0, 128, 255, 3], np.uint8))
    c = tf.identity(tf.bitcast(k, tf.quint8), name="c")
    tf.add(tf.dequantize(q[0], q[1], q[2]), tf.dequantize(c, 0.0, 1.0), name="y")


def test_graphs_with_quantised_dtypes_are_exchanged():
    fed = {"x:0": [0.0, 0.3, 0.5, 1.9]}
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        _network(tf1)
        stored = tf1.make_tensor_proto(np.array([5, 6], tf1.quint8.as_numpy_dtype), tf1.quint8)
        node = graph.as_graph_def().node.add(name="k", op="Const")
        node.attr["dtype"].type = stored.dtype
        node.attr["value"].tensor.CopyFrom(stored)
        written = graph.as_graph_def()
        written.node.append(node)
        wanted = session.run("y:0", fed)
    with tfnb.Graph().as_default() as graph, tfnb.Session() as session:
        tfnb.import_graph_def(written.SerializeToString(), name="")
        np.testing.assert_allclose(session.run("y:0", fed), wanted, rtol=1e-6)
        assert session.run("k:0").tolist() == [5, 6] and graph.get_tensor_by_name("k:0").dtype is tfnb.quint8
        back = graph.as_graph_def().SerializeToString()
    with tf1.Graph().as_default(), tf1.Session() as session:
        definition = tf1.GraphDef()
        definition.ParseFromString(back)
        tf1.import_graph_def(definition, name="")
        np.testing.assert_allclose(session.run("y:0", fed), wanted, rtol=1e-6)
        plain = tf1.bitcast(tf1.get_default_graph().get_tensor_by_name("k:0"), tf1.uint8)
        assert session.run(plain).tolist() == [5, 6]


@pytest.mark.parametrize("ends", RANGES[:3])
def test_products_and_averages(ends):
    def quantized(raw, tf, x, low, high):
        return raw.QuantizeV2(input=x, min_range=np.float32(low), max_range=np.float32(high), T=tf.quint8)

    def product(raw, tf):
        (x, *a), (y, *b) = quantized(raw, tf, X, *ends), quantized(raw, tf, X[0], -3, 2)
        return raw.QuantizedMul(x=x, y=y, min_x=a[0], max_x=a[1], min_y=b[0], max_y=b[1], Toutput=tf.qint32)

    def average(padding):
        def build(raw, tf):
            x, low, high = quantized(raw, tf, X, *ends)
            windows = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
            return raw.QuantizedAvgPool(input=x, min_input=low, max_input=high, **windows)

        return build

    for build in (product, average("SAME"), average("VALID")):
        for mine, right in zip(ours(build), theirs(build), strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-6)


@pytest.mark.parametrize("low", [-1.0, -4.0])
def test_joined_values_have_a_common_range(low):
    def joined(tf, raw):
        values = [
            tf.bitcast(tf.constant(np.arange(n * 2, dtype=np.uint8).reshape(2, n) * 30), tf.quint8) for n in (3, 1)
        ]
        out = raw.QuantizedConcat(concat_dim=1, values=values, input_mins=[-1.0, low], input_maxes=[2.0, 3.0])
        return [tf.bitcast(out[0], tf.uint8), out[1], out[2]]

    found = []
    for tf, raw in ((tfnb, tfnb.raw_ops), (tf1, tensorflow.raw_ops)):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(session.run(joined(tf, raw)))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
