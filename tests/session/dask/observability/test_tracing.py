"""Tensors from task to task in the times of a step: one entry each, by the master's clock; lanes by task, arrows."""

import json

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.traces.model import trace_model
from tfnb.notebook.traces.trace_file import trace_of
from tfnb.runtime.stats import HOST, StepStats
from tfnb.session.dask.observability.tracing import (
    host_of,
    join_transfers,
    note_arrivals,
    note_sent,
)

pytestmark = pytest.mark.opencl
PS, W0, W1 = (f"/job:{t}" for t in ("ps/replica:0/task:0", "worker/replica:0/task:0", "worker/replica:0/task:1"))


def test_what_sender_and_receiver_noted_becomes_one_entry():
    key = "\n".join((f"{PS}/device:CPU:0", f"{W0}/device:CPU:0", "w:0", "2"))
    lost = key.replace("w:0", "b:0")  # of which only the sender has told
    own, there = StepStats(), StepStats()
    note_sent(there, W0, [(key, 40), (lost, 8)], 0.5)
    sent = [t._replace(device=host_of(PS)) for t in there.in_order()]
    own.times += [*sent, (HOST, "f", (), 0.0, 5.0, 0, "host", "MainThread")]
    note_arrivals(own, [(key, own.begin + 900.0), ("feed 0", own.begin)])
    join_transfers(own, W0)
    found = {t.label: t for t in own.in_order()}
    assert set(found) == {"f", "w:0", "b:0"} and found["f"].device == host_of(W0)
    moved = found["w:0"]
    assert (moved.device, moved.nbytes, moved.lane, moved.start_us) == (host_of(PS), 40, "to worker 0", 0.5)
    assert moved.detail == f"from {PS}/device:CPU:0 to {W0}/device:CPU:0, iteration 2"
    assert moved.end_us == pytest.approx(900e6)
    assert found["b:0"].end_us == next(t.end_us for t in sent if t.label == lost)


@pytest.fixture(scope="module")
def cluster(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=2) as found:
        yield found


@pytest.fixture(scope="module")
def recorded(cluster):
    """Three steps in which both workers read a variable of the parameter server, which gets their sums."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(np.ones([3000, 200], np.float32), name="w")
        sums = []
        for k in range(2):
            with tf.device(f"/job:worker/task:{k}"):
                sums.append(tf.reduce_sum(tf.tanh(w), 0, name=f"sum{k}"))
        with tf.device("/job:ps/task:0"):
            total = tf.reduce_sum(sums[0] + sums[1], name="total")
        with tf.Session(cluster.target) as sess:
            sess.run(w.initializer)
            sess.run(total)
            with tf.profile(sess) as recording:
                for _ in range(3):
                    sess.run(total)
            clocks = [e.clock for e in sess._worker.membership.members.values()]
            yield recording, [(c.ahead, c.error()) for c in clocks]


def test_clocks_of_one_machine_are_found_equal(recorded):
    _, clocks = recorded
    assert len(clocks) == 3
    for ahead, error in clocks:
        assert abs(ahead) <= error < 0.25


def test_every_transfer_has_sender_receiver_key_and_bytes(recorded):
    recording, _ = recorded
    for step in recording.steps:
        moved = {(t.device, t.lane): t for t in step.times if t.kind == "transfer" and t.lane.startswith("to ")}
        for k in range(2):
            there = moved[host_of(PS), f"to worker {k}"]
            assert there.name.startswith("w") and there.nbytes == 2_400_000 and there.end_us >= there.start_us
            back = moved[host_of((W0, W1)[k]), "to ps 0"]
            assert back.name.startswith(f"sum{k}") and back.nbytes == 800
            assert f"from {(W0, W1)[k]}/" in back.detail and f"to {PS}/" in back.detail


def test_lanes_of_a_task_stand_together_and_what_came_is_a_cause(recorded):
    recording, _ = recorded
    view = tf.timeline(recording)
    groups = [lane.group for lane in view.model.lanes]
    assert [g for k, g in enumerate(groups) if not k or groups[k - 1] != g][-3:] == [PS, W0, W1]
    lanes = {(lane.group, lane.name) for lane in view.model.lanes}
    assert {(PS, "queue"), (W0, "queue"), (PS, "to worker 1"), (W1, "to ps 0")} <= lanes
    html = view._repr_html_()
    assert "worker 1" in html and "to ps 0" in html
    events, cause = view.model.events, view._causes
    arrived = [i for i, t in enumerate(events) if t.kind == "wait" and t.lane == "receive" and cause[i] >= 0]
    assert arrived and all(events[cause[i]].kind in ("transfer", "host", "launch", "kernel") for i in arrived)
    assert any(events[cause[i]].lane.startswith("to ") for i in arrived)


def test_a_chrome_trace_has_a_process_for_each_task(recorded):
    recording, _ = recorded
    trace = json.loads(tf.timeline(recording).chrome_trace())
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"}
    assert {PS, W0, W1} <= names and len(names) <= 4
    threads = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {"CPU:0 queue", "to worker 0"} <= threads
    again = trace_model(trace_of(trace))
    assert {(lane.group, lane.name) for lane in again.lanes} == {
        (lane.group, lane.name) for lane in trace_model(recording).lanes
    }


def test_the_placement_of_a_step_names_the_tasks(cluster, capsys):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(np.ones([2], np.float32), name="v")
        with tf.device("/job:worker/task:0"):
            y = tf.reduce_sum(w * 2.0, name="y")
        with tf.Session(cluster.target, config=tf.ConfigProto(log_device_placement=True)) as sess:
            sess.run(w.initializer)
            assert sess.run(y) == 4
            printed = capsys.readouterr().err
            assert f"v: (VariableV2): {PS}/device:CPU:0" in printed
            assert f"y: (Sum): {W0}/device:CPU:0" in printed
            told = sess.explain_placement(y)
            assert PS in told and W0 in told
