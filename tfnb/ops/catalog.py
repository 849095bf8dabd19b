"""The catalogue's container, the families that go into it, and the function that an op gets from its definition alone.

Invariant: a name stands for one op; an op's function has TensorFlow's signature: inputs, attributes, `name`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from tfnb.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from tfnb.ir.opdef import OpDef

__all__ = ["Catalog", "families_of", "op_function"]


class Catalog(Mapping[str, OpDef]):
    """Op name -> OpDef."""

    def __init__(self, *families: Iterable[OpDef]) -> None:
        self._ops: dict[str, OpDef] = {}
        for family in families:
            for op in family:
                self.add(op)

    def add(self, op: OpDef) -> None:
        """Raises `AlreadyExistsError` when the name is taken."""
        if op.name in self._ops:
            raise AlreadyExistsError(f"there is an op {op.name!r} already")
        self._ops[op.name] = op

    def redefine(self, op: OpDef) -> None:
        """Adds an op, in place of one of its name: for a notebook cell that is run again."""
        self._ops[op.name] = op

    def __getitem__(self, name: str) -> OpDef:
        try:
            return self._ops[name]
        except KeyError:
            raise NotFoundError(f"no op is named {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._ops

    def __iter__(self) -> Iterator[str]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Public name -> function, for the ops that name themselves in `OpDef.api`."""
        return {name: op_function(op, name) for op in self._ops.values() for name in op.api.split()}


def families_of(folder: ModuleType) -> tuple[ModuleType, ...]:
    """The modules that `FAMILIES` of a folder names. Each defines `OPS`, and `API` where it has functions of its own.

    Errors: `ModuleNotFoundError` for a name without a file, `NotFoundError` for a module that has no `OPS`, or nothing
    in it.
    """
    families = tuple(import_module(f"{folder.__name__}.{name}") for name in folder.FAMILIES)
    for family in families:
        if not hasattr(family, "OPS"):
            raise NotFoundError(f"{family.__name__} is named in FAMILIES and defines no OPS")
        if not (family.OPS or getattr(family, "API", None)):
            raise NotFoundError(f"{family.__name__} is named in FAMILIES and has neither OPS nor API")
    return families


def op_function(op: OpDef, public: str) -> Callable[..., Any]:
    """A function `public(inputs..., attributes..., name=None)` that adds a node of `op`."""
    inputs = [a.name for a in op.input_args]
    fields = [f for f in dataclasses.fields(op.attrs) if f.init]
    undetermined = [t for t in op.types if not any(a.type == t for a in op.input_args)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    params = [inspect.Parameter(n, kind) for n in inputs]
    params += [inspect.Parameter(t, kind) for t in undetermined]
    params += [inspect.Parameter(f.name, kind, default=_default(f)) for f in fields]
    params.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    params.append(inspect.Parameter("name", kind, default=None))
    signature = inspect.Signature(params)
    short = public.rpartition(".")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise InvalidArgumentError(f"tf.{public}{signature}: {e}") from None
        name = bound.pop("name", None)
        values = [bound.pop(n) for n in inputs]
        return op(*values, name=name, **bound)

    call.__name__ = call.__qualname__ = short
    call.__doc__ = op.doc
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _default(f: dataclasses.Field[Any]) -> Any:
    if f.default is not dataclasses.MISSING:
        return f.default
    if f.default_factory is not dataclasses.MISSING:
        return f.default_factory()
    return inspect.Parameter.empty
