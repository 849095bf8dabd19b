"""Operation: a node of the user's graph (white paper, section 2).

Invariant: identity is by object; inputs, attributes and name never change after creation, places may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import Origin, UnimplementedError, UnknownNameError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.graphdef.encode import node_def
from tfnb.ir.graphdef.message_types import AttrValue, NodeDef, OpDefMessage
from tfnb.ir.graphdef.op_def import op_def_message
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Runner, Tensor
from tfnb.types import TensorSpec
from tfnb.upcalls import upcall

__all__ = ["Operation"]


class Operation:
    """A node of the user's graph.

    `inputs` are tensors, `control_inputs` the operations that run before it, `attrs` an object of the op's attrs class,
    `types` the type variables, `specs` the dtype and static shape of each output, `origin` the user's line.
    """

    __slots__ = (
        "__dict__",  # of attributes that programs set
        "__weakref__",
        "attrs",
        "colocation",
        "control_inputs",
        "device",
        "extra",
        "gradient_type",
        "graph",
        "id",
        "inputs",
        "name",
        "opdef",
        "origin",
        "outputs",
        "specs",
        "types",
        "varies",
    )

    def __init__(self, graph: object, opdef: OpDef, name: str, inputs: Sequence[Tensor]) -> None:
        self.graph: Any = graph
        self.opdef = opdef
        self.name = name
        self.inputs = tuple(inputs)
        self.id = -1
        self.attrs: Any = None
        self.types: dict[str, Any] = {}
        self.control_inputs: list[Operation] = []
        self.device = ""
        self.colocation: tuple[str, ...] = ()
        self.gradient_type: str | None = None
        self.origin: Origin | None = None
        self.specs: list[TensorSpec] = []
        self.outputs: list[Tensor] = []
        self.extra: dict[str, Any] = {}  # e.g. the control-flow context
        self.varies = False  # whether it has no constant value; see `const.varies`

    @property
    def type(self) -> str:
        """The name of the op, such as "MatMul"."""
        return self.opdef.name

    @property
    def x(self) -> Tensor:
        """The first input. Gradient functions are easier to read with this short name."""
        return self.inputs[0]

    @property
    def y(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    @property
    def node_def(self) -> NodeDef:
        """The operation as a NodeDef message."""
        return node_def(self)

    @property
    def op_def(self) -> OpDefMessage:
        """The definition of the op as an OpDef message: name, arguments, types and attributes."""
        return op_def_message(self.opdef)

    @property
    def traceback(self) -> list[Any]:
        """The user's line: a list of one tuple (file, line number, function, text of the line); empty if unknown."""
        o = self.origin
        return [] if o is None else [(o.filename, o.lineno, o.function, o.code)]

    def set_spec(self, index: int, spec: TensorSpec) -> None:
        """Replaces the dtype and static shape of an output."""
        self.specs[index] = spec

    def colocation_groups(self) -> list[bytes]:
        """Returns the names of the groups with which this one shares its device, by default its own."""
        return [name.encode() for name in self.colocation] or [f"loc:@{self.name}".encode()]

    def get_attr(self, name: str) -> Any:
        """Returns an attribute or type variable, text as bytes. Raises `UnknownNameError` for other names.

        "_class" is the list of the groups with which the operation shares its device, if it does.
        """
        if name == "_class" and self.colocation:
            return self.colocation_groups()
        if name in self.types:
            return self.types[name]
        if hasattr(self.attrs, name):
            value = getattr(self.attrs, name)
            return value.encode() if isinstance(value, str) else value
        raise UnknownNameError(f"No attr named {name!r} in the operation {self.name}", self)

    def _set_device(self, device: object) -> None:
        """Replaces the device that is asked for: a name such as "/device:CPU:0", or a `tf.DeviceSpec`."""
        spec = DeviceSpec.from_string(str(device.to_string() if isinstance(device, DeviceSpec) else device or ""))
        self.device = spec.to_string()

    def _set_attr(self, name: str, value: AttrValue) -> None:
        """Replaces the groups with which the operation shares its device, the attribute "_class".

        Raises `UnimplementedError` for other names.
        """
        if name != "_class":
            raise UnimplementedError(f"the attribute {name!r} of the operation {self.name} cannot be changed", self)
        self.colocation = tuple(group.decode() for group in value.list.s)

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Runner | None = None) -> None:
        """Runs the operation in `session` or the default session."""
        upcall("run", self, feed_dict, session)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
