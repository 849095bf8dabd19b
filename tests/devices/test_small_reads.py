"""Small variables are read without a launch, and only where that is the same."""

import threading

import device_programs as p
import numpy as np
import pytest

import tfnb as tf
from tfnb.codegen.program import Copy, Program, Read, Slot, VariableUse
from tfnb.devices.buffers import Cell
from tfnb.devices.opencl.program import OpenCLProgram
from tfnb.devices.opencl.small_reads import SmallReads
from tfnb.ir.kernelcall import TensorInfo
from tfnb.runtime.values import to_host
from tfnb.types import float32, int32

SCALAR, ROW = TensorInfo(float32, ()), TensorInfo(float32, (1, 3))


def reading(*infos, outputs=None, reads=()):
    """A program that fetches variables, in the opposite order."""
    outputs = outputs or infos
    n = len(infos)
    steps = tuple(
        Copy(Slot("variable", n - 1 - k, 0, outputs[k].nbytes), Slot("output", k), outputs[k].nbytes) for k in range(n)
    )
    uses = tuple(VariableUse(10 + k, info, True, False) for k, info in enumerate(infos[::-1]))
    reads = reads or tuple(Read(n - 1 - k) for k in range(n))
    return Program("reading", (), steps, (), tuple(outputs), uses, (), (), 0, reads=reads)


@pytest.mark.opencl
def test_the_values_are_copies_in_the_order_of_the_outputs(device):
    cells = [Cell("b"), Cell("a")]
    for cell, n, value in zip(cells, (3, 1), (5.0, 2.0), strict=True):
        device.load(p.assign(n)).run([np.full(n, value, np.float32)], [cell])
        cell.tensor.wait()
    program = reading(TensorInfo(float32, (1,)), p.vector(3), outputs=(SCALAR, ROW))
    loaded = device.load(program)
    one, three = loaded.run([], cells)
    assert (type(one) is np.ndarray) == loaded.inline
    assert (one.shape, three.shape) == ((), (1, 3))
    assert to_host(one) == 2
    device.load(p.assign(3)).run([np.full(3, 7, np.float32)], [cells[0]])
    assert to_host(three).tolist() == [[5, 5, 5]]
    assert to_host(loaded.run([], cells)[1]).tolist() == [[7, 7, 7]]


@pytest.mark.opencl
def test_a_read_waits_for_what_is_enqueued(device):
    n, steps = 512, 200
    cell = Cell("x")
    device.load(p.assign(n)).run([np.zeros(n, np.float32)], [cell])
    loaded = device.load(reading(p.vector(n)))
    seen, stop = [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append(to_host(loaded.run([], [cell])[0]))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for k in range(1, steps + 1):
            device.load(p.assign(n)).run([np.full(n, k, np.float32)], [cell])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert all((value == value[0]).all() for value in seen)  # never half of one and half of another
    assert (to_host(loaded.run([], [cell])[0]) == steps).all()


@pytest.mark.parametrize(
    ("why", "program"),
    [
        ("large", reading(p.vector((1 << 14) + 1))),
        ("another type", reading(SCALAR, outputs=(TensorInfo(int32, ()),))),
        ("a part", reading(p.vector(4), outputs=(p.vector(2),))),
        ("a row that is not there", reading(ROW, reads=(Read(0, np.array([0, 1])),))),
        ("a launch", p.add_scale(3)),
        ("changed", p.assign(3)),
    ],
)
def test_what_must_be_launched(why, program):
    assert SmallReads.of(program) is None, why


def test_a_variable_without_a_value_is_left_to_the_launch():
    assert SmallReads.of(reading(SCALAR)).copies([], [Cell("x")]) is None


TABLE = np.arange(30, dtype=np.float32).reshape(5, 2, 3)


FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)  # such a step does nothing without a launch


@pytest.mark.opencl
@pytest.mark.parametrize("numbers", [[3, 0, 3], [[4], [1]], 2, [], [0, 5], [-1, 2], [7, -3, 1]])
@pytest.mark.parametrize("kind", ["constant", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [[5, 2, 3], [5, 6], [10, 3]])
def test_rows_are_those_of_the_kernel(numbers, kind, axis, shape, monkeypatch):
    """Numbers of no row are an error either way."""
    numbers = np.array(numbers, np.int32)
    v = tf.Variable(TABLE)
    table = v if list(v.shape) == shape else tf.reshape(v, shape)
    at, feed = tf.constant(numbers), {}
    if kind != "constant":
        at = tf.placeholder(kind)
        feed = {at: numbers}
    rows = tf.gather(table, at, axis=axis) if axis else tf.gather(table, at)
    runs, run = [], OpenCLProgram._run
    monkeypatch.setattr(OpenCLProgram, "_run", lambda *args: runs.append(args[0].program.name) or run(*args))
    full = TABLE.reshape(shape)
    with tf.Session() as sess:
        sess.run(v.initializer)
        if not ((numbers >= 0) & (numbers < full.shape[axis])).all():
            for how in ((), (FULL, tf.RunMetadata())):
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, "):
                    sess.run(rows, feed, *how)
            return
        expected = sess.run(rows, feed, FULL, tf.RunMetadata())
        before = len(runs)
        first = sess.run(rows, feed)
        launches = len(runs) - before
        sess.run(v.assign(TABLE + 100))
        second = sess.run(rows, feed)
    assert not launches or axis or table is not v
    np.testing.assert_array_equal(first, full.take(numbers, axis))
    np.testing.assert_array_equal(second, full.take(numbers, axis) + 100)
    np.testing.assert_array_equal(first, expected)
