"""What an exercise takes for right is what tfnb does: the checkpoints that a saver keeps, the tensors that are sent."""

from __future__ import annotations

import os

import pytest

import tfnb as tf
from tfnb.lessons.exercises import many_devices, profile, save_and_restore
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
