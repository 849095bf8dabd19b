"""What a variable, array, queue, table or iterator holds has another shape at each step, by every way to write it.

Each step is compared with a model of NumPy, with a session in which the step is the first one, and with what
TensorFlow 1.15.5 returned. The device's memory is guarded, so that a kernel that writes too far is an error.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rounds import rounds

import tfnb as tf
from strangers import changing_shapes as program

pytestmark = pytest.mark.opencl
STORED = json.loads(Path(__file__).with_name("changing_shapes.json").read_text())


@pytest.fixture(autouse=True)
def guarded(monkeypatch):
    monkeypatch.setenv("TFNB_GUARD", "1")


class Beside:
    """A session with the same graph in which each step is the first one that its shapes see."""

    def __init__(self, built, config=None):
        self.built, self.config = built, config

    def __call__(self, name, values, way, feed):
        ways = self.built.writes
        with tf.Session(config=self.config) as session:
            for other, value in values.items():
                if other in (name, "r"):  # a step of one may read the resource
                    session.run(ways[other]["first"], {self.built.x: value.astype(np.float32)})
            session.run(ways[name][way], feed)
            return [session.run(self.built.reads[name][0])]


def follow(built, session, seed, n_steps, folder, beside=None):
    """Runs the steps, each of which must return what the model says; returns the checksums without `beside`."""
    found = []
    for done, values, right in program.run(built, session, seed, n_steps, str(folder), beside):
        for value, expected in zip(values, right, strict=True):
            assert np.asarray(value).dtype == np.asarray(expected).dtype, done
            np.testing.assert_array_equal(value, expected, err_msg=str(done))
        found.append(program.checksum(values[:-1] if beside is not None and done[1] in program.VARIABLES else values))
    return found


@pytest.mark.parametrize("seed", range(rounds(2, program.SEEDS)))
def test_each_step_returns_what_tensorflow_does(seed, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        n_steps = rounds(30, program.STEPS)
        found = follow(program.Program(tf), session, seed, n_steps, tmp_path)
        assert found == STORED["checksums"][str(seed)][:n_steps]


@pytest.mark.parametrize("seed", range(100, 100 + rounds(1, 24)))
def test_no_step_depends_on_the_shapes_before(seed, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        built = program.Program(tf)
        follow(built, session, seed, rounds(10, program.STEPS), tmp_path, Beside(built))


@pytest.mark.parametrize("optimize", ["0", "1"])
@pytest.mark.parametrize("seed", range(200, 200 + rounds(1, 8)))
def test_on_another_device(seed, optimize, tmp_path, monkeypatch):
    monkeypatch.setenv("TFNB_OPTIMIZE", optimize)
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        follow(program.Program(tf, "/cpu:1"), session, seed, rounds(15, program.STEPS), tmp_path)


@pytest.mark.parametrize("seed", range(300, 300 + rounds(1, 6)))
def test_at_a_server(seed, tmp_path):
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        follow(program.Program(tf), session, seed, rounds(10, program.STEPS), tmp_path)
