"""Fetch structures: any nesting of lists, tuples, dicts and graph elements (`Session.run`'s first argument).

Invariant: the result has the structure of the request, with every tensor replaced by its value and every operation by
None; an object of a registered class is replaced by what the functions of its class make of its tensors' values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import (
    DTypeError,
    GraphError,
    InvalidArgumentError,
    InvalidFetchError,
    NotFoundError,
)
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor, parts_of, value_type
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.session_tensors import GET_SESSION_HANDLE
from tfnb.session.conversions import conversion_of
from tfnb.session.tensor_handle import HandleSource

__all__ = ["FetchPlan", "plan_fetches"]

Rebuild = Callable[[list[Any]], Any]


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """What a request fetches: `tensors` and `operations`, each once. `rebuild(values)` returns the values of the
    tensors in the structure of the request; they must be arrays that nobody else has."""

    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    rebuild: Rebuild


class _Planner:
    def __init__(self, graph: GraphBuilder, handles: HandleSource | None) -> None:
        self.graph = graph
        self.handles = handles
        self.tensors: dict[Tensor, int] = {}
        self.operations: dict[Operation, None] = {}

    def plan(self, fetch: object) -> Rebuild:
        if fetch is None:
            raise InvalidFetchError(
                "None cannot be fetched; needed a tensor, operation, variable or name. "
                "tf.gradients gives None where the result does not depend on the tensor"
            )
        if isinstance(fetch, (list, tuple)):
            parts = [self.plan(f) for f in fetch]
            return _sequence(fetch, parts)
        if isinstance(fetch, Mapping):
            keys, parts = list(fetch), [self.plan(f) for f in fetch.values()]
            return lambda values: _like_mapping(fetch, keys, [p(values) for p in parts])
        if isinstance(fetch, (SparseTensor, IndexedSlices)):
            kind, parts = value_type(fetch), [self.part(p) for p in parts_of(fetch)]
            return lambda values: kind(*(p(values) for p in parts))
        conversion = conversion_of(fetch)
        if conversion is not None:
            tensors, make = conversion.fetch(fetch)
            parts = [self.element(t) for t in tensors]
            return lambda values: make([p(values) for p in parts])
        return self.element(fetch)

    def part(self, member: object) -> Rebuild:
        return (lambda _: None) if member is None else self.plan(member)

    def element(self, fetch: object) -> Rebuild:
        op = _op_of(fetch)
        if op is not None and op.graph is not self.graph:
            name = getattr(fetch, "name", op.name)
            raise InvalidFetchError(
                f"cannot fetch {name}: it is an element of another graph than the session's; "
                "tf.Session(graph=...) runs the graph it is given, else the default one",
                op,
            )
        try:
            element = self.graph.as_graph_element(fetch)
        except (DTypeError, GraphError, NotFoundError, InvalidArgumentError) as e:
            raise InvalidFetchError(
                f"cannot fetch {str(fetch)[:120]!r} of type {type(fetch).__name__}: {e.message}", _op_of(fetch)
            ) from None
        if not self.graph.is_fetchable(element):
            raise InvalidFetchError(f"Operation {element.name!r} has been marked as not fetchable", _op_of(element))
        if isinstance(element, Operation):
            self.operations[element] = None
            return lambda _: None
        again = element in self.tensors
        index = self.tensors.setdefault(element, len(self.tensors))
        source = self.handles
        if source is not None and element.op.type == GET_SESSION_HANDLE.name:
            dtype = element.op.inputs[0].dtype
            return lambda values: source.make(values[index].item(), dtype)
        if again:  # two fetches of one tensor are two arrays
            return lambda values: _result(values[index].copy())
        return lambda values: _result(values[index])


def _result(value: np.ndarray) -> np.ndarray:
    """A value as users get it: of shape () it is a NumPy scalar, or bytes."""
    return value[()] if value.ndim == 0 else value


def _op_of(fetch: object) -> Operation | None:
    op = getattr(fetch, "op", fetch)
    return op if isinstance(op, Operation) else None


def _sequence(fetch: object, parts: list[Rebuild]) -> Rebuild:
    if hasattr(fetch, "_fields"):
        kind = type(fetch)
        return lambda values: kind(*(p(values) for p in parts))
    if isinstance(fetch, tuple):
        return lambda values: tuple(p(values) for p in parts)
    return lambda values: [p(values) for p in parts]


def _like_mapping(fetch: Mapping[Any, Any], keys: list[Any], values: list[Any]) -> Any:
    kind: Any = type(fetch)
    return kind(zip(keys, values, strict=True))


def plan_fetches(graph: GraphBuilder, fetches: object, handles: HandleSource | None = None) -> FetchPlan:
    """The plan for a structure of fetches; `handles` makes the values of handles of tensors (else they are strings).

    Raises `InvalidFetchError` for an object that is not an element of the graph or must not be fetched.
    """
    planner = _Planner(graph, handles)
    rebuild = planner.plan(fetches)
    return FetchPlan(tuple(planner.tensors), tuple(planner.operations), rebuild)
