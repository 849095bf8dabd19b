"""State that outlives a step: variables and other resources in containers, random keys.

White paper, sections 2, 4.2 and 4.7. A resource is looked up by container and name, so a graph that has grown uses the
same state as before. The queues, readers and similar resources of a *named* container are shared by all local sessions
of the process. The unnamed container and the memory of variables belong to one session. A task of a cluster has all of
these for itself. Invariant: a variable keeps its cell as long as the session lives; `reset` only empties the cell.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.interface import Device
from tfnb.errors import FailedPreconditionError
from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.values import info_of

__all__ = ["RandomStates", "ResourceManager", "reset_shared"]

Key = tuple[str, str]
_WORD = 0xFFFFFFFF
_shared: dict[Key, Any] = {}  # the resources of named containers, which all sessions share
_shared_lock = threading.RLock()


class RandomStates:
    """The random generators of a session. Each random node has a key and the number of its calls so far.

    Invariant: no two calls of a node get the same pair of key and call number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, list[int]] = {}

    def next(self, node: Node) -> np.ndarray:
        """Counts a call of the node and returns its state, a uint32 array of shape [4]: key0, key1, call number, 0."""
        return self.table((node,))[0]

    def table(self, nodes: Sequence[Node]) -> np.ndarray:
        """The states of n nodes, a uint32 array of shape [n, 4]. Row i is what `next` returns for `nodes[i]`."""
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
        """Restarts the generators of the nodes with these names. Generators without a seed get new keys."""
        with self._lock:
            for name in names:
                self._states.pop(name, None)

    def reset(self) -> None:
        """Restarts all generators. Generators without a seed get new keys."""
        with self._lock:
            self._states.clear()


def _keys(node: Node) -> tuple[int, int]:
    seed, seed2 = int(getattr(node.attrs, "seed", 0)), int(getattr(node.attrs, "seed2", 0))
    if seed == 0 and seed2 == 0:
        return secrets.randbits(32), secrets.randbits(32)
    return seed & _WORD, seed2 & _WORD


class ResourceManager:
    """The resources of a session, or of a task of a cluster. All methods may be called from any thread.

    `shares_containers`: named containers are those of the process.
    """

    def __init__(self, shares_containers: bool = True) -> None:
        self._shares = shares_containers
        self.random = RandomStates()
        self._lock = threading.RLock()
        self._cells: dict[Key, Cell] = {}
        self._others: dict[Key, Any] = {}
        self.compile_function: Callable[..., Any] | None = None  # set by the session; `function` calls it

    def variable(self, node: Node, device: Device | None = None) -> Cell:
        """The cell of a Variable node, by its container and its shared or own name.

        A variable without elements needs no initializer: it has its only value, on `device`, from the start.
        """
        attrs = node.attrs
        key = getattr(attrs, "container", ""), getattr(attrs, "shared_name", "") or node.name
        cell = self.cell(*key)
        if cell.tensor is None and device is not None:
            spec = node.specs[0]
            if spec.shape.num_elements() == 0:
                value = np.empty(spec.shape.known(), spec.dtype.np)
                on_host = not spec.dtype.cl  # strings and complex numbers
                cell.tensor = DeviceTensor(device, info_of(value), None, value) if on_host else device.from_numpy(value)
        return cell

    def cell(self, container: str, name: str) -> Cell:
        """The cell of the variable with this container and name. Creates an empty one if there is none."""
        with self._lock:
            cell = self._cells.get((container, name))
            if cell is None:
                cell = self._cells[container, name] = Cell(name)
            return cell

    def variables(self) -> dict[Key, Cell]:
        """The cells of all variables that have a value, by (container, name)."""
        with self._lock:
            return {key: cell for key, cell in self._cells.items() if cell.tensor is not None}

    def get(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """The resource of this container and name, such as a queue, a reader or a table.

        `make` creates it if it is new.
        """
        table, lock = (_shared, _shared_lock) if container and self._shares else (self._others, self._lock)
        with lock:
            resource = table.get((container, name))
            if resource is None:
                resource = table[container, name] = make()
            return resource

    def function(self, fetches: Sequence[Any], feeds: Sequence[Any]) -> Callable[..., list[Any]]:
        """The part of a graph from `feeds` to `fetches` as a function of arrays, compiled once by the session."""
        if self.compile_function is None:
            raise FailedPreconditionError("functions of graphs can be called only within a session")
        function_of_arrays: Callable[..., list[Any]] = self.compile_function(fetches, feeds)
        return function_of_arrays

    def find(self, container: str, name: str) -> Any:
        """The resource of this container and name, or None if it does not exist. Variables are not searched."""
        table = _shared if container and self._shares else self._others
        return table.get((container, name))

    def others(self) -> list[Any]:
        """All resources that belong to this session, except variables."""
        with self._lock:
            return list(self._others.values())

    def reset(self, containers: Iterable[str] | None = None) -> None:
        """Drops the session's resources in these containers (None: in all) and leaves their variables uninitialised.

        Calls the `dispose` method of each dropped resource that has one, which releases its threads and files.
        """
        selection = None if containers is None else frozenset(containers)
        old_resources = self.others()
        with self._lock:
            cells = [c for (container, _), c in self._cells.items() if selection is None or container in selection]
            self._others = {k: v for k, v in self._others.items() if selection is not None and k[0] not in selection}
            if selection is None:
                self.random.reset()
        for cell in cells:
            _empty(cell)
        remaining_ids = {id(r) for r in self.others()}
        _dispose(r for r in old_resources if id(r) not in remaining_ids)


def reset_shared(containers: Iterable[str] | None = None) -> None:
    """Drops the resources in these named containers (None: in all named ones) for all sessions of the process."""
    selection = None if containers is None else frozenset(containers)
    with _shared_lock:
        keys = [k for k in _shared if selection is None or k[0] in selection]
        resources = [_shared.pop(k) for k in keys]
    _dispose(resources)


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
