"""Ops from a notebook cell: kernels in Python and OpenCL C, shapes, gradients, and the message of a wrong one."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    KernelBuildError,
    ShapeError,
    UnknownError,
)
from tfnb.ops import CATALOG

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("ops of the user's own are registered in the test's process")]


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setattr(CATALOG, "_ops", dict(CATALOG._ops))  # other tests look at the library's alone
    with tf.Graph().as_default() as g:
        yield g


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def test_a_python_kernel_with_attributes_and_a_gradient():
    @tf.register_op("x: T", "y: T", attrs={"power": 2}, grad=lambda op, dy: dy * 2.0 * op.x)
    def my_power(x, power):
        """x to a power."""
        return x**power

    x = tf.constant([1.0, 3.0])
    y = my_power(x)
    assert y.op.type == "MyPower" and y.shape == [2] and "x to a power" in my_power.__doc__
    assert run([y, my_power(x, power=3), tf.gradients(y, x)[0]])[1].tolist() == [1, 27]
    assert run(tf.gradients(y, x)[0]).tolist() == [2, 6]
    assert my_power(tf.constant(2.0, tf.float64)).dtype is tf.float64


def test_an_opencl_kernel_is_what_runs():
    @tf.register_op(
        "x: T, y: T",
        "z: T, count: int32",
        types={"T": [tf.float32, tf.int32]},
        shape=lambda c: (c.shapes[0], []),
        opencl="""
        __kernel void add_tenfold(__global const T *x, __global const T *y, __global T *z, __global int *count, int n) {
            int i = get_global_id(0);
            if (i == 0) *count = n;
            if (i < n) z[i] = x[i] + 10 * y[i];
        }""",
    )
    def tenfold(x, y):
        raise AssertionError("the device has a kernel")

    x = tf.placeholder(tf.float32, [None])
    for n in (1, 200):
        z, count = run(tenfold(x, x), {x: np.ones(n)})
        assert z.tolist() == [11.0] * n and count == n
    ints = tf.placeholder(tf.int32, [2])
    assert run(tenfold(ints, ints)[0], {ints: [1, 2]}).tolist() == [11, 22]


def test_arguments_and_grid_are_ones_own():
    @tf.register_op(
        "x: float32",
        "y: float32",
        attrs={"scale": 2.0},
        shape=lambda c: c.shapes[0][:1],
        opencl="""
        __kernel void rows(__global const float *x, __global float *y, int width, float scale) {
            float sum = 0;
            for (int j = 0; j < width; j++) sum += x[get_group_id(0) * width + j];
            y[get_group_id(0)] = scale * sum;
        }""",
        arguments=lambda site: (site.inputs[0].shape[1], site.attrs.scale),
        grid=lambda site: (site.outputs[0].shape, (1,)),
    )
    def row_sums(x, scale):
        return scale * x.sum(1)

    assert run(row_sums(np.ones((3, 5), np.float32), scale=0.5)).tolist() == [2.5] * 3


CELL = '''import tfnb as tf


@tf.register_op("x: float32", "y: float32", opencl="""
__kernel void wrong(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0);
    y[i] = x[i] + oops;
}
""")
def wrong_kernel(x):
    return x
'''


def test_a_wrong_kernel_is_shown_in_its_cell():
    name = "<cell 7>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    space = {}
    exec(compile(CELL, name, "exec"), space)
    with pytest.raises(KernelBuildError) as caught:
        x = tf.placeholder(tf.float32, [1])
        run(space["wrong_kernel"](x), {x: [1.0]})
    assert "<cell 7>:7:" in str(caught.value) and "oops" in str(caught.value)
    assert "y[i] = x[i] + oops;" in str(caught.value)


def test_a_cell_can_be_run_again():
    def cell(factor):
        @tf.register_op("x: float32", "y: float32")
        def again(x):
            return x * np.float32(factor)

        return again

    first, second = cell(2)(tf.constant(1.0)), cell(3)(tf.constant(1.0))
    assert run([first, second]) == [2.0, 3.0]


def test_what_is_refused():
    with pytest.raises(AlreadyExistsError, match="'Tanh'"):
        tf.register_op("x: T", "y: T", name="Tanh")(lambda x: x)
    with pytest.raises(InvalidArgumentError, match="no `__kernel"):
        tf.register_op("x: T", "y: T", opencl="void f() {}")
    with pytest.raises(InvalidArgumentError, match="'big'"):
        tf.register_op("x: T", "y: T", name="Big", attrs={"big": [1]})(lambda x: x)

    def two_from_one(x):
        return x, x

    def fails(x):
        raise RuntimeError("inside")

    two = tf.register_op("x: float32", "y: float32")(two_from_one)
    with pytest.raises(InvalidArgumentError, match="gave 2 arrays for 1"):
        run(two(1.0))
    with pytest.raises(UnknownError, match="RuntimeError: inside"):
        run(tf.register_op("x: float32", "y: float32")(fails)(1.0))
    strict = tf.register_op("x: float32", "y: float32", shape=lambda c: c.shapes[0].with_rank(2))
    with pytest.raises(ShapeError):
        strict(two_from_one)(1.0)


def test_a_registered_op_travels_in_a_graph_def(graph):
    @tf.register_op("x: float32", "y: float32", attrs={"by": 1.5})
    def shifted(x, by):
        return x + by

    tf.identity(shifted(tf.constant(1.0), by=0.5), name="out")
    with tf.Graph().as_default():
        (out,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["out:0"])
        assert run(out) == 1.5
