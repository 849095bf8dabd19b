"""The scopes of a graph under construction: names, control dependencies, devices, colocation, gradients.

Invariant: every scope is a stack of the thread that opened it, so threads may build into one graph at once;
names stay unique under the builder's lock.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from tfnb.errors import InvalidArgumentError

__all__ = ["Later", "NameScope", "Names", "Scopes"]

_VALID_OP = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_VALID_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*\Z")


class Names:
    """Unique names: a second `add` becomes `add_1`.

    Names that differ only in the case of letters are one name, as since TensorFlow 1.12: after `add` comes `Add_1`.
    `Names.case_matters` tells whether they are different names in the objects that are created from then on, as in
    TensorFlow until 1.11.
    """

    case_matters: ClassVar[bool] = False

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._key: Callable[[str], str] = str if Names.case_matters else str.lower

    def copy(self) -> Names:
        """Returns a copy, which later names do not change."""
        names = Names()
        names._used, names._key = dict(self._used), self._key
        return names

    def mark(self, name: str) -> None:
        """Reserves exactly this name, which may be in use already."""
        self._used.setdefault(self._key(name), 1)

    def unique(self, name: str, mark: bool = True) -> str:
        """Returns `name`, or `name_k` with the first k that is free. With `mark` the name is in use from now on."""
        key = self._key(name)
        count = self._used.get(key)
        if count is None:
            if mark:
                self._used[key] = 1
            return name
        while f"{key}_{count}" in self._used:
            count += 1
        if mark:
            self._used[key] = count + 1
            self._used[f"{key}_{count}"] = 1
        return f"{name}_{count}"


@dataclass(frozen=True)
class Later:
    """An operation that is made later, by its name: what `colocate_with` needs of one that is there."""

    name: str
    device: str = ""
    colocation: tuple[str, ...] = ()


class Scopes(threading.local):
    """The scopes in which a node is made; each thread has its own."""

    def __init__(self) -> None:
        self.name = ""  # "" or "outer/inner"
        self.control: list[tuple[Any, ...] | None] = []  # None clears the outer entries
        self.devices: list[str | Callable[[Any], str] | None] = []
        self.colocate: list[Any] = []
        self.gradients: list[dict[str, str]] = []
        self.control_flow: Any = None  # the cond or while context, for the client's control flow
        self.by_node = False  # whether code that knows all branches and loops writes the graph node by node
        self.containers: list[str] = []
        self.recompute: Any = None  # the client's scope whose operations the backward pass repeats
        self.gradient_source = ""  # which call of tf.gradients is being built

    @contextmanager
    def pushed(self, stack: list[Any], item: object) -> Iterator[None]:
        """Puts `item` on one of the stacks inside the `with` block."""
        stack.append(item)
        try:
            yield
        finally:
            stack.pop()

    @contextmanager
    def named(self, scope: str) -> Iterator[str]:
        """Enters a name scope, whose name must be unique; yields its name with a final slash ('' for the root)."""
        former_name, self.name = self.name, scope
        try:
            yield scope + "/" if scope else ""
        finally:
            self.name = former_name

    @contextmanager
    def written_by_node(self) -> Iterator[None]:
        """Inside the block, an operation may use tensors of any branch or loop; the caller writes Enter and Exit."""
        former, self.by_node = self.by_node, True
        try:
            yield
        finally:
            self.by_node = former

    def control_inputs(self) -> list[Any]:
        """Returns the operations for which a node that is made now must wait."""
        operations: list[Any] = []
        for ops in reversed(self.control):
            if ops is None:
                break
            operations.extend(op for op in ops if op not in operations)
        return operations

    def gradient_override(self, op_type: str) -> str | None:
        """Returns the gradient's name for this type of op in the innermost `gradient_override_map`, or None."""
        for table in reversed(self.gradients):
            if op_type in table:
                return table[op_type]
        return None


class NameScope(ContextDecorator):
    """A context manager inside of which operations have a prefix. It is no generator, since a graph has as many
    scopes as operations.

    `claim` makes a name unique, when the block begins.
    """

    __slots__ = ("_claim", "_former", "_name", "_scopes")

    def __init__(self, scopes: Scopes, name: str | None, claim: Callable[[str], str]) -> None:
        self._scopes, self._name, self._claim = scopes, name, claim
        self._former = ""

    def _recreate_cm(self) -> NameScope:  # each call of a decorated function has a scope of its own
        return NameScope(self._scopes, self._name, self._claim)

    def __enter__(self) -> str:
        name, scopes = self._name, self._scopes
        if not name:
            scope = ""
        elif name.endswith("/"):
            scope = name[:-1]
        else:
            scope = self._claim(name)
        self._former, scopes.name = scopes.name, scope
        return scope + "/" if scope or name else ""

    def __exit__(self, *_: object) -> None:
        self._scopes.name = self._former


def check_name(name: str, scope: str) -> None:
    """Raises `InvalidArgumentError` unless `name` can be an operation's name in `scope`."""
    if not (_VALID_SCOPE if scope else _VALID_OP).match(name):
        raise InvalidArgumentError(
            f"{name!r} is not a valid name; it may hold letters, digits, '_', '.', '/', '-', '>' "
            "and must begin with a letter, digit or '.'"
        )
