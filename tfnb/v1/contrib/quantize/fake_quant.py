"""Fake quantisation of one tensor: its readers read its values rounded to 2^bits steps of a range.

The range is kept in the variables "min" and "max": of weights it is that of the last values, of activations a moving
average. Invariant: in training each step changes the range, also while a delay keeps the values as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.replication import VariableAggregation
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.reduce_functions import reduce_max, reduce_min
from tfnb.ops.nn.fake_quant import FAKE_QUANT_VARS
from tfnb.ops.state.variables import assign
from tfnb.train.optimizers.moving_averages import assign_moving_average
from tfnb.types import float32
from tfnb.v1.contrib.quantize.delays import reached
from tfnb.v1.contrib.quantize.folding import reroute

__all__ = ["Quantization", "Range", "quantize"]

_FAKE_QUANT = ("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel")
_DECAY = 0.999


class Quantization(NamedTuple):
    """What holds for the whole graph; `delay` is a number of steps, `scope` a prefix of names with its "/"."""

    training: bool
    weight_bits: int
    activation_bits: int
    symmetric: bool
    delay: int | None
    scope: str


class Range(NamedTuple):
    """How the range of a tensor is found; `last`: that of the last values, instead of an average over the steps.

    `lowest`: the first value of "min". `narrow`: the lowest of the 2^bits steps is not used.
    """

    bits: int
    symmetric: bool
    last: bool = False
    narrow: bool = False
    lowest: float = -6.0


def quantize(
    graph: GraphBuilder, whole: Quantization, name: str, op: Operation, readers: set[Operation], how: Range
) -> None:
    """Makes `readers` read the fake-quantised output of `op`; variables are in the variable scope `name`.

    A tensor that is quantised already stays as it is. Raises `InvalidArgumentError` where a reader does not read it.
    """
    x = op.outputs[0]
    if _is_quantized(x):
        return
    y: Any = _rounded(whole, name, x, how)
    if whole.delay is not None and whole.delay > 0:
        active = reached(graph, whole.delay, f"{name}/activate_quant")
        rounded = y
        y = cond(active, lambda: rounded, lambda: x, name=f"{name}/delayed_quant")
    if reroute(x, y, readers) < len(readers):
        names = ", ".join(sorted(reader.name for reader in readers))
        raise InvalidArgumentError(f"No inputs quantized for ops: [{names}]", op)


def _is_quantized(x: Tensor) -> bool:
    readers = x.consumers()
    while readers:
        reader = readers.pop()
        if reader.type in _FAKE_QUANT:
            return True
        if reader.type in ("Reshape", "Identity"):
            readers.extend(reader.outputs[0].consumers())
    return False


def _end(name: str, value: float) -> Any:
    return get_variable(
        name,
        [],
        float32,
        Constant(value),
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        aggregation=VariableAggregation.MEAN,
    )


def _rounded(whole: Quantization, name: str, x: Tensor, how: Range) -> Tensor:
    with variable_scope(None, name, [x]) as scope:
        scope.set_partitioner(None)
        low, high = _end("min", how.lowest), _end("max", 6.0)
        if whole.training:
            least, most = _extremes(x, how)
            if how.last:
                low = assign(low, least, name="AssignMinLast")
                high = assign(high, most, name="AssignMaxLast")
            else:
                low = assign_moving_average(low, least, _DECAY, name="AssignMinEma")
                high = assign_moving_average(high, most, _DECAY, name="AssignMaxEma")
        return FAKE_QUANT_VARS(x, low, high, num_bits=how.bits, narrow_range=how.narrow)


def _extremes(x: Tensor, how: Range) -> tuple[Any, Any]:
    """Returns the ends of the range that these values need, which zero is always in."""
    least, most = reduce_min(x, name="BatchMin"), reduce_max(x, name="BatchMax")
    if not how.symmetric:
        return MINIMUM(least, 0.0), MAXIMUM(most, 0.0)
    # of signed integers the negative ones reach one step further, unless the lowest is not used
    ratio = -1.0 if how.narrow else -(2**how.bits - 2) / 2**how.bits
    return MINIMUM(least, most / ratio), MAXIMUM(most, least * ratio)
