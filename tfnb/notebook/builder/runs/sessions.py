"""The session in which the builder runs a node of its document.

Each edit gives a new graph. So the builder has a session of its own for the latest one, into which the values of those
variables are copied that the last graph had too. A session of the notebook that runs the graph itself is used instead.
Variables that have no value yet are initialized when a run needs them. Invariant: nothing is added to a graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from tfnb.client.variables.variable import Variable
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.session.fetch import plan_fetches
from tfnb.session.session import Session

__all__ = ["BuilderSession"]


def upstream(roots: Iterable[Operation]) -> list[Operation]:
    """Returns the operations that these need, themselves included."""
    reached: dict[Operation, None] = {}
    todo = list(roots)
    while todo:
        op = todo.pop()
        if op in reached:
            continue
        reached[op] = None
        todo += [tensor.op for tensor in op.inputs]
        todo += op.control_inputs
    return list(reached)


class BuilderSession:
    """Sessions for one graph after another. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._own: Session | None = None
        self._initialized: set[str] = set()  # names of variables that have a value in the own session
        self._origin: weakref.ref[Session] | None = None

    def begin_with(self, session: Session | None) -> None:
        """Names a session of the notebook from which the first own session takes the values of variables."""
        self._origin = weakref.ref(session) if session is not None else None

    def session(self, graph: GraphBuilder, others: Iterable[Session] = ()) -> Session:
        """Returns the session of the notebook that runs this graph, if `others` has one, or else the own session."""
        for other in others:
            if other.graph is graph and not other.closed:
                return other
        with self._lock:
            if self._own is None or self._own.closed or self._own.graph is not graph:
                self._renew(graph)
            assert self._own is not None
            return self._own

    def adopt(self, session: Session) -> None:
        """Copies the values of variables from a session that ran an earlier graph, as a training does at its end."""
        with self._lock:
            if self._own is not None and session is not self._own and not session.closed:
                self._copy(session, self._own, set(_variables(session.graph)))

    def is_own(self, session: Session) -> bool:
        return session is self._own

    def placeholders(self, session: Session, fetches: object) -> list[Operation]:
        """Returns the placeholders that the fetches need, in the order of their creation."""
        needed = [op for op in upstream(self._roots(session, fetches)) if op.type.startswith("Placeholder")]
        order = {op.name: k for k, op in enumerate(session.graph.get_operations())}
        return sorted(needed, key=lambda op: order[op.name])

    def run(self, session: Session, fetches: object, feed_dict: Mapping[Tensor, object]) -> Any:
        """Runs the fetches, after it has initialized variables without a value. Raises the errors of `session.run`."""
        if self.is_own(session):
            self.initialize(session, fetches, feed_dict)
        return session.run(fetches, dict(feed_dict))

    def initialize(self, session: Session, fetches: object, feed_dict: Mapping[Tensor, object]) -> None:
        """Gives the variables that the fetches need their initial values, unless they have a value."""
        with self._lock:
            needed = {op.name for op in upstream(self._roots(session, fetches))}
            variables = _variables(session.graph)
            missing = {n: v for n, v in variables.items() if n in needed and n not in self._initialized}
            while missing:
                inside = {name: upstream([variable.initializer]) for name, variable in missing.items()}
                # An initial value may need another variable, which is then initialized first.
                for operations in inside.values():
                    for op in operations:
                        if op.name in variables and op.name not in self._initialized:
                            missing.setdefault(op.name, variables[op.name])
                ready = [
                    name
                    for name, operations in inside.items()
                    if not any(op.name in missing and op.name != name for op in operations)
                ]
                if not ready and len(missing) > len(inside):
                    continue
                names = ready or list(missing)
                session.run([missing[name].initializer for name in names], dict(feed_dict))
                self._initialized.update(names)
                for name in names:
                    del missing[name]

    def close(self) -> None:
        """Closes the own session. Sessions of the notebook stay open."""
        with self._lock:
            if self._own is not None:
                self._own.close()
                self._own = None
            self._initialized.clear()

    def _renew(self, graph: GraphBuilder) -> None:
        last, known = self._own, set(self._initialized)
        if last is None and self._origin is not None:
            last = self._origin()
            known = set(_variables(last.graph)) if last is not None else set()
        self._own, self._initialized = Session(graph=graph), set()
        if last is not None and not last.closed:
            self._copy(last, self._own, known)

    def _copy(self, source: Session, target: Session, names: set[str]) -> None:
        """Copies the values of these variables where the target's graph has one of the same name, dtype and shape."""
        old, new = _variables(source.graph), _variables(target.graph)
        for name in sorted(names & set(old) & set(new)):
            if old[name].dtype != new[name].dtype or old[name].get_shape() != new[name].get_shape():
                continue
            try:
                new[name].load(source.run(old[name]), target)
            except Exception:  # it has no value in the source, or was closed meanwhile: it begins anew
                continue
            self._initialized.add(name)

    @staticmethod
    def _roots(session: Session, fetches: object) -> list[Operation]:
        plan = plan_fetches(session.graph, fetches)
        return [tensor.op for tensor in plan.tensors] + list(plan.operations)


def _variables(graph: GraphBuilder) -> dict[str, Variable]:
    """Returns the variables of a graph by the names of their operations."""
    both = graph.get_collection("variables") + graph.get_collection("local_variables")
    return {variable.op.name: variable for variable in both if isinstance(variable, Variable)}
