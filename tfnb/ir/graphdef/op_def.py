"""The definition of an op as an OpDef message: its arguments, types and attributes.

Programs read it to find out what a graph holds (`operation.op_def.name`). Invariant: the message is derived from the
entry of the catalogue, so both say the same.
"""

from __future__ import annotations

from tfnb.ir.graphdef.attrs import attribute_kinds, numbers_of, type_lists_of
from tfnb.ir.graphdef.message_types import Message, OpDefMessage
from tfnb.ir.opdef import Arg, OpDef
from tfnb.ir.protos import proto
from tfnb.types import as_dtype

__all__ = ["op_def_message"]


def op_def_message(opdef: OpDef) -> OpDefMessage:
    """Returns the OpDef message of an op."""
    message: OpDefMessage = proto("op_def").OpDef(name=opdef.name, is_stateful=opdef.stateful)
    for arg in opdef.input_args:
        _write_argument(opdef, arg, message.input_arg.add())
    for arg in opdef.output_args:
        _write_argument(opdef, arg, message.output_arg.add())
    lists = type_lists_of(opdef)
    for name, allowed in opdef.types.items():
        entry = message.attr.add(name=name, type="list(type)" if name in lists else "type")
        entry.allowed_values.list.type.extend(dtype.as_datatype_enum for dtype in allowed)
    for name in numbers_of(opdef):
        message.attr.add(name=name, type="int")
    for name, kind in attribute_kinds(opdef).items():
        message.attr.add(name=name, type=kind)
    return message


def _write_argument(opdef: OpDef, arg: Arg, message: Message) -> None:
    fields = {"name": arg.name, "is_ref": arg.ref}
    if arg.number is not None:
        fields["number_attr"] = arg.number
    if arg.type_list:
        fields["type_list_attr"] = arg.type
    elif arg.type in opdef.types:
        fields["type_attr"] = arg.type
    else:
        fields["type"] = as_dtype(arg.type).as_datatype_enum
    message.MergeFrom(type(message)(**fields))
