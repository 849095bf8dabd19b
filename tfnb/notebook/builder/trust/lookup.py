"""What a name or a chain of attributes stands for, as far as looking it up runs no code of the user's.

Invariant: of an object that is neither a module nor a class only functions are looked up, never properties.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from tfnb.errors import NotFoundError
from tfnb.notebook.builder.calls import Resolve

__all__ = ["looked_up_in", "member"]

_FUNCTIONS = (type(lambda: None), type(len), type(str.join), classmethod, staticmethod)


def member(owner: object, name: str) -> Any:
    """Returns an attribute of a module or class, or a method of another object; None for all else."""
    if owner is None or isinstance(owner, np.ndarray) or name.startswith("_"):
        return None
    if isinstance(owner, ModuleType | type) or isinstance(getattr(type(owner), name, None), _FUNCTIONS):
        try:
            return getattr(owner, name, None)
        except NotFoundError:
            return None
    return None


def looked_up_in(names: Mapping[str, Any]) -> Resolve:
    """Returns the function that looks expressions up in these names."""

    def resolve(tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name):
            return names.get(tree.id)
        return member(resolve(tree.value), tree.attr) if isinstance(tree, ast.Attribute) else None

    return resolve
