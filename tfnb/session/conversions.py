"""Classes of a program whose objects may be fetched and fed: how each becomes tensors, and values become an object.

Invariant: a class is registered once; of several that fit an object the one registered last is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["Conversion", "conversion_of", "register_session_run_conversion_functions"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The functions of a class. `fetch(x)` gives tensors and a function that makes the result of their values.

    feed: from an object and its value to pairs of a tensor and a value. feed_partial: from an object to the tensors
    that are fed for it.
    """

    kind: type
    fetch: Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
    feed: Callable[[Any, Any], Sequence[tuple[Any, Any]]] | None
    feed_partial: Callable[[Any], Sequence[Any]] | None


_conversions: list[Conversion] = []


def conversion_of(value: object) -> Conversion | None:
    """Returns the functions that are registered for the class of `value`, or None."""
    for conversion in _conversions:
        if isinstance(value, conversion.kind):
            return conversion
    return None


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]],
    feed_function: Callable[[Any, Any], Sequence[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Callable[[Any], Sequence[Any]] | None = None,
) -> None:
    """Lets objects of `tensor_type` be fetched and fed by `Session.run`.

    fetch_function: from an object to a pair: tensors, and a function of the list of their values that returns what
    `run` returns for the object. feed_function: from an object and its fed value to pairs of a tensor and its value.
    feed_function_for_partial_run: from an object to the tensors that are fed for it. Raises `InvalidArgumentError` if
    the class, or a class below it, is registered already.
    """
    for conversion in _conversions:
        if issubclass(conversion.kind, tensor_type):
            raise InvalidArgumentError(f"{tensor_type} has already been registered so ignore it.")
    _conversions.insert(0, Conversion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run))
