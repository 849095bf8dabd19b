"""The kernel of a constant that a step fetches or that a control-flow primitive reads.

For other readers, the value of a constant is compiled into their program or stored in their kernel. Invariant: every
run returns the same array, which nobody may change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value

__all__ = ["ConstantKernel"]


class ConstantKernel:
    """Returns the value of `node`, a constant."""

    expensive = False

    def __init__(self, node: Node) -> None:
        self.node = node
        self._value: np.ndarray = node.attrs.value

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> list[np.ndarray]:
        """Returns the value; `inputs` is empty."""
        if recorder is not None:
            recorder.host(self.node, recorder.now_us(), 0)
        return [self._value]
