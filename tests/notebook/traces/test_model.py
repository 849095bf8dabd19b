"""The timeline's lanes, table, causes and critical path, on times that are made up and on times of a real run."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.protocol.timeline import KINDS
from tfnb.notebook.traces.causes import causes, critical_path
from tfnb.notebook.traces.model import trace_model
from tfnb.notebook.traces.picture import COLOURS
from tfnb.notebook.traces.view import Timeline
from tfnb.session.config import NodeStats, StepTimes

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def kernel(name, start, end, lane="queue"):
    return NodeStats(name, "Op", CPU, start, end, 8, (name,), "kernel", lane)


def host(kind, name, start, end, lane="MainThread", **more):
    return NodeStats(name, "", "host", start, end, kind=kind, lane=lane, **more)


def test_lanes_hold_no_overlap_and_have_rows_for_what_does():
    times = StepTimes(
        [
            host("launch", "cluster", 0, 30),
            host("transfer", "to CPU:0", 2, 8),
            kernel("a", 10, 20),
            kernel("b", 20, 50),
            host("wait", "wait for CPU:0", 30, 52),
            host("host", "p", 31, 40, "tfnb-host_0"),
        ]
    )
    model = trace_model(times)
    found = [(lane.name, lane.rows) for lane in model.lanes]
    assert found == [("queue", 1), ("transfers", 1), ("MainThread", 1), ("tfnb-host_0", 1)]
    for row in set(model.row):
        mine = model.row == row
        assert (model.start[mine][1:] >= model.end[mine][:-1]).all()
    assert model.span_us == 52


def test_the_table_has_the_most_expensive_first():
    times = StepTimes([kernel("a", 0, 10), kernel("b", 10, 40), kernel("a", 40, 45), host("wait", "w", 0, 1000)])
    b, a = Timeline(times).most_expensive
    assert (b["name"], b["count"], b["total_us"], b["share"]) == ("b", 1, 30, pytest.approx(30 / 45))
    assert (a["name"], a["count"], a["total_us"], a["mean_us"], a["max_us"]) == ("a", 2, 15, 7.5, 10)


def test_a_stalled_operation_points_at_what_woke_it():
    times = StepTimes(
        [
            host("wait", "take", 0, 90, "asynchronous", woken_by="feeder", nodes=("take",)),
            host("host", "something", 10, 20, "feeder"),
            host("host", "put", 80, 91, "feeder"),
            host("wait", "wait for take", 1, 92),
        ]
    )
    times[2] = host("host", "put", 80, 89.9, "feeder")
    model = trace_model(times)
    by_name = {t.name: i for i, t in enumerate(model.events)}
    found = causes(model)
    assert found[by_name["take"]] == by_name["put"]
    assert found[by_name["wait for take"]] == by_name["take"]


def test_causes_end_before_what_they_cause():
    rng = np.random.default_rng(0)
    at = np.sort(rng.uniform(0, 1000, 300))
    kinds = rng.choice(KINDS, 300)
    times = StepTimes(
        kernel(f"k{k % 17}", a, a + 3) if kind == "kernel" else host(kind, f"h{k % 5}", a, a + rng.uniform(0, 60))
        for k, (a, kind) in enumerate(zip(at, kinds, strict=True))
    )
    model = trace_model(times)
    found = causes(model)
    some = np.flatnonzero(found >= 0)
    assert len(some) > 100 and (model.end[found[some]] < model.end[some]).all()
    assert critical_path(model, found).any()


@pytest.mark.opencl
def test_the_critical_path_of_a_step_follows_its_data():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 300], name="x")
        h = tf.matmul(x, tf.Variable(tf.ones([300, 300])), name="one")
        y = tf.reduce_sum(tf.matmul(tf.tanh(h), tf.ones([300, 40]), name="two"), name="sum")
        z = tf.py_func(lambda v: v + 1, [y], tf.float32, name="python")
        session.run(tf.global_variables_initializer())
        feed = {x: np.ones((64, 300), np.float32)}
        session.run(z, feed)
        with tf.profile(session) as recording:
            session.run(z, feed)
    view = tf.timeline(recording)
    path = [n for t in view.critical_path for n in (t.nodes or (t.name,))]
    assert path.index("one") < path.index("two") < path.index("python")
    card = view.model.card([t.name for t in view.model.events].index("one"))
    assert "test_model.py" in card["nodes"][0]["source"] and "float32" in card["nodes"][0]["shapes"][0]
    assert "1 step of" in repr(view) and "python (PyFunc)" in repr(view)
    assert len(json.loads(view.chrome_trace())["traceEvents"]) > 5


def test_colours_are_apart_for_any_vision_and_the_same_in_both_languages():
    source = (Path(__file__).parents[3] / "labextension/src/views/timeline/palette.ts").read_text()
    known = dict(re.findall(r'(\w+): \["(#\w{6})", "', source))
    assert known == COLOURS and set(KINDS) == set(COLOURS)
    rgb = np.array([[int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)] for c in COLOURS.values()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # Machado and others, 2009: full protanopia, deuteranopia, tritanopia; and all colours.
    sights = [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
    for sight in sights:
        seen = np.clip(linear @ np.array(sight).T, 0, 1)
        lab = _lab(seen)
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=2) + 1e9 * np.eye(len(lab))
        assert apart.min() > 12, (sight, apart.min())


def _lab(linear):
    """CIE L*a*b* of linear sRGB."""
    xyz = linear @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.opencl
def test_a_gradient_names_the_operation_it_is_of_and_its_line():
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(tf.ones([40, 30]))
        y = tf.matmul(tf.ones([20, 40]), w, name="product")  # the line
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y * y))
        session.run(tf.global_variables_initializer())
        with tf.profile(session) as recording:
            session.run(train)
    view = tf.timeline(recording)
    names = [n for t in view.model.events for n in t.nodes]
    (gradient,) = {n for n in names if "product_grad" in n and "MatMul" in n}
    i = next(i for i, t in enumerate(view.model.events) if gradient in t.nodes)
    (card,) = (c for c in view.model.card(i)["nodes"] if c["name"] == gradient)
    assert card["gradient_of"] == "product" and "# the line" in card["source"]


def test_the_picture_shows_names_as_text_and_stays_small():
    evil = "<script>alert(1)</script>"
    times = StepTimes(kernel(evil if k % 2 else "b", k, k + 0.9) for k in range(20_000))
    html = Timeline(times)._repr_html_()
    assert evil not in html and "&lt;script&gt;" in html
    assert len(html) < 200_000
    with pytest.raises(tf.errors.InvalidArgumentError, match="nothing was recorded"):
        tf.timeline(tf.RunMetadata())
    with pytest.raises(tf.errors.InvalidArgumentError, match="step statistics"):
        tf.timeline(3)
    with pytest.raises(tf.errors.NotFoundError, match="no/trace"):
        tf.timeline("no/trace.json")
