"""Where messages of the browser go, with a document and runs that only note what they are asked."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder import widget
from tfnb.notebook.builder.messages.routing import Router


class Asked:
    """Stands for the document and for the runs."""

    def __init__(self):
        self.calls = []
        self.probes = SimpleNamespace(wanted=[])

    def apply(self, message):
        self.calls.append(f"apply {message['type']}")
        if message["type"] == "broken":
            raise ZeroDivisionError("by zero")
        return [{"type": "source"}]

    def drawing(self, full):
        return {"type": "drawing", "full": full, "gesture": 0, "message": "", "is_refused": False}

    def remember(self, feeds):
        self.calls.append(f"remember {feeds}")

    def request(self, _document, node):
        if node == "wrong":
            raise InvalidArgumentError("no such node")
        return f"request of {node}"

    def run(self, node, request):
        return {"type": "result", "node": node, "text": request}

    def stop(self):
        self.calls.append("stop")


@pytest.fixture
def routed():
    asked, sent = Asked(), []
    return Router(asked, asked, threading.RLock(), sent.append), asked, sent


def test_edits_are_answered_at_once_and_runs_later_in_their_order(routed):
    router, asked, sent = routed
    assert router.answer({"type": "run", "node": "b", "feeds": {"x": "1"}}) == []
    assert router.answer({"type": "gesture"}) == [{"type": "source"}]
    assert router.answer({"type": "run", "node": "a"}) == []
    assert asked.calls == ["remember {'x': '1'}", "apply gesture", "remember {}"] and sent == []
    router.run_waiting(threading.Event())
    assert [(m["node"], m["text"]) for m in sent] == [("b", "request of b"), ("a", "request of a")]
    router.run_waiting(threading.Event())
    assert len(sent) == 2


def test_nothing_is_run_after_the_end(routed):
    router, _, sent = routed
    router.answer({"type": "run", "node": "a"})
    ended = threading.Event()
    ended.set()
    router.run_waiting(ended)
    assert sent == []


def test_a_run_that_cannot_be_done_says_why_and_the_next_one_is_done(routed):
    router, _, sent = routed
    for node in ("wrong", "a"):
        router.answer({"type": "run", "node": node})
    router.run_waiting(threading.Event())
    assert [(m["node"], m.get("error")) for m in sent] == [("wrong", "no such node"), ("a", None)]


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ({"type": "broken", "gesture": 7}, "drawing", "this did not work: ZeroDivisionError: by zero"),
        ({"type": "train", "node": "t", "loss": "l", "feeds": {}, "steps": "many"}, "training", "this did not work"),
        ({"type": "train"}, "training", "this did not work: KeyError: 'feeds'"),
        ({"type": "probes"}, "drawing", "this did not work: KeyError: 'wires'"),
        ({}, "drawing", "this did not work: KeyError: 'type'"),
    ],
)
def test_a_message_that_fails_is_answered_with_the_reason(routed, message, kind, text):
    (answer,) = routed[0].answer(message)
    assert answer["type"] == kind and answer["message"].startswith(text)
    if kind == "drawing":  # with all nodes, since the browser may have changed something
        assert answer["is_refused"] and answer["full"] and answer["gesture"] == message.get("gesture", 0)


def test_a_number_of_a_gesture_that_is_no_number_is_not_sent_back(routed):
    (answer,) = routed[0].answer({"type": "broken", "gesture": "<b>"})
    assert answer["gesture"] == 0


def test_the_picture_is_drawn_in_a_pause_or_after_a_long_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(widget, "time", SimpleNamespace(monotonic=lambda: now[0]))
    age = widget.PictureAge()
    now[0] += 1000
    assert not age.is_old and not age.is_time_to_draw()
    age.message_came()
    age.picture_is_old()
    assert age.is_old and not age.is_time_to_draw()
    now[0] += widget.SECONDS_TO_PICTURE
    assert age.is_time_to_draw()
    for _ in range(20):  # gestures follow each other
        age.message_came()
        age.picture_is_old()
        now[0] += widget.SECONDS_TO_PICTURE / 2
    assert age.is_time_to_draw()
    age.picture_is_drawn()
    assert not age.is_old and not age.is_time_to_draw()
