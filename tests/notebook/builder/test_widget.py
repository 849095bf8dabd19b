"""The builder's view without a browser: a message in, messages out; runs, trainings, and the end of both."""

import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DataLossError, DTypeError, NotFoundError

pytestmark = pytest.mark.opencl

PROGRAM = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.Variable(tf.zeros([2, 1]), name="w")
y = tf.matmul(x, w)
t = tf.placeholder(tf.float32, [None, 1], name="t")
loss = tf.reduce_mean(tf.square(y - t))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
"""
HOSTILE = "<img src=x onerror=alert(1)>"


class Outbox:
    """Takes the place of the comm: what the view sends from its thread."""

    def __init__(self, view):
        self.messages = []
        view._send = self.messages.append
        self.thread = threading.Thread(target=view._work, daemon=True)
        self.thread.start()

    def wait(self, kind, until=lambda message: True, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.messages:
                if message["type"] == kind and until(message):
                    return message
            time.sleep(0.005)
        raise AssertionError(f"no {kind} came: {self.messages}")


@pytest.fixture
def view():
    view = tf.builder(PROGRAM)
    yield view
    view.close()


@pytest.fixture
def outbox(view):
    outbox = Outbox(view)
    yield outbox
    view.close()
    outbox.thread.join(10)
    assert not outbox.thread.is_alive()


def gesture(view, *edits, number=1):
    return view.answer({"type": "gesture", "gesture": number, "edits": list(edits)})


def test_open_edit_and_undo(view):
    source, drawing = view.answer({"type": "open"})
    assert drawing["order"] == ["x", "w", "y", "t", "loss", "train"] and source["source"] == PROGRAM
    source, drawing = gesture(view, {"edit": "rename", "node": "y", "name": "result"}, number=7)
    assert drawing["gesture"] == 7 and "result = tf.matmul(x, w)" in source["source"] == view.source
    assert view["result"].graph is view.graph
    assert view.answer({"type": "undo", "gesture": 8})[0]["source"] == PROGRAM


def test_what_is_refused_changes_nothing(view):
    for message in (
        {"type": "gesture", "gesture": 3, "edits": [{"edit": "delete", "nodes": ["nobody"], "heal": False}]},
        {"type": "gesture", "gesture": 3, "edits": [{"edit": "unheard of"}]},
        {"type": "gesture", "gesture": 3},
        {"type": "nonsense"},
    ):
        for reply in view.answer(message):
            assert reply["is_refused"] and reply["message"]
        assert view.source == PROGRAM
    assert view.answer({"type": "train", "node": "nobody", "loss": "", "steps": 1, "feeds": {}})[0]["state"] == "failed"


def test_run_to_here(view, outbox):
    view.answer({"type": "run", "node": "y", "feeds": {}})
    result = outbox.wait("result")
    assert result["needs"] == ["x"] and "np.ones" in result["error"]
    view.answer({"type": "run", "node": "y", "feeds": {"x": "np.ones([3, 2])"}})
    result = outbox.wait("result", lambda message: not message["error"])
    assert [(v["name"], v["shape"], v["largest"]) for v in result["values"]] == [("y", [3, 1], 0.0)]
    outbox.messages.clear()
    view.answer({"type": "run", "node": "w", "feeds": {"x": "1 / 0"}})  # not needed, so not computed
    assert outbox.wait("result")["error"] == ""
    outbox.messages.clear()
    view.answer({"type": "run", "node": "y", "feeds": {}})
    assert "feed of x: ZeroDivisionError" in outbox.wait("result")["error"]
    assert view.session.graph is view.graph


@pytest.mark.parametrize("wrong", ["np.ones([3, 7])", "no_such_name", "[[1], [2, 3]]"])
@pytest.mark.parametrize("kind", ["run", "compiled", "profile", "train"])
def test_a_wrong_feed_is_asked_for_again_and_not_remembered(view, outbox, wrong, kind):
    request = {"type": kind, "node": "y", "request": 5, "loss": "", "steps": 3, "feeds": {"x": wrong}}
    answer = {"train": "training"}.get(kind, {"run": "result"}.get(kind, kind))
    view.answer(request)
    refused = outbox.wait(answer)
    assert refused["needs"] == ["x"]
    assert "feed of x" in (refused.get("error") or refused["message"])
    outbox.messages.clear()
    outbox.messages.extend(view.answer({**request, "feeds": {}}))  # the kernel has forgotten it
    assert "needs a value" in str(outbox.wait(answer, lambda message: message["needs"] == ["x"]))
    outbox.messages.clear()
    view.answer({**request, "feeds": {"x": "np.ones([3, 2])"}})
    outbox.wait(answer, lambda message: not message["needs"] and message.get("state", "done") == "done")


def test_training_ends_by_its_steps_or_by_stop(view, outbox):
    feeds = {"x": "np.eye(2)", "t": "[[step * 0.0 + 1.0], [2.0]]"}
    request = {"type": "train", "node": "train", "loss": "loss", "steps": 200, "feeds": feeds}
    assert view.answer(request) == []
    end = outbox.wait("training", lambda message: message["state"] != "running")
    assert (end["state"], end["step"]) == ("done", 200) and end["value"] < 1e-3
    np.testing.assert_allclose(view.session.run(view["w"]), [[1.0], [2.0]], atol=0.05)
    np.testing.assert_allclose(view.run("y", {"x": [[1.0, 1.0]]}), [[3.0]], atol=0.1)
    assert end["node"] == "loss"

    # The trained values go on in the graph that an edit makes, also while a training runs.
    assert view.answer({**request, "steps": 10**6}) == []
    outbox.wait("training", lambda message: message["state"] == "running" and message["step"] > 200)
    assert "runs already" in view.answer(request)[0]["message"]
    gesture(view, {"edit": "rename", "node": "y", "name": "result"})
    view.answer({"type": "run", "node": "w", "feeds": {}})
    assert outbox.wait("result")["values"][0]["largest"] == pytest.approx(2.0, abs=0.05)
    view.answer({"type": "stop", "node": "train", "loss": "", "steps": 0, "feeds": {}})
    assert outbox.wait("training", lambda message: message["state"] == "stopped")["message"] == "stopped"


def test_closing_ends_a_training():
    view = tf.builder(PROGRAM)
    outbox = Outbox(view)
    feeds = {"x": "np.eye(2)", "t": "np.ones([2, 1])"}
    view.answer({"type": "train", "node": "train", "loss": "loss", "steps": 10**7, "feeds": feeds})
    outbox.wait("training")
    view.close()
    view.close()
    assert outbox.messages[-1]["state"] == "stopped"
    assert not [t for t in threading.enumerate() if t.name == "tfnb-builder-training"]
    outbox.thread.join(10)
    assert not outbox.thread.is_alive()


def test_the_picture_is_xml_and_shows_texts_as_texts():
    view = tf.builder(f'import tfnb as tf\n\na = tf.constant("{HOSTILE}", name="a")\nb = tf.matmul(a, a)\n')
    html = view._repr_html_()
    root = ET.fromstring(f"<div>{html}</div>")
    assert "<img" not in html and HOSTILE in "".join(root.itertext())
    assert root.find(".//{http://www.w3.org/2000/svg}svg") is not None and root.find(".//pre") is not None
    assert "empty" in tf.builder()._repr_html_()
    with_positions = view.answer(
        {"type": "gesture", "gesture": 1, "edits": [{"edit": "move", "positions": {"a": [5, 6], "b": [300, 80]}}]}
    )[0]
    assert with_positions["positions"]["b"] == [300, 80]
    assert view._repr_html_() != html
    view.close()


def test_graphs_and_files(tmp_path):
    with tf.Graph().as_default() as graph:
        w = tf.Variable([[1.0, 2.0]], name="w")
        tf.matmul(w, w, transpose_b=True, name="y")
    tf.train.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    (tmp_path / "broken.pb").write_bytes(b"\x00\x01")
    for given in (graph, graph.as_graph_def(), tmp_path / "model.pb", str(tmp_path / "model.pb")):
        view = tf.builder(given)
        assert [op.type for op in view.graph.get_operations()] == [op.type for op in graph.get_operations()]
        view.close()
    with tf.Session(graph=graph) as session:
        session.run(w.initializer)
    with pytest.raises(NotFoundError):
        tf.builder(str(tmp_path / "absent.pb"))
    with pytest.raises(DataLossError):
        tf.builder(tmp_path / "broken.pb")
    with pytest.raises(DTypeError):
        tf.builder(7)


MAGIC = r"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(text):
    result = shell.run_cell(text)
    assert result.success, text
    return result.result
cell("import tfnb as tf")
assert not {"anywidget", "pyopencl"} & set(sys.modules)
view = cell("%%tfnb_build model\nx = tf.ones([2])\ny = x * size\n")
assert shell.user_ns["model"] is view and view.source == "x = tf.ones([2])\ny = x * size\n"
cell("size = 3.0")
view.source = view.source + "z = y + 1.0\n"
assert view["z"].graph is view.graph
view.to_cell()
assert shell.rl_next_input == view.source
assert not shell.run_cell("%%tfnb_build 1x\n").success
view.close()
"""


