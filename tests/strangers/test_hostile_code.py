"""What a browser or a notebook sends runs nothing: programs of a grammar, of which each would leave a marker file."""

import os
import pickle
import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tests.support.rounds import rounds
from tfnb.notebook.builder.document import Document

sys.path.insert(0, str(Path(__file__).parent))

from hostile_python import CALLS, SINKS, programs

NET = "import tfnb as tf\nx = tf.ones([2])\ny = tf.nn.relu(x)\n"


class Marking:
    """Leaves a marker when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files that a text may run; `changes()` are those that it has made."""
    inside = tmp_path / "notebook"
    inside.mkdir()
    (inside / "helper_beside.py").write_text(f"open({str(inside / 'marker')!r}, 'w')\n")
    (inside / "beside_the_notebook.py").write_text(f"open({str(inside / 'marker')!r}, 'w')\n")
    (inside / "script.py").write_text(f"open({str(inside / 'marker')!r}, 'w')\n")
    (inside / "pickle.npy").write_bytes(pickle.dumps(Marking(str(inside / "marker"))))
    monkeypatch.chdir(inside)
    monkeypatch.syspath_prepend(str(inside))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return inside


def words(folder):
    path = str(folder / "marker")
    return {
        "PATH": path,
        "DIR": str(folder),
        "SCRIPT": str(folder / "script.py"),
        "PICKLE": pickle.dumps(Marking(path)),
        "PICKLE_FILE": str(folder / "pickle.npy"),
        "TEXT": f"x = open({path!r}, 'w')",
    }


def state(folder):
    """What must stay as it was: the files, where the process is, and what later imports and programs find."""
    files = sorted(os.listdir(folder))
    return files, os.getcwd(), list(sys.path), sys.getrecursionlimit(), os.environ.get("TFNB_MARK"), tf.nn.relu, open


def test_there_are_two_hundred_ways():
    assert len(set(SINKS)) >= 200 and len(set(CALLS)) >= 60


@pytest.mark.parametrize("is_trusted", [False, True])
def test_documents_run_nothing(folder, is_trusted):
    """The same holds of texts that were run: a text that does more than build is not run a second time."""
    before, r = state(folder), random.Random(17 + is_trusted)
    for source in programs(r, rounds(100, 20_000), words(folder)):
        document = Document(source, known={"np": np, "os": os, "sys": sys}, is_trusted=is_trusted)
        assert document.built is not None and state(folder) == before, source


def test_messages_of_a_browser_run_nothing(folder):
    """The source that a page sends for a cell, texts in forms, what is pasted, feeds; and questions about all these."""
    before, r = state(folder), random.Random(19)
    view = tf.builder(NET)
    for source in programs(r, rounds(20, 5_000), words(folder)):
        lines = [line for line in source.splitlines() if line.strip()]
        edits = r.choice(
            [
                [{"edit": "source", "source": source}],
                [{"edit": "source", "source": source}],
                [{"edit": "set", "node": "y", "name": "features", "text": lines[-1].removeprefix("y = ")}],
                [{"edit": "set", "node": "y", "name": "name", "text": lines[-1].removeprefix("y = ")}],
                [{"edit": "paste", "text": source, "position": None}],
                [{"edit": "add", "call": lines[-1], "wires": [], "to": [], "position": None, "parameters": {}}],
                [
                    {
                        "edit": "add",
                        "call": "tf.zeros",
                        "wires": [],
                        "to": [],
                        "position": None,
                        "parameters": {"shape": lines[-1].removeprefix("y = ")},
                    }
                ],
                [{"edit": "rename", "node": "y", "name": lines[-1]}],
                [{"edit": "note", "id": "", "text": source, "before": "y"}],
            ]
        )
        view.answer({"type": "gesture", "gesture": 1, "edits": edits})
        for node in ("x", "y"):
            view.answer({"type": "inside", "request": 1, "node": node})
            view.answer({"type": "palette", "request": 1, "text": "re", "wire": {"node": node, "output": 0}})
            view.answer({"type": "targets", "request": 1, "wire": {"node": node, "output": 0}})
        assert state(folder) == before, edits
        view.answer({"type": "gesture", "gesture": 2, "edits": [{"edit": "source", "source": NET}]})
    view.close()


@pytest.mark.opencl
def test_feeds_of_a_browser_run_nothing(folder):
    before, r = state(folder), random.Random(23)
    view = tf.builder("import tfnb as tf\nx = tf.placeholder(tf.float32)\ny = tf.nn.relu(x)\n")
    view._send = lambda message, *buffers: None
    view._namespace.maps[0].update(np=np, tf=tf, os=os, sys=sys, **words(folder))

    def run(feeds):
        assert view._router.answer({"type": "run", "node": "y", "feeds": feeds}) == []
        view._router.run_waiting(threading.Event())

    for sink in SINKS:
        for call in ("F(A)", "(lambda f: f(A))(F)", "[F(A) for _ in [1]]", "next(F(A) for _ in [1])", "F"):
            text = call.replace("F", sink[1]).replace("(A)", f"({sink[2]})")
            run({"x": text})
            assert state(folder) == before, text
    messages = []
    view._send = lambda message, *buffers: messages.append(message)
    run({"x": "np.full([3], 2.0).astype(np.float32) * 2"})
    assert messages[-1]["values"][0]["largest"] == 4.0, (r, messages)
    view.close()
