"""The kernel of a constant that a step fetches or that a control-flow primitive reads.

For other readers, the value of a constant is compiled into their program or stored in their kernel. Invariant: every
run returns the same array, which nobody may change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.devices.interface import Recorder
from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.values import Value

__all__ = ["ConstantKernel"]


class ConstantKernel:
    """Returns the value of `node`, a constant."""

    expensive = False

    def __init__(self, node: Node) -> None:
        self.node = node
        self._value: np.ndarray = node.attrs.value

    def run(self, inputs: Sequence[Value], recorder: Recorder | None = None) -> list[np.ndarray]:
        return [self._value]
