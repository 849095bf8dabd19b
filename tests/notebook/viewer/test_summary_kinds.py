"""Each kind of summary goes the way that CONTRIBUTING.md describes: op, event file, reader, message, card."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.protocol.viewer import KINDS
from tfnb.notebook.viewer.content import ITEM_MAKERS, MOST_STEPS, content_of, scalars_of
from tfnb.notebook.viewer.sources import sources_of
from tfnb.notebook.viewer.state import ViewState, Wanted
from tfnb.summary.item import Item
from tfnb.summary.reader import LogReader

VIEWS = Path(__file__).resolve().parents[3] / "labextension" / "src" / "views" / "viewer"

# For each kind of the viewer the public function that makes a summary of it.
SUMMARIES = {
    "scalar": lambda: tf.summary.scalar("it", 2.5),
    "histogram": lambda: tf.summary.histogram("it", [1.0, 2.0, 4.0]),
    "image": lambda: tf.summary.image("it", np.zeros((1, 4, 4, 3), np.uint8), max_outputs=1),
    "audio": lambda: tf.summary.audio("it", np.zeros((1, 80, 1), np.float32), 8000.0, max_outputs=1),
    "text": lambda: tf.summary.text("it", tf.constant("some words")),
    "tensor": lambda: tf.summary.tensor_summary("it", [[1.0, 2.0]]),
}


def test_every_kind_has_its_summary_and_its_tables():
    assert set(SUMMARIES) == set(KINDS)
    assert set(ITEM_MAKERS) == set(MOST_STEPS) == set(KINDS) - {"scalar"}


@pytest.fixture
def run(tmp_path, request):
    """The run that a reader finds after a session wrote one summary of the kind at step 3."""
    with tf.Graph().as_default(), tf.Session() as sess:
        value = sess.run(SUMMARIES[request.param]())
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(value, 3)
    reader = LogReader(tmp_path)
    assert reader.poll()
    return reader.runs["."]


@pytest.mark.parametrize(("run", "kind"), [(k, k) for k in KINDS], indirect=["run"])
def test_a_summary_arrives_as_a_message_of_its_kind(run, kind):
    if kind == "scalar":
        assert list(run.scalars) == ["it"] and not run.items
        content = scalars_of("it", [(0, run)], 100)
        (curve,) = content["curves"]
        assert np.frombuffer(curve["value"]).tolist() == [2.5] and np.frombuffer(curve["step"]).tolist() == [3]
    else:
        ((tag, items),) = run.items.items()
        assert [(i.kind, i.step) for i in items] == [(kind, 3)] and tag.startswith("it")
        message = ITEM_MAKERS[kind](items[0])
        assert not (isinstance(message, dict) and "note" in message), message
        content = content_of(kind, tag, [(0, run)])
        assert len(content["runs"]) == 1 and content["left_out"] == 0
    assert content["kind"] == kind


@pytest.mark.parametrize("kind", ["histogram", "text"])
def test_the_tags_of_one_event_are_read_with_one_parse_of_it(tmp_path, monkeypatch, kind):
    """Each card parsed the whole event, which may hold 100,000 tags."""
    with tf.Graph().as_default(), tf.Session() as sess:
        make = {"histogram": tf.summary.histogram, "text": lambda tag, x: tf.summary.text(tag, tf.as_string(x))}[kind]
        value = sess.run(tf.summary.merge([make(f"t{i}", tf.constant([float(i)])) for i in range(20)]))
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(value, 3)
    loaded = []
    load = Item.load
    monkeypatch.setattr(Item, "load", lambda item: loaded.append(item.tag) or load(item))
    state = ViewState(sources_of(tmp_path))
    state.catalogue()
    contents = state.contents(Wanted(kind), True)
    assert len(contents) == 12 and len(loaded) == 1
    for content in contents:
        (run,), number = content["runs"], float(content["tag"][1:])
        if kind == "text":
            assert str(number) in str(run["items"][0])
        else:
            assert np.isclose(np.frombuffer(run["levels"]), number, rtol=0.2).all() and run["total"] == 1


def test_every_kind_has_a_card():
    text = (VIEWS / "viewer.ts").read_text(encoding="utf-8")
    table = re.search(r"const CARDS = \{(.*?)\}", text, re.DOTALL).group(1)
    cards = dict(re.findall(r"(\w+): (\w+)", table))
    assert set(cards) == set(KINDS)
    code = "".join(path.read_text(encoding="utf-8") for path in VIEWS.glob("*.ts"))
    for card in cards.values():
        assert re.search(rf"export class {card}\b", code), card
