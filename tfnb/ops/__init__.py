"""The catalogue: the explicit list of all operations, with one folder per concept and one file per family of ops.

`CATALOG` maps names of ops to their definitions, `API` maps public names to functions.
Invariant: nothing registers itself; an op is in the catalogue because `FAMILIES` of its folder names its file, or
`LATER_FAMILIES` its file and itself; files of the latter are imported when one of their ops is used.

Definition, type signature, shape function, gradient, kernels and documentation of an op stand together in one file. The
tests demand of each op: documentation, a shape function, a host reference kernel, a gradient or a statement that there
is none, and test cases, in which OpenCL must equal the host, and the gradient the numerical one. A name in `FAMILIES`
that is misspelt, or a file without `OPS`, is an error of the import.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tfnb.ops import (
    array,
    checkpoint,
    control_flow,
    conv_pool,
    dataset,
    image,
    io,
    linalg,
    logging,
    math,
    nn,
    operators,
    random,
    renamed_ops,
    sparse,
    state,
    strings,
    sync,
    training,
)
from tfnb.ops.array import array_functions
from tfnb.ops.catalog import Catalog, families_of, later_families_of, later_ops_of, op_function
from tfnb.upcalls import install

__all__ = ["API", "CATALOG", "FAMILIES", "FOLDERS", "all_families", "op_function"]

FOLDERS = (
    math,
    linalg,
    array,
    nn,
    conv_pool,
    image,
    strings,
    sparse,
    random,
    state,
    control_flow,
    sync,
    io,
    checkpoint,
    dataset,
    training,
    logging,
)
FAMILIES = (*(family for folder in FOLDERS for family in families_of(folder)), renamed_ops, operators)
_LATER = {op: module for folder in FOLDERS for op, module in later_ops_of(folder).items()}
CATALOG = Catalog(*(family.OPS for family in FAMILIES), later=_LATER)


def all_families() -> tuple[ModuleType, ...]:
    """Returns the modules of all families of ops, those that are imported late too."""
    return (*FAMILIES, *(family for folder in FOLDERS for family in later_families_of(folder)))


def _merged(attribute: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for family in FAMILIES:
        merged.update(getattr(family, attribute, {}))
    return merged


API: dict[str, Any] = array_functions.with_aliases(CATALOG.functions() | _merged("API"))
install(_merged("OPERATORS"))
