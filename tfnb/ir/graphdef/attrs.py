"""Attributes of nodes as AttrValue messages, and back.

By the op's definition an attribute is a type variable, a number of inputs, or a field of the attrs class, whose
annotation gives the kind. Invariant: an attribute of another kind than the declared one is refused.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.graph_function import GraphFunction
from tfnb.ir.graphdef.attrs_beyond_1_15 import LATER_ATTRS, LATER_DEFAULTS, OWN_ATTRS
from tfnb.ir.graphdef.message_types import AttrList, AttrValue
from tfnb.ir.graphdef.tensor_proto import (
    decode_array,
    decode_dtype,
    decode_shape,
    encode_array,
    encode_shape,
)
from tfnb.ir.opdef import OpDef
from tfnb.ir.protos import proto
from tfnb.ir.record import Attrs
from tfnb.types import DType, Shape, as_shape

__all__ = [
    "attribute_kinds",
    "decode_attrs",
    "default_attrs",
    "encode_attrs",
    "encode_value",
    "function_attributes",
    "is_sendable",
    "numbers_of",
    "output_places",
    "type_lists_of",
]

_KINDS = {bool: "b", int: "i", float: "f", str: "s", bytes: "s", Shape: "shape", DType: "type", np.ndarray: "tensor"}

_OURS = "_"


class Form(typing.NamedTuple):
    """The form of an attribute in an AttrValue: its field `kind`, or with `listed` a list of such values.

    With `raw`, bytes need not be text in UTF-8. An attribute `later` than TensorFlow 1.15 is written where it is set.
    """

    kind: str
    listed: bool = False
    raw: bool = False
    later: bool = False


_NUMBER = Form("i")


@remembered("fields of attributes", 2048)
def _fields(attrs: type) -> Mapping[str, Form]:
    """Returns the attributes of an attrs class that are written to a GraphDef, by their names there, with their forms.

    Attributes that TensorFlow's op does not have begin with "_". Python objects (functions, graphs) are not written,
    because they belong to this process.
    """
    hints = typing.get_type_hints(attrs)
    forms = ((f, _form(hints[f.name])) for f in dataclasses.fields(attrs) if not f.metadata.get("local"))
    return {
        _OURS * bool(f.metadata.get("ours")) + f.name: form._replace(later="later" in f.metadata)
        for f, form in forms
        if form is not None
    }


@remembered("attributes that are functions", 2048)
def function_attributes(attrs: type) -> frozenset[str]:
    """Returns the names of the attributes that are functions, which stand in the library of a file."""
    hints = typing.get_type_hints(attrs)
    return frozenset(name for name, hint in hints.items() if GraphFunction in (hint, *typing.get_args(hint)))


def _form(hint: object) -> Form | None:
    if typing.get_origin(hint) in (tuple, list, Sequence):
        one = _form(typing.get_args(hint)[0])
        return None if one is None else one._replace(listed=True)
    options = [t for t in (typing.get_args(hint) or (hint,)) if t is not type(None)]
    if len(options) == 1:
        if options[0] is not hint:
            return _form(options[0])
        if hint in _KINDS:
            return Form(_KINDS[hint], raw=hint is bytes)
    if set(options) == {str, bytes}:
        return Form("s", raw=True)
    return None


_KIND_NAMES = {"b": "bool", "i": "int", "f": "float", "s": "string"}


def attribute_kinds(opdef: OpDef) -> dict[str, str]:
    """Returns the kinds of an op's attributes as an OpDef message names them, such as "int" or "list(string)"."""
    names = {name: _KIND_NAMES.get(form.kind, form.kind) for name, form in _fields(opdef.attrs).items()}
    return {name: f"list({names[name]})" if form.listed else names[name] for name, form in _fields(opdef.attrs).items()}


def is_sendable(attrs: Attrs) -> bool:
    """Returns whether a GraphDef can hold all of the attributes, so that the node can be sent to another process.

    Attributes that are not written must have their default values.
    """
    written = {name.removeprefix(_OURS) for name in _fields(attrs.__class__)}
    unwritten = [f for f in dataclasses.fields(attrs) if f.init and f.name not in written]
    return all(getattr(attrs, f.name) is f.default for f in unwritten)


def numbers_of(opdef: OpDef) -> tuple[str, ...]:
    """Returns the names of the attributes that are lengths of arguments: "N" of "N*T"."""
    args = (*opdef.input_args, *opdef.output_args)
    return tuple(dict.fromkeys(a.number for a in args if a.number is not None))


