"""The compiler's stages and OpenCL of a run, and its times, told by the nodes of the drawing."""

from __future__ import annotations

import threading
import time

import pytest

import tfnb as tf
from tfnb.notebook.protocol import builder_details

pytestmark = pytest.mark.opencl

PROGRAM = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 64])
h = tf.layers.dense(x, 32, activation=tf.nn.relu)
y = tf.exp(h) * 2.0
with tf.device('/cpu:0'):
    total = tf.reduce_sum(y)
train = tf.train.GradientDescentOptimizer(0.0).minimize(total)
"""


@pytest.fixture
def asked():
    view = tf.builder(PROGRAM)
    messages = []
    view._send = messages.append
    thread = threading.Thread(target=view._work, daemon=True)
    thread.start()

    def ask(**message):
        messages.clear()
        view.answer({"request": 4, **message})
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for answer in messages:
                if answer["type"] == message["type"] and answer.get("request") == 4:
                    return answer
            time.sleep(0.01)
        raise AssertionError(messages)

    ask.view = view
    yield ask
    view.close()
    thread.join(10)


FEEDS = {"x": "np.ones([8, 64])"}


def test_the_compiler_s_stages_and_opencl_are_told_by_nodes(asked):
    assert asked(type="compiled", node="total")["needs"] == ["x"]
    answer = asked(type="compiled", node="total", feeds=FEEDS)
    assert not answer["error"] and next(s["name"] for s in answer["stages"]) and len(answer["stages"]) > 5
    assert all(s["columns"] for s in answer["stages"] if s["count"])
    clusters = answer["clusters"]
    assert {n for c in clusters for n in c["nodes"]} >= {"h", "y", "total"}
    assert any("__kernel" in source or "kernel void" in source for c in clusters for source in c["sources"])
    assert any(c["launches"] for c in clusters)
    assert "no node" in asked(type="compiled", node="nobody")["error"]


def test_the_times_of_a_step_are_laid_on_the_nodes(asked):
    answer = asked(type="profile", node="train", feeds=FEEDS)
    times = {t["node"]: t for t in answer["times"]}
    assert not answer["error"] and {"h", "train"} <= set(times)
    total = sum(t["microseconds"] for t in times.values()) + answer["other"]
    assert 0 < total and answer["microseconds"] > 0
    assert [t["start"] for t in answer["times"]] == sorted(t["start"] for t in answer["times"])
    assert all(t["device"] and t["kernels"] for t in answer["times"])


def test_devices_and_constraints_are_told(asked):
    answer = asked(type="devices")
    assert (
        answer["devices"]
        and all(d["kind"] for d in answer["devices"])
        and answer["constraints"] == {"total": "/device:CPU:0"}
    )
    name = answer["devices"][0]["name"]
    (_, drawing) = asked.view.answer(
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "device", "nodes": ["y"], "device": name}]}
    )
    assert not drawing["is_refused"] and f"with tf.device({name!r}):" in asked.view.source
    assert asked(type="devices")["constraints"]["y"] == name


def test_variants_are_compared_by_the_view(asked):
    assert "no variant" in asked(type="compare", node="y")["error"]
    asked.view.answer({"type": "gesture", "gesture": 1, "edits": [{"edit": "variant", "nodes": ["h", "y"]}]})
    answer = asked(type="compare", node="y", feeds=FEEDS)
    assert answer["differences"] == [] and answer["equal"] == ["h", "y"] and not answer["error"]


def test_answers_are_what_the_protocol_declares(asked):
    for kind, declared in (("compiled", "Compiled"), ("profile", "Profile"), ("devices", "Devices")):
        answer = asked(type=kind, node="total", feeds=FEEDS)
        assert set(answer) == set(getattr(builder_details, declared).__annotations__)
    asked.view.answer({"type": "gesture", "gesture": 1, "edits": [{"edit": "variant", "nodes": ["y"]}]})
    answer = asked(type="compare", node="y", feeds=FEEDS)
    assert set(answer) == set(builder_details.Compared.__annotations__)
    (inside,) = asked.view.answer({"type": "inside", "request": 1, "node": "h"})
    assert set(inside) == set(builder_details.Inside.__annotations__)
