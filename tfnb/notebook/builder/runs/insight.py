"""What a run to a node was made of: the compiler's stages and OpenCL, where its time went, and how two variants differ.

Each is told in terms of the nodes of the drawing. Invariant: the graph stays as it is, and a run changes no variable
but by what the node itself does; variables of variant B begin with the values of A's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.document import Document, Moment
from tfnb.notebook.builder.inside.operations import columns_of
from tfnb.notebook.builder.runs.feeds import MissingFeeds
from tfnb.notebook.builder.runs.running import Request, Runs
from tfnb.notebook.builder.variants import pairs_of
from tfnb.notebook.comparison import compare
from tfnb.notebook.graph.pass_view import show_passes
from tfnb.notebook.protocol.builder_details import (
    Compared,
    CompareRequest,
    Compiled,
    CompiledCluster,
    CompiledRequest,
    DetailsFromKernel,
    Devices,
    DevicesRequest,
    NodeTime,
    Profile,
    ProfileRequest,
)
from tfnb.session.config import RunMetadata, RunOptions
from tfnb.session.session import Session

__all__ = ["compared", "compiled", "devices", "no_insight", "profiled"]

_MOST_DRAWN = 5_000  # nodes of a stage that is sent with its drawing


def no_insight(message: Mapping[str, Any], error: str = "", needs: Sequence[str] = ()) -> DetailsFromKernel:
    """Returns an answer to one of the requests that has nothing yet, or that says why it has nothing."""
    answer = {k: message.get(k, "") for k in ("type", "request", "node")} | {"error": error, "needs": list(needs)}
    return cast(DetailsFromKernel, answer | {k: type(v)() for k, v in _EMPTY[answer["type"]].items()})


_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "compiled": {"stages": [], "clusters": []},
    "profile": {"times": [], "microseconds": 0.0, "other": 0.0},
    "compare": {"differences": [], "equal": []},
    "devices": {"devices": [], "constraints": {}},
}


class _Nodes:
    """Which node of the drawing an operation, or one that the compiler has derived from it, belongs to."""

    def __init__(self, document: Document | Moment) -> None:
        self._of: dict[str, str] = {}
        for statement, outcome in zip(document.program.statements, document.built.outcomes, strict=True):
            self._of.update({op.name: statement.id for op in outcome.operations})

    def of(self, operation: str) -> str:
        """Returns the id of the node, or "". What a pass has added belongs to the operation whose scope it is in."""
        while operation:
            if operation in self._of:
                return self._of[operation]
            operation = operation.rpartition("/")[0]
        return ""

    def of_all(self, operations: Iterable[str]) -> list[str]:
        """Returns the ids of the nodes of several operations, each once."""
        return [n for n in dict.fromkeys(map(self.of, operations)) if n]


def compiled(runs: Runs, document: Document | Moment, message: CompiledRequest) -> Compiled:
    """Runs a node once, and returns the stages through which the compiler took it and the OpenCL of its clusters."""
    answer = cast(Compiled, no_insight(message))
    try:
        session, fetches, feed = _ready(runs, document, message["node"])
        runs.sessions.run(session, fetches, feed)
        view = show_passes(session, fetches, list(feed))
    except MissingFeeds as error:
        answer["error"], answer["needs"] = error.message, error.needs
        return answer
    for name, graph in view.stages:
        count = len(graph.nodes)
        drawn = columns_of(graph) if 0 < count <= _MOST_DRAWN else ""
        answer["stages"].append({"name": name, "count": count, "columns": drawn})
    nodes = _Nodes(document)
    for cluster in view.clusters:
        names = [line.partition(" = ")[0] for line in cluster.nodes]
        found: CompiledCluster = {
            "name": cluster.name,
            "device": cluster.device,
            "nodes": nodes.of_all(names),
            "operations": list(cluster.nodes),
            "sources": list(cluster.sources),
            "launches": list(cluster.launches),
            "not_fused": list(cluster.why_not),
        }
        answer["clusters"].append(found)
    return answer


def profiled(runs: Runs, document: Document | Moment, message: ProfileRequest) -> Profile:
    """Runs a node twice, the second time with times, and returns the time that each node of the drawing took."""
    answer = cast(Profile, no_insight(message))
    try:
        session, fetches, feed = _ready(runs, document, message["node"])
        runs.sessions.run(session, fetches, feed)  # compiles what is new
        metadata = RunMetadata()
        session.run(fetches, feed, options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=metadata)
    except MissingFeeds as error:
        answer["error"], answer["needs"] = error.message, error.needs
        return answer
    nodes, times = _Nodes(document), dict[str, NodeTime]()
    for event in metadata.step_stats:
        if event.kind not in ("kernel", "host"):
            continue
        names = event.nodes or (event.name,)
        for name in names:
            node, share = nodes.of(name), event.took_us / len(names)
            if not node:
                answer["other"] += share
                continue
            time = times.setdefault(
                node, {"node": node, "microseconds": 0.0, "start": event.start_us, "kernels": 0, "device": event.device}
            )
            time["microseconds"] += share
            time["start"] = min(time["start"], event.start_us)
            time["kernels"] += 1
    answer["times"] = sorted(times.values(), key=lambda t: t["start"])
    answer["microseconds"] = metadata.wall_us
    return answer


def compared(runs: Runs, document: Document | Moment, message: CompareRequest) -> Compared:
    """Runs the variants A and B of a part in one step, and returns where their values differ.

    Raises `InvalidArgumentError` if there is no variant.
    """
    answer = cast(Compared, no_insight(message))
    pairs = pairs_of(document.program)
    if not pairs:
        raise InvalidArgumentError("there is no variant; make one of the part that is to be changed")
    outcomes = {s.id: o for s, o in zip(document.program.statements, document.built.outcomes, strict=True)}
    tensors: dict[tuple[str, int], Tensor] = {}
    for pair in pairs:
        for side, node in enumerate(pair):
            value = next(iter(outcomes[node].values.values()), None)
            if outcomes[node].state != "built":
                raise InvalidArgumentError(f"{node} is not complete, so the variants cannot be run")
            if isinstance(value, Tensor | Variable):
                tensors[pair[0], side] = value if isinstance(value, Tensor) else value.value()
    both = {node for node, _ in tensors if (node, 0) in tensors and (node, 1) in tensors}
    fetches = {key: tensor for key, tensor in tensors.items() if key[0] in both}
    try:
        request = runs.request(document, pairs[0][0])
        session = runs.session(request.graph)
        feed = runs.feed_of(session, list(fetches.values()), request)
        runs.sessions.initialize(session, list(fetches.values()), feed)
    except MissingFeeds as error:
        answer["error"], answer["needs"] = error.message, error.needs
        return answer
    _share_variables(session, [(outcomes[a].operations, outcomes[b].operations) for a, b in pairs])
    values = dict(zip(fetches, session.run(list(fetches.values()), feed), strict=True))
    order = [a for a, _ in pairs if a in both]
    result = compare({a: values[a, 0] for a in order}, {a: values[a, 1] for a in order})
    names = dict(pairs)
    for d in result.differences:
        answer["differences"].append(
            {
                "a": d.name,
                "b": names[d.name],
                "problem": d.problem,
                "absolute": _finite(d.absolute),
                "relative": _finite(d.relative),
            }
        )
    different = {d.name for d in result.differences}
    answer["equal"] = [a for a in order if a not in different]
    return answer


def devices(runs: Runs, document: Document | Moment, message: DevicesRequest) -> Devices:
    """Returns the devices of the session that runs the graph, and the constraint of each node that has one."""
    session = runs.session(document.hand_out())
    found: dict[str, str] = {}
    for statement, outcome in zip(document.program.statements, document.built.outcomes, strict=True):
        device = next((op.device for op in outcome.operations if op.device), "")
        if device:
            found[statement.id] = device
    listed = session.list_devices()
    return {
        "type": "devices",
        "request": message["request"],
        "node": "",
        "devices": [{"name": d.name, "kind": d.device_type, "bytes": d.memory_limit_bytes} for d in listed],
        "constraints": found,
        "error": "",
        "needs": [],
    }


def _ready(runs: Runs, document: Document | Moment, node: str) -> tuple[Session, list[Any], Mapping[Tensor, object]]:
    """The session, the fetches and the feeds of a node. Raises `MissingFeeds`, and `InvalidArgumentError`."""
    request: Request = runs.request(document, node)
    fetches = request.fetched()
    if not fetches:
        raise InvalidArgumentError(f"{node} is no tensor or operation, so it cannot be run")
    session = runs.session(request.graph)
    return session, fetches, runs.feed_of(session, fetches, request)


def _share_variables(session: Session, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Gives the variables of B the values of those of A that were made in the same place, if these fit."""
    variables = {v.op.name: v for v in session.graph.get_collection("variables") if isinstance(v, Variable)}
    for made_a, made_b in pairs:
        of_a = [variables[op.name] for op in made_a if op.name in variables]
        of_b = [variables[op.name] for op in made_b if op.name in variables]
        for a, b in zip(of_a, of_b, strict=False):
            if a.dtype == b.dtype and a.get_shape() == b.get_shape():
                b.load(session.run(a), session)


def _finite(value: float) -> float:
    return float(np.nan_to_num(value, nan=0.0, posinf=1e308, neginf=-1e308))
