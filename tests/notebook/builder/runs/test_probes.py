"""Probes of a training: values of its own steps, at most 3 % of its time."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.builder.runs.probes import SHARE, Probes

TRAINING = """import tfnb as tf

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
w = tf.Variable(tf.ones([2, 1]))
y = tf.matmul(x, w)
loss = tf.reduce_mean(tf.square(y))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
"""


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def stepped(cost, steps=20_000, plain=0.001, compiling=1.0):
    """Steps of a training of which probed ones take `cost` longer, the first of them `compiling` more."""
    with tf.Graph().as_default():
        y = tf.constant(1.0, name="y")
    clock, reports = Clock(), []
    probes = Probes(clock)
    probes.begin({("y", 0): y})
    probes.wanted = [("y", 0), ("gone", 3)]
    spent = 0.0
    for k in range(1, steps + 1):

        def run(tensors, k=k):
            nonlocal spent
            clock.now += plain
            if tensors:
                extra = cost + (compiling if not reports else 0.0)
                clock.now += extra
                spent += cost
            return k, [np.float32(k)] * len(tensors)

        assert probes.step(k, run, reports.append) == k
    return reports, spent, clock.now - compiling


@pytest.mark.parametrize("cost", [0.0, 0.0001, 0.002, 0.05])
def test_probes_take_at_most_3_percent_of_the_time(cost):
    reports, spent, whole = stepped(cost)
    assert len(reports) >= 5 and spent <= SHARE * whole + 2 * cost
    assert all(r["value"]["text"] == str(r["step"]) and (r["node"], r["output"]) == ("y", 0) for r in reports)


def test_without_probes_nothing_is_fetched():
    clock = Clock()
    probes = Probes(clock)
    probes.begin({})
    assert [probes.step(k, lambda tensors: (len(tensors), []), lambda _: None) for k in range(3)] == [0, 0, 0]


@pytest.mark.opencl
def test_what_a_probe_shows_are_the_values_of_its_step():
    view = tf.builder(TRAINING)
    points = []
    view._send = points.append
    view.answer({"type": "probes", "wires": [["y", 0], ["w", 0], ["nobody", 0]]})
    view.answer({"type": "train", "node": "train", "loss": "loss", "steps": 40, "feeds": {}})
    view._runs._training.join()
    probed = [p for p in points if p["type"] == "probed"]
    assert points[-1]["state"] == "done" and {p["node"] for p in probed} == {"y", "w"}
    # The same training by hand: what y is in each step.
    with tf.Graph().as_default(), tf.Session() as session:
        names = {}
        exec(TRAINING, names)
        session.run(tf.global_variables_initializer())
        wanted = [session.run([names["y"], names["train"]])[0] for _ in range(40)]
    for point in probed:
        if point["node"] == "y":
            assert point["value"]["mean"] == pytest.approx(float(wanted[point["step"] - 1].mean()), rel=1e-5)
    view.close()
