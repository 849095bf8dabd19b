"""The container of the catalogue, the families of ops that fill it, and the public function derived from a definition.

Families that few programs use are named with their ops, and are imported when one of these ops is asked for.
Invariant: each name stands for exactly one op; the function of an op has TensorFlow's signature: inputs, attributes
and `name`.
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
from tfnb.ir.sparse import SparseTensor
from tfnb.suggestions import bound_arguments

__all__ = ["Catalog", "families_of", "later_families_of", "later_ops_of", "op_function"]


class Catalog(Mapping[str, OpDef]):
    """The definitions of all ops by name.

    `later` maps the names of further ops to the modules that define them, which are imported when such an op is used.
    """

    def __init__(self, *families: Iterable[OpDef], later: Mapping[str, str] | None = None) -> None:
        self._ops: dict[str, OpDef] = {}
        self._later: dict[str, str] = {}
        for family in families:
            for op in family:
                self.add(op)
        for name, module in (later or {}).items():
            if name in self:
                raise AlreadyExistsError(f"there is an op {name!r} already, which {module} defines again")
            self._later[name] = module

    def add(self, op: OpDef) -> None:
        """Adds `op`. Raises `AlreadyExistsError` when another op has its name."""
        if op.name in self:
            raise AlreadyExistsError(f"there is an op {op.name!r} already")
        self._ops[op.name] = op

    def redefine(self, op: OpDef) -> None:
        """Adds `op`, replacing one of the same name: a notebook cell that defines an op can be run again."""
        self._later.pop(op.name, None)
        self._ops[op.name] = op

    def __getitem__(self, name: str) -> OpDef:
        if name in self._later:
            self._load(self._later[name])
        try:
            return self._ops[name]
        except KeyError:
            raise NotFoundError(f"no op is named {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._ops or name in self._later

    def __iter__(self) -> Iterator[str]:
        return iter((*self._ops, *self._later))

    def __len__(self) -> int:
        return len(self._ops) + len(self._later)

    def _load(self, module: str) -> None:
        """Adds the ops of a module that is imported late. Two threads that load one add the same definitions."""
        for op in import_module(module).OPS:
            if op.name in self._later:  # an op that was redefined before stays
                self._ops[op.name] = op
                self._later.pop(op.name, None)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions of those ops that have public names in `OpDef.api`, by public name.

        Ops that are imported late have none; their public functions are in `tfnb.client`.
        """
        return {name: op_function(op, name) for op in self._ops.values() for name in op.api.split()}


def families_of(folder: ModuleType) -> tuple[ModuleType, ...]:
    """Returns the modules that `FAMILIES` of a folder names.

    Each module defines `OPS`, and `API` if it has public functions. Raises `ModuleNotFoundError` when a name in
    `FAMILIES` has no file, and `NotFoundError` when a module has no `OPS` or an empty one.
    """
    families = tuple(import_module(f"{folder.__name__}.{name}") for name in folder.FAMILIES)
    for family in families:
        if not hasattr(family, "OPS"):
            raise NotFoundError(f"{family.__name__} is named in FAMILIES and defines no OPS")
        if not (family.OPS or getattr(family, "API", None)):
            raise NotFoundError(f"{family.__name__} is named in FAMILIES and has neither OPS nor API")
    return families


def later_ops_of(folder: ModuleType) -> dict[str, str]:
    """Returns the modules that `LATER_FAMILIES` of a folder names, by the names of their ops."""
    table: Mapping[str, str] = getattr(folder, "LATER_FAMILIES", {})
    return {op: f"{folder.__name__}.{module}" for module, names in table.items() for op in names.split()}


def later_families_of(folder: ModuleType) -> tuple[ModuleType, ...]:
    """Imports and returns the modules that `LATER_FAMILIES` of a folder names.

    Raises `NotFoundError` when the ops of a module are not those that stand beside its name.
    """
    table: Mapping[str, str] = getattr(folder, "LATER_FAMILIES", {})
    families = tuple(import_module(f"{folder.__name__}.{module}") for module in table)
    for family, names in zip(families, table.values(), strict=True):
        if {op.name for op in family.OPS} != set(names.split()):
            raise NotFoundError(f"{family.__name__}: LATER_FAMILIES names other ops than its OPS")
    return families


def op_function(op: OpDef, public: str) -> Callable[..., Any]:
    """Returns the function `public(inputs..., attributes..., name=None)`, which adds a node of `op` to the graph."""
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

    def call(*args: object, **kwargs: object) -> Any:
        try:
            bound = bound_arguments(signature, short, args, kwargs)
        except TypeError as e:
            raise InvalidArgumentError(f"tf.{public}{signature}: {e}") from None
        name = bound.pop("name", None)
        values = [bound.pop(n) for n in inputs]
        if op.keeps_zero and isinstance(values[0], SparseTensor):
            return values[0].with_values(op(values[0].values, name=name))
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
