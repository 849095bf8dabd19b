"""Runs nodes of a document: once, to show their values, or many times, as a training.

What a placeholder is fed is Python that the user has typed for it, with the variables of the notebook, as far as
`safety.py` lets it be computed; feeds are remembered. Invariant: the document is read under the view's lock and run
outside of it, so it can be edited meanwhile.
"""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, NotFoundError, PermissionDeniedError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.document import Document, Moment
from tfnb.notebook.builder.drawing import output_values, tensor_of
from tfnb.notebook.builder.runs.feeds import MissingFeeds, WrongFeed, checked_feed
from tfnb.notebook.builder.runs.probes import Probe, Probes
from tfnb.notebook.builder.runs.samples import Digits
from tfnb.notebook.builder.runs.sessions import BuilderSession
from tfnb.notebook.builder.runs.training import Training
from tfnb.notebook.builder.runs.values import run_value
from tfnb.notebook.builder.safety import reason_not_to_feed
from tfnb.notebook.builder.trust.lookup import looked_up_in
from tfnb.notebook.protocol.builder import LossPoint, RunResult, TrainRequest
from tfnb.notebook.protocol.builder_details import Probed
from tfnb.session.session import Session

__all__ = ["Request", "Runs", "node_values", "probed_tensors"]

_FETCHED = (Tensor, Variable, Operation, SparseTensor, IndexedSlices)


def node_values(document: Document | Moment, node: str) -> list[tuple[str, Any]]:
    """Returns what the statement of a node has made, by the expressions that refer to it.

    Raises `NotFoundError` if there is no such node, and `InvalidArgumentError` if its statement could not be built.
    """
    for statement, outcome in zip(document.program.statements, document.built.outcomes, strict=True):
        if statement.id == node:
            if outcome.state != "built":
                text = str(outcome.error) if outcome.error is not None else outcome.reason
                raise InvalidArgumentError(f"{node} is not complete: {text or outcome.state}")
            values = [(name, value) for name, value in output_values(statement, outcome) if value is not None]
            # A list whose elements are listed is not listed itself.
            return [(name, value) for name, value in values if len(values) == 1 or not isinstance(value, list | tuple)]
    raise NotFoundError(f"the builder has no node {node!r}")


def probed_tensors(document: Document | Moment) -> dict[Probe, Tensor]:
    """Returns the tensors of all outputs that can be probed, by the node and the number of the output."""
    found: dict[Probe, Tensor] = {}
    for statement, outcome in zip(document.program.statements, document.built.outcomes, strict=True):
        for k, (_, value) in enumerate(output_values(statement, outcome)):
            tensor = tensor_of(value)
            if tensor is not None:
                found[statement.id, k] = tensor
    return found


@dataclass(frozen=True)
class Request:
    """What is to be run, read from the document at one moment."""

    graph: GraphBuilder
    values: list[tuple[str, Any]]
    placeholders: dict[str, Tensor]  # by the expression that refers to it in the source

    def fetched(self) -> list[Any]:
        """Returns the values that a session can run."""
        return [value for _, value in self.values if isinstance(value, _FETCHED)]


