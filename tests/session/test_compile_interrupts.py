"""Ctrl-C while a step is compiled: it is raised soon, no variable has changed, and the next run works."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tfnb as tf
import tfnb.codegen.compile as codegen
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.session import compile as session_compile
from tfnb.system import progress

pytestmark = [
    *(pytest.mark.opencl, pytest.mark.compiled),
    pytest.mark.one_process("it interrupts the compiler of this process"),
]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def model():
    """A training step of a small network: several kernels, most of which write variables."""
    x = tf.placeholder(tf.float32, [None, 4])
    w = [tf.Variable(np.full((4, 4), 0.1 * (k + 1), np.float32)) for k in range(2)]
    h = tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(x, w[0])), w[1]))
    loss = tf.reduce_mean(tf.square(h - x))
    return x, [tf.train.AdamOptimizer(0.1).minimize(loss), loss], w


def interrupted_at(number, place, monkeypatch):
    """Sends SIGINT at the call of this number of a method of `ProgramLibrary`; returns the list of calls."""
    real, calls = getattr(ProgramLibrary, place), []

    def method(*args):
        calls.append(args)
        if len(calls) == number:
            interrupt()
        return real(*args)

    monkeypatch.setattr(ProgramLibrary, place, method)
    return calls


@pytest.mark.parametrize("place", ["_build", "first_launch"])
def test_building_and_first_launches(place, monkeypatch):
    with tf.Graph().as_default():
        x, fetches, variables = model()
        initializer = tf.global_variables_initializer()
        with tf.Session() as session:
            session.run(initializer)
            before = session.run(variables)
            loss = session.run(fetches, {x: X})[1]
            after = session.run(variables)
        number = 0
        while True:
            number += 1
            with tf.Session() as session, monkeypatch.context() as patch:
                session.run(initializer)
                session.run(variables)
                tf.clear_caches("generated programs")
                calls = interrupted_at(number, place, patch)
                try:
                    session.run(fetches, {x: X})
                except KeyboardInterrupt:
                    assert len(calls) == number, "nothing more is built or launched"
                    patch.undo()
                    for old, new in zip(before, session.run(variables), strict=True):
                        np.testing.assert_array_equal(old, new)
                    assert session.run(fetches, {x: X})[1] == loss
                else:
                    assert len(calls) <= number
                for good, value in zip(after, session.run(variables), strict=True):
                    np.testing.assert_array_equal(good, value)
            if len(calls) < number:
                break
        assert number > 2


@pytest.mark.parametrize(("module", "name"), [(codegen, "lower"), (session_compile, "place")])
def test_passes_and_code_generation_are_interrupted_at_once(module, name, monkeypatch):
    with tf.Graph().as_default(), tf.Session() as session, monkeypatch.context() as patch:
        x = tf.placeholder(tf.float32, [None])

        end = threading.Event()

        def slow(*args):
            interrupt()
            end.wait(300)

        y = tf.sqrt(x) + 1.0
        patch.setattr(module, name, slow)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            session.run(y, {x: [4.0]})
        with pytest.raises(KeyboardInterrupt):  # also while a thread of its own compiles, because there is a deadline
            if name == "lower":
                patch.setattr(module, name, slow)
                session.run(y, {x: [4.0]}, options=tf.RunOptions(timeout_in_ms=60_000))
            else:
                interrupt()
        assert time.monotonic() - begin < 200  # and not the time that compiling takes
        end.set()
        patch.undo()
        assert session.run(y, {x: [4.0, 9.0]}).tolist() == [3.0, 4.0]


class Lines:
    def show(self, wait):
        sys.stderr.write(f"{wait.text()}\n")


def test_the_line_counts_clusters_and_kernels(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(progress, "SECONDS_PER_DRAWING", 0.001)
    monkeypatch.delenv("TFNB_QUIET", raising=False)
    # A line for each state: the view of a terminal rewrites one, and nothing goes to other streams.
    monkeypatch.setattr(progress._progress, "make_view", Lines)
    with tf.Graph().as_default(), tf.Session() as session:
        x, fetches, _ = model()
        session.run(tf.global_variables_initializer())
        capsys.readouterr()
        real = ProgramLibrary._build
        monkeypatch.setattr(ProgramLibrary, "_build", lambda *args: time.sleep(0.05) or real(*args))
        tf.clear_caches("generated programs")
        session.run(fetches, {x: X})
        sys.stderr.flush()
    lines = capsys.readouterr().err.splitlines()
    assert any(re.search(r" of \d clusters? · .* kernels? · ", line) for line in lines), lines
    assert re.match(r"tfnb: compiled · \d clusters? · ", lines[-1]), lines
