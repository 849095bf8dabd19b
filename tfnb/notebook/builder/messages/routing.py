"""Where the messages of the browser go: edits and questions to the document, runs and insights to a queue.

What changes the document or asks about it is answered at once; what runs the user's graph is done later by the thread
of the view, and its results are sent. Invariant: a message that fails is answered with the reason, and leaves the
document as it was.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tfnb.errors import OpError
from tfnb.notebook.builder.document import Answer, Answers, Document
from tfnb.notebook.builder.lessons.course import lesson_answer
from tfnb.notebook.builder.runs.insight import compared, compiled, devices, no_insight, profiled
from tfnb.notebook.builder.runs.running import Runs, probed_tensors
from tfnb.notebook.protocol.builder import LossPoint, TrainRequest
from tfnb.notebook.protocol.builder_details import LessonRequest

__all__ = ["Router"]

_INSIGHTS: Mapping[str, Any] = {"compiled": compiled, "profile": profiled, "compare": compared, "devices": devices}


class Router:
    """`lock` is that of the document; `send` takes what no message waits for: results of runs and points of losses."""

    def __init__(self, document: Document, runs: Runs, lock: threading.RLock, send: Callable[[Answer], None]) -> None:
        self._document, self._runs, self._lock, self._send = document, runs, lock, send
        self._waiting: deque[Mapping[str, Any]] = deque()

    def answer(self, message: Mapping[str, Any]) -> Answers:
        """Returns the messages that answer one of the browser; what is run is left for `run_waiting`."""
        try:
            with self._lock:
                return self._answer(message)
        except OpError as error:
            return [self._refusal(message, error.message, getattr(error, "needs", []))]
        except Exception as error:  # a fault of ours, or of a message: the canvas stays usable
            return [self._refusal(message, f"this did not work: {type(error).__name__}: {error}")]

    def run_waiting(self, ended: threading.Event) -> None:
        """Runs what was asked for, one after the other, until `ended` is set."""
        while self._waiting and not ended.is_set():
            self._send(self._result(self._waiting.popleft()))

    def _answer(self, message: Mapping[str, Any]) -> Answers:
        kind = message.get("type")
        if kind in ("run", *_INSIGHTS):
            self._runs.remember(message.get("feeds", {}))
            self._waiting.append(message)
        elif kind == "train":
            self._train(cast(TrainRequest, message))
        elif kind == "stop":
            self._runs.stop()
        elif kind == "probes":
            self._runs.probes.wanted = message["wires"]
        elif kind == "lesson":
            return [lesson_answer(self._document, cast(LessonRequest, message))]
        else:
            return self._document.apply(cast(Any, message))
        return []

    def _train(self, message: TrainRequest) -> None:
        self._runs.remember(message["feeds"])
        request = self._runs.request(self._document, message["node"])
        loss = self._runs.request(self._document, message["loss"]) if message["loss"] else None
        self._runs.train(message, request, loss, self._send, probed_tensors(self._document))

    def _result(self, message: Mapping[str, Any]) -> Answer:
        node = str(message.get("node", ""))
        try:
            if message["type"] != "run":
                with self._lock:
                    moment = self._document.moment()
                return cast(Answer, _INSIGHTS[message["type"]](self._runs, moment, cast(Any, message)))
            with self._lock:
                request = self._runs.request(self._document, node)
        except OpError as error:
            return self._refusal(message, error.message, getattr(error, "needs", []))
        except Exception as error:  # of an insight: the user's program, so it is shown and the thread goes on
            return self._refusal(message, f"{type(error).__name__}: {error}")
        return self._runs.run(node, request)

    def _refusal(self, message: Mapping[str, Any], text: str, needs: Sequence[str] = ()) -> Answer:
        node = str(message.get("node", ""))
        if message.get("type") in ("train", "stop"):
            node = str(message.get("loss") or node)
            point: LossPoint = {
                "type": "training",
                "node": node,
                "step": 0,
                "value": 0.0,
                "is_finite": True,
                "progress": "",
                "broken": "",
                "state": "failed",
                "message": text,
                "needs": list(needs),
            }
            return point
        if message.get("type") in _INSIGHTS:
            return no_insight(message, text, needs)
        if message.get("type") == "run":
            return {
                "type": "result",
                "node": node,
                "values": [],
                "milliseconds": 0.0,
                "error": text,
                "needs": [],
            }
        gesture = message.get("gesture")
        return {
            **self._document.drawing(full=True),
            "gesture": gesture if isinstance(gesture, int) else 0,
            "message": text,
            "is_refused": True,
        }
