"""Send and Recv: the ops that connect partitions (white paper, section 3.2.2).

The partitioner inserts them where an edge crosses from one device to another. Users never create them, so they are not
in the catalogue. The runtime implements them by their `Kind`. Invariant: a tensor goes to a device through one Send and
one Recv, whatever the number of its consumers there.
"""

from __future__ import annotations

from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.types import ANY, Shape, unknown_shape

__all__ = ["RECV", "SEND", "TransferAttrs"]


@record
class TransferAttrs:
    """`tensor_name`: the tensor to transfer ("^name": only the signal that a node has run); full names of both devices;
    `truncate`: transfer only the upper 16 bits of a float32; `shape`: the static shape.
    """

    tensor_name: str = ""
    send_device: str = ""
    recv_device: str = ""
    truncate: bool = False
    shape: Shape = unknown_shape


SEND: OpDef[Operation] = OpDef(
    "_Send",
    "tensor: T",
    "",
    "Passes `tensor`, live or dead, to the rendezvous of the step.",
    types={"T": ANY},
    attrs=TransferAttrs,
    kind=Kind.SEND,
    stateful=True,
    grad=NOT_DIFFERENTIABLE,
)
RECV: OpDef[Tensor] = OpDef(
    "_Recv",
    "",
    "tensor: tensor_type",
    "Receives the tensor of the Send with the same attributes.",
    types={"tensor_type": ANY},
    attrs=TransferAttrs,
    infer=lambda c: c.attrs.shape,
    kind=Kind.RECV,
    stateful=True,
    grad=NOT_DIFFERENTIABLE,
)