class Runs:
    """The runs of one document. `namespace()` gives the variables of the notebook, `others()` its sessions."""

    def __init__(
        self,
        namespace: Callable[[], Mapping[str, Any]],
        others: Callable[[], Iterable[Session]],
    ) -> None:
        self.sessions = BuilderSession()
        self.feeds: dict[str, str] = {}
        self.probes = Probes()
        self._namespace, self._others = namespace, others
        self._training: Training | None = None

    def remember(self, feeds: Mapping[str, str]) -> None:
        """Keeps the Python texts of feeds; an empty text takes a feed away."""
        for name, text in feeds.items():
            if str(text).strip():
                self.feeds[name] = str(text).strip()
            else:
                self.feeds.pop(name, None)

    def request(self, document: Document | Moment, node: str) -> Request:
        """Reads a node from the document. Raises the errors of `node_values`."""
        placeholders: dict[str, Tensor] = {}
        for statement, outcome in zip(document.program.statements, document.built.outcomes, strict=True):
            for name, value in output_values(statement, outcome):
                if isinstance(value, Tensor) and value.op.type.startswith("Placeholder"):
                    placeholders[name or statement.id] = value
        return Request(document.hand_out(), node_values(document, node), placeholders)

    def session(self, graph: GraphBuilder) -> Session:
        """Returns the session in which this graph is run."""
        return self.sessions.session(graph, self._others())

    def run(self, node: str, request: Request) -> RunResult:
        """Runs what the node needs, and returns its values, or what is missing or wrong."""
        result: RunResult = {
            "type": "result",
            "node": node,
            "values": [],
            "milliseconds": 0.0,
            "error": "",
            "needs": [],
        }
        fetched = [(name, value) for name, value in request.values if isinstance(value, _FETCHED)]
        try:
            if fetched:
                session = self.session(request.graph)
                values = [value for _, value in fetched]
                feeds = self._feed(session, values, request, result["needs"])
                if result["needs"]:
                    raise MissingFeeds(result["needs"])
                feed = feeds(0)
                begin = time.perf_counter()
                arrays = self.sessions.run(session, values, feed)
                result["milliseconds"] = (time.perf_counter() - begin) * 1e3
                computed = dict(zip((name for name, _ in fetched), arrays, strict=True))
            else:
                computed = {}
            for name, value in request.values:
                if not isinstance(value, Operation):
                    result["values"].append(run_value(name, computed.get(name, value)))
        except MissingFeeds as error:
            result["error"], result["needs"] = error.message, error.needs
        except Exception as error:  # of the graph: the user's, so it is shown at the node
            result["error"] = _plain_error(error)
        return result

    # ---- training ----------------------------------------------------------------------------

    @property
    def is_training(self) -> bool:
        return self._training is not None and self._training.running

    def train(
        self,
        message: TrainRequest,
        request: Request,
        loss: Request | None,
        report: Callable[[LossPoint | Probed], None],
        known: Mapping[Probe, Tensor] | None = None,
    ) -> None:
        """Starts a training in a thread; `known` are the tensors that can be probed meanwhile.

        Raises `InvalidArgumentError` if a training runs already, and `MissingFeeds`.
        """
        if self.is_training:
            raise InvalidArgumentError("a training of this builder runs already; stop it first")
        steps = int(message["steps"])
        if not 1 <= steps <= 10_000_000:
            raise InvalidArgumentError(f"needed a number of steps from 1 to 10,000,000, got {steps:,}")
        operations = [value for _, value in request.values if isinstance(value, _FETCHED)]
        losses = [value for _, value in loss.values if isinstance(value, Tensor)][:1] if loss is not None else []
        if not operations:
            raise InvalidArgumentError(f"{message['node']} is no operation or tensor, so it cannot be run")
        session, needs = self.session(request.graph), list[str]()
        feeds = self._feed(session, (losses, operations), request, needs)
        if needs:
            raise MissingFeeds(needs)
        self.probes.begin(dict(known or {}))
        numbers = itertools.count(1)

        def step(feed: Mapping[Tensor, object]) -> Any:
            def run(probed: list[Tensor]) -> tuple[Any, list[Any]]:
                values, _, found = self.sessions.run(session, (losses, operations, probed), feed)
                return values[0] if values else None, found

            return self.probes.step(next(numbers), run, report)

        self._training = Training(
            message["loss"] or message["node"], steps, step, feeds, report, lambda: self.sessions.adopt(session)
        )
        self._training.start()

    def stop(self) -> None:
        """Ends the training, if there is one, after its present step."""
        if self._training is not None:
            self._training.stop()

    def close(self) -> None:
        """Ends the training and closes the session."""
        if self._training is not None:
            self._training.stop("the builder was closed")
            self._training.join()
        self.sessions.close()

    # ---- feeds -------------------------------------------------------------------------------

    def feed_of(self, session: Session, fetches: object, request: Request) -> dict[Tensor, object]:
        """Returns what one run of the fetches is fed. Raises `MissingFeeds` if a placeholder has no feed."""
        needs: list[str] = []
        feed = self._feed(session, fetches, request, needs)
        if needs:
            raise MissingFeeds(needs)
        return feed(0)

    def _feed(
        self, session: Session, fetches: object, request: Request, needs: list[str]
    ) -> Callable[[int], dict[Tensor, object]]:
        """Returns a function from the number of a step to its feeds; appends the placeholders without a feed to
        `needs`.
        """
        names = {tensor.op.name: name for name, tensor in request.placeholders.items()}
        fed: dict[Tensor, tuple[str, str]] = {}
        for op in self.sessions.placeholders(session, fetches):
            name = names.get(op.name, op.name)
            if name in self.feeds:
                fed[op.outputs[0]] = (name, self.feeds[name])
            elif op.type != "PlaceholderWithDefault":
                needs.append(name)
        constant: dict[str, object] = {}

        def feeds(step: int) -> dict[Tensor, object]:
            values: dict[Tensor, object] = {}
            for tensor, (name, text) in fed.items():
                try:
                    values[tensor] = checked_feed(name, text, self._value(text, name, step, constant), tensor)
                except WrongFeed:
                    self.feeds.pop(name, None)
                    raise
            return values

        return feeds

    def _value(self, text: str, placeholder: str, step: int, constant: dict[str, object]) -> object:
        """Returns the value of the Python text of a feed. A text that names no step is computed once."""
        if text in constant:
            return constant[text]
        namespace = {"np": np, "digits": Digits(), **self._namespace(), "step": step}
        try:
            tree = ast.parse(text, f"<feed of {placeholder}>", "eval")
            reason = reason_not_to_feed(tree.body, looked_up_in(namespace))
            if reason:
                raise PermissionDeniedError(reason)
            code = compile(tree, f"<feed of {placeholder}>", "eval")
            value = eval(code, namespace)
        except Exception as error:
            raise WrongFeed(placeholder, _plain_error(error)) from error
        # A call may give something else each time, as a function that returns the next batch does.
        if not {"step"} & set(code.co_names) and "(" not in text:
            constant[text] = value
        return value


def _plain_error(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error)
    return (text if isinstance(error, InvalidArgumentError) else f"{type(error).__name__}: {text}")[:2000]
