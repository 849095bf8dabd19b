"""What an exercise takes for right is what tfnb does: checkpoints that are kept, tensors that are sent, names of cells."""

from __future__ import annotations

import os

import pytest

import tfnb as tf
from tfnb.lessons.exercises import many_devices, old_programs, profile, save_and_restore
from tfnb.lessons.graph_function import Built

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the sessions have devices of their own")]


@pytest.mark.parametrize("k", range(len(save_and_restore._SAVES)))
def test_a_saver_keeps_what_is_predicted(tmp_path, k):
    saves, max_to_keep, keep_best = save_and_restore._SAVES[k]
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.Variable(1.0).initializer)
        saver = tf.train.Saver(max_to_keep=max_to_keep, keep_best=keep_best)
        for step, accuracy in saves:
            saver.save(session, str(tmp_path / "model"), step, metric=accuracy)
    there = sorted(int(name[len("model-") : -len(".index")]) for name in os.listdir(tmp_path) if ".index" in name)
    assert there == save_and_restore._kept(saves, max_to_keep, keep_best)


@pytest.mark.parametrize("k", range(len(many_devices._GRAPHS)))
def test_a_session_sends_what_is_predicted(k):
    edges, devices = many_devices._GRAPHS[k]
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        nodes = {}
        for number, name in enumerate(sorted(devices)):  # an edge leads to a later name
            inputs = [nodes[a] for a, b in edges if b == name]
            with tf.device(devices[name]):
                nodes[name] = tf.add_n(inputs) + float(number) if inputs else tf.exp(x)
        metadata = tf.RunMetadata()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
            session.run(list(nodes.values()), {x: [1.0, 2.0]}, run_metadata=metadata)
    built = Built(graph, (x,), tuple(nodes.values()), metadata.passes)
    assert many_devices._sends(built) == many_devices._transfers(edges, devices)


def test_the_slow_step_is_no_faster_than_itself():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None])
        built = Built(graph, (x,), (profile._slow(x),))
    assert 0.6 < profile._times_as_fast(built) < 1.6


def _variables(era):
    """The names of the variables of two layers, in their order."""
    module = tf.install(era)
    try:
        with tf.Graph().as_default():
            cells = module.nn.rnn_cell
            layers = cells.BasicLSTMCell(4), cells.MultiRNNCell([cells.GRUCell(4), cells.BasicLSTMCell(4)])
            for k, layer in enumerate(layers):
                with module.variable_scope(f"Reader{k}"):
                    module.nn.dynamic_rnn(layer, module.zeros([2, 3, 5]), dtype=module.float32)
            return [variable.op.name for variable in module.trainable_variables()]
    finally:
        tf.uninstall()


def test_cells_have_the_names_that_are_predicted():
    then = _variables("0.12")
    assert len(then) == 8 and [old_programs._renamed(name) for name in then] == _variables("1.15")
    assert [name for name in old_programs._VARIABLES if old_programs._renamed(name) == name] == [
        "net/w",
        "Softmax/Matrix",
    ]


def test_a_loss_of_era_0_12_is_what_is_asked_for():
    scores, marks = old_programs._scores(3, 2, 1)
    module = tf.install("0.12")
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            a, b = module.split(1, 2, scores)
            parts = (a, b, module.mul(module.add(a, b), 0.5))
            losses = module.pack([module.nn.weighted_cross_entropy_with_logits(p, marks, 4.0) for p in parts])
            value = session.run(losses)
    finally:
        tf.uninstall()
    assert abs(value - old_programs._losses(scores, marks)).max() < 1e-5
