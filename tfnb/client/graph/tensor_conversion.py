"""Classes of the user's whose objects can be used as tensors: `tf.register_tensor_conversion_function`.

Invariant: a registered class has the method `__tensor__`, by which all of tfnb makes tensors of objects that are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.errors import DTypeError
from tfnb.ir.tensor import Tensor
from tfnb.types import DType

__all__ = ["API"]

_FUNCTIONS: dict[type, list[tuple[int, Callable[..., Any]]]] = {}


def register_tensor_conversion_function(
    base_type: type | Sequence[type], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Lets objects of the class `base_type`, or of each of several classes, be used where a tensor is needed.

    conversion_func: `conversion_func(value, dtype=None, name=None, as_ref=False)` returns the tensor, or
    NotImplemented, so that the next function of the class is asked; those with a lower `priority` come first. Raises
    `DTypeError` if it cannot be called, or for a class that is not written in Python.
    """
    if not callable(conversion_func):
        raise DTypeError("conversion_func must be callable.")
    for one in [base_type] if isinstance(base_type, type) else list(base_type):
        try:
            one.__tensor__ = _converted  # type: ignore[attr-defined]
        except (AttributeError, TypeError):
            raise DTypeError(f"base_type must be a class (or classes) of the program's own, got {one!r}") from None
        functions = _FUNCTIONS.setdefault(one, [])
        functions.append((priority, conversion_func))
        functions.sort(key=lambda entry: entry[0])


def _converted(value: object, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
    for one in type(value).__mro__:
        for _, function in _FUNCTIONS.get(one, ()):
            tensor = function(value, dtype=dtype, name=None, as_ref=as_ref)
            if isinstance(tensor, Tensor):
                return tensor
            if tensor is not NotImplemented:
                raise DTypeError(f"the conversion function of {one.__name__} returned no tensor, but {tensor!r}")
    raise DTypeError(f"no conversion function makes a tensor of {value!r} ({type(value).__name__})")


API: dict[str, Any] = {"register_tensor_conversion_function": register_tensor_conversion_function}
