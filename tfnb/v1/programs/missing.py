"""The errors for names of TensorFlow that tfnb does not have, and what to use instead of them.

A program that asks with `hasattr` or catches `ImportError` goes on as it does without the name. Invariant: every such
error says that the program runs under tfnb.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tfnb.client.namespace import elsewhere
from tfnb.errors import NotFoundError
from tfnb.v1.names.refused import advice

__all__ = ["MissingModuleError", "MissingNameError", "missing_module", "missing_name"]


class MissingNameError(NotFoundError, AttributeError):
    """tfnb does not have this name of TensorFlow."""


class MissingModuleError(NotFoundError, ModuleNotFoundError):
    """tfnb does not have this module of TensorFlow."""


def missing_name(place: ModuleType, name: str, path: str) -> MissingNameError:
    """Returns the error for the attribute `name` of the module `place`, which is `path` ("nn.no_such") below
    tensorflow.
    """
    instead = advice(path) or elsewhere(sys.modules["tfnb"], path)
    error = MissingNameError(f"module {place.__name__!r} has no attribute {name!r}: {_reason(instead)}")
    error.name, error.obj = name, place  # from these Python's traceback proposes similar names
    return error


def missing_module(path: str) -> MissingModuleError:
    """Returns the error for the module tensorflow.`path`."""
    return MissingModuleError(f"no module named 'tensorflow.{path}': {_reason(advice(path))}")


def _reason(instead: str) -> str:
    return "this program runs under tfnb, which does not have it" + (f"; {instead}" if instead else "")