def type_lists_of(opdef: OpDef) -> frozenset[str]:
    """Returns the type variables that stand for lists of dtypes: "T" of "[T]"."""
    return frozenset(a.type for a in (*opdef.input_args, *opdef.output_args) if a.type_list)


def output_places(opdef: OpDef, attrs: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Returns for each output, by its name, the position of its first tensor and the number of its tensors."""
    places, start = {}, 0
    for a in opdef.output_args:
        count = len(attrs.get(a.type, ())) if a.type_list else attrs.get(a.number, 0) if a.number else 1
        places[a.name] = (start, count)
        start += count
    return places


def encode_value(
    kind: str, listed: bool, value: object, into: AttrValue | None = None, declared: DType | None = None
) -> AttrValue:
    """Returns the AttrValue of a value, in its field `kind`, or with `listed` as a list of that kind.

    It is written into the message `into` if that is given. `declared` is the dtype of a tensor, if it is not the dtype
    of the array.
    """
    message: AttrValue = proto("attr_value").AttrValue() if into is None else into
    if listed:
        values: Any = value
        message.list.SetInParent()
        items = getattr(message.list, kind)
        items.extend([_PLAIN[kind](v) for v in values])
    elif kind == "tensor":
        encode_array(np.asarray(value), message.tensor, declared)
    elif kind == "shape":
        message.shape.CopyFrom(_PLAIN[kind](value))
    else:
        setattr(message, kind, _PLAIN[kind](value))
    return message


_PLAIN: Mapping[str, Callable[[Any], object]] = {
    "b": bool,
    "i": int,
    "f": float,
    "s": lambda value: value.encode() if isinstance(value, str) else value,
    "type": lambda value: value.enum,
    "shape": lambda value: encode_shape(as_shape(value)),
    "tensor": encode_array,
}
"""How a value of each kind stands in a message."""


def encode_attrs(opdef: OpDef, types: Mapping[str, Any], attrs: Attrs, into: MutableMapping[str, AttrValue]) -> None:
    """Writes type variables, numbers and attributes of a node into the map `attr` of its NodeDef."""
    numbers = numbers_of(opdef)
    for name, value in types.items():
        is_list = isinstance(value, (list, tuple))
        encode_value("i" if name in numbers else "type", is_list, value, into[name])
    for name, form in _fields(opdef.attrs).items():
        value = getattr(attrs, name.removeprefix(_OURS))
        if value is not None and (not (form.later or name.startswith(_OURS)) or value):
            encode_value(form.kind, form.listed, value, into[name], types.get("dtype"))
    if opdef.name in LATER_ATTRS:
        _leave_out_later(opdef, into)
    if opdef.name in OWN_ATTRS:
        _rename_own(opdef, into)


def _rename_own(opdef: OpDef, attrs: MutableMapping[str, AttrValue]) -> None:
    """Gives attributes that no TensorFlow knows the names of such."""
    for name in OWN_ATTRS[opdef.name]:
        if name in attrs:
            attrs[_OURS + name].CopyFrom(attrs[name])
            del attrs[name]


def _leave_out_later(opdef: OpDef, attrs: MutableMapping[str, AttrValue]) -> None:
    """Removes the attributes that TensorFlow 1.15 does not know where they say what it does without them."""
    defaults = default_attrs(opdef)
    for name in LATER_ATTRS[opdef.name]:
        default = defaults.get(name)
        if default is None and name in LATER_DEFAULTS:
            default = encode_value("type", False, LATER_DEFAULTS[name])
        if name in attrs and attrs[name] == default:
            del attrs[name]


@remembered("default attributes", 2048)
def default_attrs(opdef: OpDef) -> dict[str, Any]:
    """Returns the AttrValues of those attributes of an operation that have a default."""
    values = {}
    forms = _fields(opdef.attrs)
    for f in dataclasses.fields(opdef.attrs):
        form = forms.get(f.name)
        if form is not None and f.default is not dataclasses.MISSING and f.default is not None:
            values[f.name] = encode_value(form.kind, form.listed, f.default)
    for name, value in opdef.defaults.items():
        if name in opdef.types:
            values[name] = encode_value("type", False, value)
    return values


def decode_attrs(
    opdef: OpDef, given: Mapping[str, AttrValue], find_op: Callable[[str], OpDef] | None = None
) -> dict[str, Any]:
    """Returns keyword arguments for `bind` from the map `attr` of a NodeDef.

    Unknown names that begin with "_" are ignored. `find_op` finds the functions that attributes name, which are left
    out without it.
    Raises `InvalidArgumentError` or `DTypeError` that names the attribute.
    """
    fields, numbers, lists = _fields(opdef.attrs), numbers_of(opdef), type_lists_of(opdef)
    functions = function_attributes(opdef.attrs)
    attrs: dict[str, Any] = {}
    for given_name in sorted(given):
        name = given_name
        value = given[given_name]
        if name.startswith(_OURS) and name[1:] in OWN_ATTRS.get(opdef.name, ()):
            name = name.removeprefix(_OURS)
        if name.startswith(_OURS) and name not in fields:
            continue
        try:
            if name in opdef.types:
                attrs[name] = _decode(Form("type", name in lists), value)
            elif name in fields:
                attrs[name.removeprefix(_OURS)] = _decode(fields[name], value)
            elif name in numbers:
                attrs[name] = _decode(_NUMBER, value)
            elif name in functions and value.WhichOneof("value") == "func":
                if find_op is not None:
                    attrs[name] = _function(value.func.name, find_op)
            else:
                _check_unknown(opdef, name, value)
        except (InvalidArgumentError, MemoryError) as e:
            e.args = (f"{opdef.name}, attribute {name!r}: {e.args[0]}",)
            e.message = e.args[0]  # type: ignore[union-attr]
            raise
    for name, value in opdef.defaults.items():
        if name in opdef.types:
            attrs.setdefault(name, value)
    for name in lists & opdef.types.keys():
        attrs.setdefault(name, ())
    return attrs


def _function(name: str, find_op: Callable[[str], OpDef]) -> GraphFunction:
    body = find_op(name).body
    if body is None:
        raise InvalidArgumentError(f"{name[:200]!r} is an op, needed a function of the library")
    return GraphFunction(tuple(body.args), tuple(body.results))


def _decode(form: Form, value: AttrValue) -> Any:
    kind, value_kind = form.kind, value.WhichOneof("value")
    if form.listed:
        if value_kind != "list":
            raise DTypeError(f"needed a list, got {_said(value)}")
        _check_homogeneous(kind, value.list)
        return tuple(_decoded(form, v) for v in getattr(value.list, kind))
    if value_kind != kind:
        raise DTypeError(f"needed the kind {kind!r}, got {_said(value)}")
    return _decoded(form, getattr(value, kind))


def _check_homogeneous(kind: str, items: AttrList) -> None:
    other = [f.name for f, v in items.ListFields() if f.name != kind]
    if other:
        raise DTypeError(f"needed a list of the kind {kind!r}, got one of {other[0]!r}")


_DECODE: Mapping[str, Callable[[Any], Any]] = {
    "type": decode_dtype,
    "shape": decode_shape,
    "tensor": decode_array,
    "f": lambda value: float(str(np.float32(value))),  # the shortest decimal of the 32 bits: 0.1, not 0.10000000149
}
"""The value that a message holds, for the kinds that stand in messages in another form."""


def _decoded(form: Form, value: object) -> object:
    """Decodes one value of an AttrValue.

    Raises `InvalidArgumentError` for bytes that are not text, and the errors of the functions in `_DECODE`.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            if form.raw:
                return value
            raise InvalidArgumentError(f"{value[:40]!r} is not text in UTF-8") from None
    decode = _DECODE.get(form.kind)
    return value if decode is None else decode(value)


def _check_unknown(opdef: OpDef, name: str, value: AttrValue) -> None:
    """Raises `InvalidArgumentError` for an attribute that the op does not have, unless the value has no effect.

    Values without effect are 0, false, empty values, and the one value that `OpDef.defaults` accepts.
    """
    value_kind = value.WhichOneof("value")
    if value_kind is None or (value_kind in "bifs" and not getattr(value, value_kind)):
        return
    if value_kind == "list" and not value.list.ListFields():
        return
    if name in opdef.defaults:
        accepted = opdef.defaults[name]
        if accepted is None:
            return
        kind = _KINDS[type(accepted)]
        if value_kind == kind and _decoded(Form(kind), getattr(value, kind)) == accepted:
            return
        raise InvalidArgumentError(f"only the value {accepted!r} is served, got {_said(value)}")
    names = sorted((*opdef.types, *_fields(opdef.attrs), *numbers_of(opdef)))
    raise InvalidArgumentError(f"there is no such attribute, only {', '.join(names) or 'none'}")


def _said(value: AttrValue) -> str:
    text = " ".join(str(value).split())
    return repr(text[:60]) if text else "nothing"
