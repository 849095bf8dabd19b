"""The browser's declarations are those of Python, and what real views send is what is declared."""

import json
import runpy
import struct
import sys
import zlib
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pytest
from distributed import Client
from preloaded import local_cluster

import tfnb as tf
from tfnb.notebook.charts.loss_plot import _arrays
from tfnb.notebook.cluster_view import _state_message
from tfnb.notebook.graph.widget import LiveGraph
from tfnb.notebook.protocol import builder, builder_details, cluster, graph, loss, served, status, timeline, viewer
from tfnb.notebook.server.documents import Documents
from tfnb.notebook.status import report
from tfnb.notebook.traces.view import Timeline
from tfnb.notebook.viewer.chart_theme import chart_theme
from tfnb.notebook.viewer.sources import sources_of
from tfnb.notebook.viewer.state import ViewState, Wanted

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "browser_protocol.py"
PLAIN = {str: str, int: int, float: (int, float), bool: bool, bytes: (bytes, memoryview), NoneType: NoneType}


def differences(value, hint, place=""):
    """Where a value differs from the type that is declared for it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return []
    if is_typeddict(hint):
        if not isinstance(value, dict):
            return [f"{place}: {value!r:.40} is no {hint.__name__}"]
        hints = get_type_hints(hint)
        found = [f"{place}.{key} is missing" for key in hint.__required_keys__ - value.keys()]
        found += [f"{place}.{key} is not declared" for key in value.keys() - hints.keys()]
        return found + [
            d for key in value if key in hints for d in differences(value[key], hints[key], f"{place}.{key}")
        ]
    if origin is Literal:
        return [] if value in arguments else [f"{place}: {value!r} is not one of {arguments}"]
    if origin in (Union, UnionType):
        each = [differences(value, argument, place) for argument in arguments]
        return [] if not all(each) else min(each, key=len)
    if origin is list:
        if not isinstance(value, list | tuple):
            return [f"{place}: {value!r:.40} is no list"]
        return [d for k, one in enumerate(value) for d in differences(one, arguments[0], f"{place}[{k}]")]
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(arguments):
            return [f"{place}: {value!r:.40} is not {len(arguments)} values"]
        pairs = zip(value, arguments, strict=True)
        return [d for k, (one, argument) in enumerate(pairs) for d in differences(one, argument, f"{place}[{k}]")]
    if origin is dict:
        keys = [d for k in value for d in differences(k, arguments[0], place)]
        return keys + [d for k, v in value.items() for d in differences(v, arguments[1], f"{place}[{k}]")]
    return [] if isinstance(value, PLAIN[hint]) else [f"{place}: {value!r:.40} is no {hint.__name__}"]


def test_the_generated_files_are_current():
    script = runpy.run_path(str(SCRIPT))
    for name, text in script["generated"]().items():
        assert (script["WRITTEN"] / name).read_text("utf-8") == text, (
            f"{name}: run PYTHONPATH=. python scripts/browser_protocol.py"
        )


def test_a_difference_is_found():
    good = {"op": "csv", "tag": "a"}
    assert differences(good, viewer.FromKernel) == []
    assert differences({**good, "extra": 1}, viewer.CsvFile) == [".extra is not declared"]
    assert differences({"op": "csv"}, viewer.CsvFile) == [".tag is missing"]
    assert differences({**good, "op": "pdf"}, viewer.CsvFile) == [".op: 'pdf' is not one of ('csv',)"]
    assert differences({"runs": ["a", 1]}, viewer.Wanted)


@pytest.fixture
def runs(tmp_path):
    """Event files with every kind of summary, one of them unreadable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.Variable(tf.ones([3, 2]), name="layer/weights")
        wave = tf.sin(tf.linspace(0.0, 880.0, 400))[None, :]
        merged = tf.summary.merge(
            [
                tf.summary.scalar("loss", tf.reduce_sum(w)),
                tf.summary.histogram("w", w),
                tf.summary.image("picture", tf.ones([1, 4, 4, 1])),
                tf.summary.audio("tone", wave, 4000.0),
                tf.summary.text("words", tf.constant("some words")),
                tf.summary.tensor_summary("values", w),
            ]
        )
        sess.run(tf.global_variables_initializer())
        with tf.summary.FileWriter(tmp_path / "run", sess.graph) as writer:
            for step in range(3):
                writer.add_summary(sess.run(merged), step)
            broken = tf.Summary()
            broken.value.add(tag="picture").image.encoded_image_string = b"no image"
            writer.add_summary(broken, 3)
    return tmp_path


def test_the_viewer(runs):
    state = ViewState(sources_of(runs))
    assert differences(state.catalogue(), viewer.Catalogue) == []
    assert differences(chart_theme({}), viewer.ChartTheme) == []
    for kind in viewer.KINDS:
        contents = state.contents(Wanted(kind), True)
        assert contents and differences(contents, list[viewer.Content]) == [], kind
    pictures = [item for c in state.contents(Wanted("image"), True) for item in c["runs"][0]["items"]]
    assert len(pictures) == 4 and sum("note" in item for item in pictures) == 1


