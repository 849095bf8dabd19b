"""Send and Recv: the edges between partitions (white paper, section 3.2.2).

The partitioner puts them where an edge crosses from one device to another; users never do, so they stand outside the
catalogue. The runtime gives them their meaning by their `Kind`. Invariant: a tensor goes to a device by one Send and
one Recv, whoever reads it there.
"""

from __future__ import annotations

from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Kind, OpDef
from tfnb.ir.record import record
from tfnb.types import ANY, Shape, unknown_shape

__all__ = ["RECV", "SEND", "TransferAttrs"]


@record
class TransferAttrs:
    """`tensor_name`: which tensor goes ("^name": only the news that a node has run); full names of both devices;
    `truncate`: float32 goes as its upper 16 bits; `shape`: the static shape.
    """

    tensor_name: str = ""
    send_device: str = ""
    recv_device: str = ""
    truncate: bool = False
    shape: Shape = unknown_shape


SEND = OpDef(
    "_Send",
    "tensor: T",
    "",
    "Hands `tensor` to the rendezvous of the step, live or dead.",
    types={"T": ANY},
    attrs=TransferAttrs,
    kind=Kind.SEND,
    stateful=True,
    grad=NOT_DIFFERENTIABLE,
)
RECV = OpDef(
    "_Recv",
    "",
    "tensor: tensor_type",
    "What the Send of the same tensor hands over.",
    types={"tensor_type": ANY},
    attrs=TransferAttrs,
    infer=lambda c: c.attrs.shape,
    kind=Kind.RECV,
    stateful=True,
    grad=NOT_DIFFERENTIABLE,
)
