"""Attributes of nodes as AttrValue messages, and back.

The op's definition says what an attribute is: a type variable, a number of inputs, or a field of its attrs class,
whose annotation gives the kind. Invariant: an attribute of another kind than declared is refused.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.graphdef.tensor_proto import (
    decode_array,
    decode_dtype,
    decode_shape,
    encode_array,
    encode_shape,
)
from tfnb.ir.opdef import OpDef
from tfnb.ir.protos import proto
from tfnb.types import DType, Shape

__all__ = ["decode_attrs", "encode_attrs", "encode_value", "numbers_of", "type_lists_of"]

_KINDS = {bool: "b", int: "i", float: "f", str: "s", bytes: "s", Shape: "shape", DType: "type", np.ndarray: "tensor"}


@cache
def _fields(attrs: type) -> Mapping[str, tuple[str, bool]]:
    """Name -> (field of AttrValue, is it a list) of the attributes that stand in a GraphDef."""
    found = {}
    hints = typing.get_type_hints(attrs)
    for f in dataclasses.fields(attrs):
        if f.metadata.get("local"):
            continue
        hint = hints[f.name]
        listed = typing.get_origin(hint) is tuple
        found[f.name] = (_KINDS[typing.get_args(hint)[0] if listed else hint], listed)
    return found


def numbers_of(opdef: OpDef) -> tuple[str, ...]:
    """The attributes that say how many tensors an argument has: "N" of "N*T"."""
    args = (*opdef.input_args, *opdef.output_args)
    return tuple(dict.fromkeys(a.number for a in args if a.number is not None))


def type_lists_of(opdef: OpDef) -> frozenset[str]:
    """The type variables that are lists: "T" of "[T]"."""
    return frozenset(a.type for a in (*opdef.input_args, *opdef.output_args) if a.type_list)


def encode_value(kind: str, listed: bool, value: Any) -> Any:
    """The AttrValue of a value; `kind` is the field that holds it."""
    found = proto("attr_value").AttrValue()
    if listed:
        found.list.SetInParent()
        items = getattr(found.list, kind)
        items.extend([_plain(kind, v) for v in value])
    elif kind in ("shape", "tensor"):
        getattr(found, kind).CopyFrom(_plain(kind, value))
    else:
        setattr(found, kind, _plain(kind, value))
    return found


def _plain(kind: str, value: Any) -> Any:
    if kind == "type":
        return value.enum
    if kind == "s":
        return value.encode() if isinstance(value, str) else value
    if kind == "shape":
        return encode_shape(value)
    if kind == "tensor":
        return encode_array(value)
    return {"b": bool, "i": int, "f": float}[kind](value)


def encode_attrs(opdef: OpDef, types: Mapping[str, Any], attrs: Any, into: Any) -> None:
    """Writes type variables, numbers and attributes of a node into the map `attr` of its NodeDef."""
    numbers = numbers_of(opdef)
    for name, value in types.items():
        listed = isinstance(value, (list, tuple))
        into[name].CopyFrom(encode_value("i" if name in numbers else "type", listed, value))
    for name, (kind, listed) in _fields(opdef.attrs).items():
        into[name].CopyFrom(encode_value(kind, listed, getattr(attrs, name)))


def decode_attrs(opdef: OpDef, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for `bind` from the map `attr` of a NodeDef; names that begin with "_" are not looked at.

    Raises `InvalidArgumentError` or `DTypeError` that names the attribute.
    """
    fields, numbers, lists = _fields(opdef.attrs), numbers_of(opdef), type_lists_of(opdef)
    found: dict[str, Any] = {}
    for name in sorted(given):
        if name.startswith("_"):
            continue
        value = given[name]
        try:
            if name in opdef.types:
                found[name] = _decode("type", name in lists, value)
            elif name in fields:
                found[name] = _decode(*fields[name], value)
            elif name in numbers:
                found[name] = _decode("i", False, value)
            else:
                _check_unknown(opdef, name, value)
        except (InvalidArgumentError, MemoryError) as e:
            e.args = (f"{opdef.name}, attribute {name!r}: {e.args[0]}",)
            e.message = e.args[0]  # type: ignore[union-attr]
            raise
    for name, value in opdef.defaults.items():
        if name in opdef.types:
            found.setdefault(name, value)
    return found


def _decode(kind: str, listed: bool, value: Any) -> Any:
    which = value.WhichOneof("value")
    if listed:
        if which != "list":
            raise DTypeError(f"needed a list, got {_said(value)}")
        _check_homogeneous(kind, value.list)
        return tuple(_decoded(kind, v) for v in getattr(value.list, kind))
    if which != kind:
        raise DTypeError(f"needed the kind {kind!r}, got {_said(value)}")
    return _decoded(kind, getattr(value, kind))


def _check_homogeneous(kind: str, items: Any) -> None:
    other = [f.name for f, v in items.ListFields() if f.name != kind]
    if other:
        raise DTypeError(f"needed a list of the kind {kind!r}, got one of {other[0]!r}")


def _decoded(kind: str, value: Any) -> Any:
    if kind == "type":
        return decode_dtype(value)
    if kind == "shape":
        return decode_shape(value)
    if kind == "tensor":
        return decode_array(value)
    if kind == "f":
        return float(str(np.float32(value)))  # the shortest decimal number of the 32 bits: 0.1, not 0.10000000149
    if kind == "s":
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidArgumentError(f"{value[:40]!r} is not text in UTF-8") from None
    return value


def _check_unknown(opdef: OpDef, name: str, value: Any) -> None:
    """An attribute that the op lacks must have no effect: the one value served, or nothing (0, false, empty)."""
    which = value.WhichOneof("value")
    if which is None or (which in "bifs" and not getattr(value, which)):
        return
    if which == "list" and not value.list.ListFields():
        return
    if name in opdef.defaults:
        wanted = opdef.defaults[name]
        kind = _KINDS[type(wanted)]
        if which == kind and _decoded(kind, getattr(value, kind)) == wanted:
            return
        raise InvalidArgumentError(f"only the value {wanted!r} is served, got {_said(value)}")
    known = sorted((*opdef.types, *_fields(opdef.attrs), *numbers_of(opdef)))
    raise InvalidArgumentError(f"there is no such attribute, only {', '.join(known) or 'none'}")


def _said(value: Any) -> str:
    text = " ".join(str(value).split())
    return repr(text[:60]) if text else "nothing"