def test_documents_of_the_server(runs):
    asked = {"state": {}, "messages": [{"op": "csv", "tag": "loss"}], "first": True}
    reply = Documents().exchange("name-of-it", "events", str(runs), lambda _path: True, asked)
    assert differences(reply, served.ServedReply) == []
    state = {**reply["state"], "key": "", "wanted": {"kind": "scalar", "tags": [], "runs": []}}
    assert differences(state, viewer.ViewerState) == []
    assert differences(reply["messages"][0]["content"], viewer.FromKernel) == []


def test_a_graph():
    with tf.Graph().as_default() as g:
        tf.nn.relu(tf.constant([1.0, 2.0]), name="a/b/c")
    model = tf.show_graph(g).model
    live = LiveGraph([("", lambda: model)], {"colour": "structure"})
    message, (packed,) = live.answer({"type": "graph"})
    assert differences(message, graph.FromKernel) == []
    data = zlib.decompress(packed)
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    assert differences(head, graph.GraphHead) == []
    assert tuple(head["ints"]) == get_args(graph.IntColumn)
    for box in range(len(model.tree.parent)):
        assert differences(live.answer({"type": "card", "box": box})[0], graph.FromKernel) == []


def test_a_timeline():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.Variable([2.0])
        found = tf.gradients(tf.square(x), x)
        sess.run(tf.global_variables_initializer())
        with tf.profile(sess) as recording:
            sess.run(found)
    view = Timeline(recording)
    message, columns = view.answer({"type": "ready"})
    assert differences(message, timeline.FromKernel) == []
    sizes = [np.dtype(dtype).itemsize for dtype in timeline.COLUMNS.values()]
    assert [len(c) // size for c, size in zip(columns, sizes, strict=True)] == [len(view.model.events)] * len(sizes)
    for event in range(len(view.model.events)):
        assert differences(view.answer({"type": "card", "event": event})[0], timeline.FromKernel) == []
    assert differences(view.answer({"type": "chrome"})[0], timeline.FromKernel) == []


def test_a_loss_plot():
    plot = tf.notebook.LossPlot(stream=sys.stderr)
    plot.add(0, loss=1.0)
    plot.add(1, loss=2.0)
    (curve,) = plot._curves(100)
    assert differences(_arrays(0, curve, 2), loss.LossCurve) == []


def test_a_cluster():
    with (
        local_cluster(1) as local,
        Client(local) as client,
        tf.train.DaskCluster(client, ps=1) as tasks,
        tf.Session(tasks.target) as sess,
    ):
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(tf.ones([100]), name="w")
        sess.run(w.initializer)
        sess.run(tf.reduce_sum(w))
        status = tasks.cluster_status()
        try:
            message = _state_message(status.poll())
        finally:
            status.close()
    assert differences(message, cluster.FromKernel) == []
    assert message["state"]["sent"] and any("steps" in task for task in message["state"]["tasks"])


def test_the_status():
    with tf.Session():
        assert differences(json.loads(report()), status.Report) == []


BUILT = """import tfnb as tf


def block(v):
    w = tf.square(v)
    return w


x = tf.placeholder(tf.float32, [None, 3])
h = tf.layers.dense(x, 2)
y = block(h)
bad = tf.matmul(y, tf.zeros([5, 1]))
# frame part [#abc]: h
dx = tf.gradients(y, x)
"""


def test_the_builder():
    view = tf.builder(BUILT)
    wire = {"node": "h", "output": 0}
    asked = [
        ({"type": "open"}, builder.FromKernel),
        (
            {"type": "palette", "request": 1, "query": "relu", "wire": wire, "port": None, "count": 5},
            builder.FromKernel,
        ),
        ({"type": "targets", "request": 2, "wire": wire}, builder.ConnectTargets),
        (
            {"type": "targets", "request": 2, "wire": {"node": "w", "output": 0}, "inside": "y"},
            builder.ConnectTargets,
        ),
        ({"type": "copy", "request": 3, "nodes": ["h"]}, builder.Clipboard),
        ({"type": "copy graph", "request": 4, "nodes": ["h"]}, builder.Clipboard),
        ({"type": "inside", "request": 5, "node": "y"}, builder_details.Inside),
        ({"type": "inside", "request": 6, "node": "dx"}, builder_details.Inside),
        ({"type": "lesson", "request": 7, "lesson": ""}, builder_details.Lessons),
        ({"type": "lesson", "request": 8, "lesson": "sum"}, builder_details.Lessons),
        ({"type": "undo", "gesture": 1}, builder.Drawing),
    ]
    for message, declared in asked:
        replies = view.answer(message)
        assert replies
        for reply in replies:
            assert differences(reply, declared) == [], message["type"]
    inside = view.answer(asked[6][0])[0]
    assert [d for node in inside["nodes"] for d in differences(node, builder.BuilderNode)] == []
    view.close()
