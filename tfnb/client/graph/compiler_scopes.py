"""Scopes whose operations shall be compiled together, as copies of cells import them.

Invariant: a scope is the hint that TensorFlow makes of it: values are the same in it and outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["jit_scope"]


@contextmanager
def jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """A context manager: asks to compile the operations made inside, which all operations are here anyway.

    In TensorFlow, too, it is a hint that changes no value. compile_ops: whether to compile, or a function of a NodeDef
    that says so. separate_compiled_gradients: whether gradients are compiled apart.
    """
    yield