def test_magic():
    done = subprocess.run([sys.executable, "-c", MAGIC], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_large_graph_is_drawn_before_it_is_imported(outbox):
    with tf.Graph().as_default() as graph:
        for _ in range(2_500):
            tf.constant(1.0)
    view = tf.builder(graph)
    messages = []
    view._send = messages.append
    thread = threading.Thread(target=view._work, daemon=True)
    thread.start()
    (_, drawing) = view.answer({"type": "open"})
    assert view._document._built.is_deferred and len(drawing["changed"]) == 1
    assert not view._document._built.graph.get_operations()
    view._received(None, {"type": "inside", "request": 1, "node": drawing["order"][-1]}, None)
    assert messages[0]["count"] == 2_500
    pick = {"type": "gesture", "gesture": 1, "edits": [{"edit": "pick", "operation": "Const_7", "output": 0}]}
    assert view.answer(pick)[1]["selected"] == ["const_7"]  # at once, of the part that is needed
    assert view._document._built.is_deferred
    end = time.monotonic() + 20
    while time.monotonic() < end and len(messages) < 2:
        time.sleep(0.01)
    assert messages[1]["type"] == "drawing" and not view._document._built.is_deferred
    assert len(view.graph.get_operations()) == 2_500
    view.close()
    thread.join(10)
