"""The values of a Python generator as elements of a data set (`Dataset.from_generator`).

Invariant: an element has the structure, the dtypes and the shapes that the user declared, or its conversion fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.graph.nest import flatten
from tfnb.errors import InvalidArgumentError
from tfnb.ir.bind import to_bytes

__all__ = ["converted"]


def converted(value: object, spec: ElementSpec) -> tuple[np.ndarray, ...]:
    """Returns the components of a value that a generator yielded, as arrays.

    Raises `InvalidArgumentError` when the structure, a dtype or a shape differs from `spec`.
    """
    arrays = []
    for part, dtype, shape in zip(_leaves(value, spec.types), flatten(spec.types), spec.shapes, strict=True):
        try:
            array = np.asarray(part)
            if dtype.is_string:
                array = to_bytes(array)
            elif array.dtype.kind in ("O" if dtype.is_floating or dtype.is_complex else "Ofc"):
                raise TypeError(f"it is {array.dtype}")
            else:
                array = array.astype(dtype.np)
        except (TypeError, ValueError) as e:
            raise InvalidArgumentError(
                f"`generator` yielded an element that could not be converted to the expected type. The expected type "
                f"was {dtype.name}, but the yielded element was {str(part)[:80]!r}: {e}"
            ) from None
        if not shape.is_compatible_with(array.shape):
            raise InvalidArgumentError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was expected."
            )
        arrays.append(array)
    return tuple(arrays)


def _leaves(value: object, types: object) -> list[Any]:
    """Returns the leaves of a value, which must have the structure of `types`."""
    if isinstance(types, Mapping):
        if isinstance(value, Mapping) and set(value) == set(types):
            return [leaf for key in sorted(types) for leaf in _leaves(value[key], types[key])]
    elif isinstance(types, tuple):
        if isinstance(value, (tuple, list)) and len(value) == len(types):
            return [leaf for v, t in zip(value, types, strict=True) for leaf in _leaves(v, t)]
    elif not isinstance(value, Mapping):
        return [value]
    raise InvalidArgumentError(
        "`generator` yielded an element that did not match the expected structure. The expected structure was "
        f"{types!r}, but the yielded element was {str(value)[:80]!r}."
    )
