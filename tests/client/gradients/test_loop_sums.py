"""Gradients by matrices that every turn of a loop multiplies by: products added up on the device, of any number of rows."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tfnb as tf
from tfnb.devices.buffers import Cell
from tfnb.devices.call_program import update_program
from tfnb.ir.kernelcall import KernelSite, TensorInfo
from tfnb.ops.linalg.matmul import MatMulAttrs
from tfnb.ops.linalg.matmul_recipes import matmul_calls
from tfnb.types import as_dtype

pytestmark = pytest.mark.opencl


def recurrent(turns, dtype=tf.float32):
    """y = tanh(y w) a few times; the loss, and its gradients by x and w."""
    x, w = tf.placeholder(dtype, [None, 6]), tf.placeholder(dtype, [6, 6])
    y = tf.while_loop(lambda i, y: i < turns, lambda i, y: [i + 1, tf.tanh(tf.matmul(y, w))], [0, x])[1]
    loss = tf.reduce_sum(y * y)
    return x, w, [loss, *tf.gradients(loss, [x, w])]


def reference(x, w, turns):
    ys = [x]
    for _ in range(turns):
        ys.append(np.tanh(ys[-1] @ w))
    dy, dw = 2 * ys[-1], np.zeros_like(w)
    for before, y in zip(ys[-2::-1], ys[:0:-1], strict=True):
        dz = dy * (1 - y * y)
        dw += before.T @ dz
        dy = dz @ w.T
    return [(ys[-1] * ys[-1]).sum(), dy, dw]


@pytest.mark.parametrize("fast", ["1", "0"])
def test_rows_wait_for_others_or_do_not(monkeypatch, fast):
    monkeypatch.setenv("TFNB_FAST_LOOPS", fast)
    turns = 7
    rng = np.random.default_rng(0)
    x, w, fetches = recurrent(turns)
    b = (rng.standard_normal((6, 6)) / 3).astype(np.float32)
    with tf.Session() as session:
        for rows in (1, 5, 16, 40, 0):
            a = rng.standard_normal((rows, 6)).astype(np.float32)
            for got, wanted in zip(session.run(fetches, {x: a, w: b}), reference(a, b, turns), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


def test_no_turn_is_a_sum_of_zeros_and_doubles_stay_exact():
    a, b = np.ones((3, 6)), np.eye(6) / 2
    for turns in (0, 4):
        x, w, fetches = recurrent(turns, tf.float64)
        with tf.Session() as session:
            for got, wanted in zip(session.run(fetches, {x: a, w: b}), reference(a, b, turns), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])  # the tuned kernel, and the one for all devices
@pytest.mark.parametrize(
    ("k", "m", "n", "dtype"),
    [
        (5, 7, 9, "float32"),
        (3, 1, 40, "float64"),
        (3, 40, 1, "float32"),
        (1100, 5, 9, "float32"),
        (300, 130, 70, "float32"),
    ],
)
def test_products_are_added_where_the_sum_lies(k, m, n, dtype, kind):
    rng = np.random.default_rng(1)
    left, right = (rng.standard_normal((k, c)).astype(dtype) for c in (m, n))
    infos = tuple(TensorInfo(as_dtype(dtype), a.shape) for a in (left, right))
    site = KernelSite(
        "MatMul", infos, (TensorInfo(as_dtype(dtype), (m, n)),), MatMulAttrs(transpose_a=True), {}, 4, kind
    )
    cell = Cell("sum")
    with tf.Session() as session:
        device = next(iter(session.compile_context.devices.values()))
        for add in (False, True, True):
            device.load(update_program(site, matmul_calls(site, add), add)).run([left, right], (cell,))
        found = cell.tensor.numpy()
    np.testing.assert_allclose(found, 3 * (left.T @ right), rtol=1e-4, atol=1e-3)


def test_a_finished_step_keeps_nothing_until_the_collector_comes():
    x, w, fetches = recurrent(3)
    kept = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack(tf.stack([x, x]))
    back = tf.gradients(kept.stack() * 2.0, x)  # an array and that of its gradient
    feed = {x: np.ones((64, 6)), w: np.eye(6)}
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1, "GPU": 0})) as session:
        (device,) = session.compile_context.devices.values()
        for _ in range(2):  # what the first run of a loop holds it gives back in the second
            session.run([fetches, back], feed)
        gc.collect()
        gc.disable()
        try:
            before = device.memory_stats().in_use
            for _ in range(3):
                session.run([fetches, back], feed)
            assert device.memory_stats().in_use == before
        finally:
            gc.enable()
