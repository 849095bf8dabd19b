"""Records: frozen classes of fields that are quick to define, for the attributes of ops.

There are two hundred attrs classes. The methods that `dataclasses` generates and compiles for each of them would take a
quarter of the time of `import tfnb`. Here only `__init__` is generated for each class; all classes share the others.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        return lambda decorator: decorator


__all__ = ["Attrs", "record"]

T = TypeVar("T")


class Attrs(Protocol):
    """The attributes of one node: an object of its op's attrs class, which is a dataclass or a `record`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Makes `cls` a dataclass by its annotations: frozen, with slots, equality, hash and repr.

    `dataclasses.fields` and `replace` work on its objects. Setting a field raises `dataclasses.FrozenInstanceError`.
    """
    record_class: Any = dataclass(repr=False, eq=False, slots=True)(cls)
    for name, method in _SHARED.items():
        if name not in cls.__dict__:
            setattr(record_class, name, method)
    return record_class


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _eq(self: object, other: object) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: object) -> int:
    return hash(_values(self))


def _repr(self: Attrs) -> str:
    field_texts = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({field_texts})"


def _set_once(self: object, name: str, value: object) -> None:
    """Allows `__init__` to set each field once. Raises `FrozenInstanceError` after that."""
    if hasattr(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {"__eq__": _eq, "__hash__": _hash, "__repr__": _repr, "__setattr__": _set_once, "__delattr__": _delete}
