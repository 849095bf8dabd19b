"""The number of steps that a rewritten graph has run, by which quantisation begins and statistics freeze.

Invariant: a graph has one such variable, and each step that reads it adds one to it once.
"""

from __future__ import annotations

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.replication import VariableAggregation
from tfnb.client.variables.scope import get_variable
from tfnb.errors import NotFoundError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.compare import GREATER_EQUAL
from tfnb.ops.state.variables import assign_add
from tfnb.types import int64

__all__ = ["reached"]

_NAME = "fake_quantization_step"


def _count(graph: GraphBuilder) -> Tensor:
    try:
        return graph.get_tensor_by_name(f"{_NAME}/Identity:0")
    except NotFoundError:
        pass
    with graph.name_scope(None):
        variable = get_variable(
            _NAME,
            [],
            int64,
            Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )
        with graph.name_scope(f"{variable.op.name}/"):
            return IDENTITY(assign_add(variable, 1))


def reached(graph: GraphBuilder, delay: int, name: str) -> Tensor:
    """Returns a bool scalar: the graph has run at least `delay` steps, with this one."""
    count = _count(graph)
    return GREATER_EQUAL(count, graph.to_tensor(delay, int64), name=name)
