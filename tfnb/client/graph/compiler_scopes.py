"""Scopes whose operations shall be compiled together, and the definitions of all ops, as copies of cells import them.

Invariant: a scope is the hint that TensorFlow makes of it: values are the same in it and outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tfnb.ir.graphdef.message_types import OpDefMessage
from tfnb.ir.graphdef.op_def import op_def_message
from tfnb.ops import CATALOG

__all__ = ["get_registered_ops", "jit_scope"]


@contextmanager
def jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """A context manager: asks to compile the operations made inside, which all operations are here anyway.

    In TensorFlow, too, it is a hint that changes no value. compile_ops: whether to compile, or a function of a NodeDef
    that says so. separate_compiled_gradients: whether gradients are compiled apart.
    """
    yield


def get_registered_ops() -> dict[str, OpDefMessage]:
    """Returns the definitions of all ops as OpDef messages by their names."""
    return {name: op_def_message(opdef) for name, opdef in CATALOG.items()}
