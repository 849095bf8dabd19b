"""State that outlives a step: variables and other resources in containers, random keys.

White paper, sections 2, 4.2 and 4.7. A resource is found by container and name, so graphs that grow meet the same
state. Queues, readers and the like of a *named* container are shared by all sessions of the process; the unnamed
container, and the memory of variables, belong to one session. Invariant: a variable has one cell for ever; `reset`
only empties it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfnb.devices.buffers import Cell
from tfnb.errors import FailedPreconditionError
from tfnb.ir.step_graph.graph import Node

__all__ = ["RandomStates", "ResourceManager", "reset_shared"]

Key = tuple[str, str]
_WORD = 0xFFFFFFFF
_shared: dict[Key, Any] = {}  # what lives in named containers, for all sessions of the process
_shared_lock = threading.RLock()


class RandomStates:
    """The generators of a session's random nodes: a key each, and how often they were called.

    Invariant: no two calls of a node get the same (key, call number).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, list[int]] = {}

    def next(self, node: Node) -> np.ndarray:
        """uint32[4]: key0, key1, the number of this call, 0. Counts the call."""
        return self.table((node,))[0]

    def table(self, nodes: Sequence[Node]) -> np.ndarray:
        """uint32[n, 4], a row per node as `next` gives."""
        rows = []
        with self._lock:
            for node in nodes:
                state = self._states.get(node.name)
                if state is None:
                    state = self._states[node.name] = [*_keys(node), 0]
                rows.append((state[0], state[1], state[2] & _WORD, 0))
                state[2] += 1
        return np.array(rows, np.uint32).reshape(len(rows), 4)

    def restart(self, names: Iterable[str]) -> None:
        """The generators of these nodes begin anew."""
        with self._lock:
            for name in names:
                self._states.pop(name, None)

    def reset(self) -> None:
        """All generators begin anew, unseeded ones with other keys."""
        with self._lock:
            self._states.clear()


def _keys(node: Node) -> tuple[int, int]:
    seed, seed2 = int(getattr(node.attrs, "seed", 0)), int(getattr(node.attrs, "seed2", 0))
    if seed == 0 and seed2 == 0:
        return secrets.randbits(32), secrets.randbits(32)
    return seed & _WORD, seed2 & _WORD


class ResourceManager:
    """The resources of a task. All methods may be called from any thread."""

    def __init__(self) -> None:
        self.random = RandomStates()
        self._lock = threading.RLock()
        self._cells: dict[Key, Cell] = {}
        self._others: dict[Key, Any] = {}
        self.compile_function: Callable[..., Any] | None = None  # of the session; see `function`

    def variable(self, node: Node) -> Cell:
        """The cell of a Variable node, by its container and its shared or own name."""
        attrs = node.attrs
        key = getattr(attrs, "container", ""), getattr(attrs, "shared_name", "") or node.name
        return self.cell(*key)

    def cell(self, container: str, name: str) -> Cell:
        with self._lock:
            cell = self._cells.get((container, name))
            if cell is None:
                cell = self._cells[container, name] = Cell(name)
            return cell

    def variables(self) -> dict[Key, Cell]:
        """(container, name) -> cell of the variables that have a value."""
        with self._lock:
            return {key: cell for key, cell in self._cells.items() if cell.tensor is not None}

    def get(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """The resource of that name (a queue, a reader, a table); made if there is none."""
        table, lock = (_shared, _shared_lock) if container else (self._others, self._lock)
        with lock:
            found = table.get((container, name))
            if found is None:
                found = table[container, name] = make()
            return found

    def function(self, fetches: Sequence[Any], feeds: Sequence[Any]) -> Callable[..., list[Any]]:
        """The part of a graph from `feeds` to `fetches` as a function of arrays, compiled once by the session."""
        if self.compile_function is None:
            raise FailedPreconditionError("functions of graphs can be called only within a session")
        found: Callable[..., list[Any]] = self.compile_function(fetches, feeds)
        return found

    def find(self, container: str, name: str) -> Any:
        """The resource of that name, or None."""
        table = _shared if container else self._others
        return table.get((container, name))

    def others(self) -> list[Any]:
        """All resources of the session's own but variables."""
        with self._lock:
            return list(self._others.values())

    def reset(self, containers: Iterable[str] | None = None) -> None:
        """Drops the session's resources in these containers (None: in all). Variables there are uninitialised then.

        A dropped resource that has a `dispose` method is told so, to give threads and files back.
        """
        chosen = None if containers is None else frozenset(containers)
        before = self.others()
        with self._lock:
            cells = [c for (where, _), c in self._cells.items() if chosen is None or where in chosen]
            self._others = {k: v for k, v in self._others.items() if chosen is not None and k[0] not in chosen}
            if chosen is None:
                self.random.reset()
        for cell in cells:
            _empty(cell)
        kept = {id(r) for r in self.others()}
        _dispose(r for r in before if id(r) not in kept)


def reset_shared(containers: Iterable[str] | None = None) -> None:
    """Drops what lives in these named containers (None: in all), for all sessions of the process."""
    chosen = None if containers is None else frozenset(containers)
    with _shared_lock:
        gone = [k for k in _shared if chosen is None or k[0] in chosen]
        dropped = [_shared.pop(k) for k in gone]
    _dispose(dropped)


def _dispose(resources: Iterable[Any]) -> None:
    for resource in resources:
        dispose = getattr(resource, "dispose", None)
        if dispose is not None:
            dispose()


def _empty(cell: Cell) -> None:
    tensor = cell.tensor
    lock = getattr(tensor.device, "lock", None) if tensor is not None else None
    if lock is None:
        cell.tensor = None
        return
    with lock:
        cell.tensor = None
