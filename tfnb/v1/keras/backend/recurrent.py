"""`tf.keras.backend.rnn`: a step function over the time axis, as a loop of the graph or unrolled.

Invariant: where the mask is false, states stay as they are, and the output is the one before (or zero).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.graph_api import tf

__all__ = ["rnn"]

Step = Callable[[Any, list[Any]], tuple[Any, list[Any]]]


def rnn(
    step_function: Step,
    inputs: TensorOrVariable,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: int | None = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, list[Any]]:
    """Returns the last output, all outputs [batch, time, ...] and the final states of a step function.

    step_function: from the input of a time step and the states (followed by `constants`) to the output and new states.
    inputs: [batch, time, ...], or [time, batch, ...] with `time_major`. mask: booleans [batch, time].
    Raises `InvalidArgumentError` when unrolling over an unknown number of steps.
    """
    del input_length
    if not time_major:
        inputs = _swapped(inputs)
        mask = None if mask is None else _swapped(mask)
    if mask is not None:
        mask = tf.cast(mask, tf.bool)
        if mask.shape.ndims == 3:
            mask = tf.squeeze(mask, [2])
    if go_backwards:
        inputs = tf.reverse(inputs, [0])
        mask = None if mask is None else tf.reverse(mask, [0])
    steps = inputs.shape.as_list()[0]
    fixed = list(constants or ())

    def step(x: Tensor, states: list[Any]) -> tuple[Any, list[Any]]:
        output, new = step_function(x, [*states, *fixed])
        return output, list(new)

    if unroll:
        if steps is None:
            raise InvalidArgumentError("Unrolling requires a fixed number of timesteps.")
        last, outputs, states = _unrolled(step, inputs, list(initial_states), mask, steps, zero_output_for_mask)
    else:
        last, outputs, states = _looped(step, inputs, list(initial_states), mask, zero_output_for_mask)
    if not time_major:
        outputs = _swapped(outputs)
    return last, outputs, states


def _swapped(x: Any) -> Tensor:
    return tf.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _chosen(flags: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """Returns rows of `new` where the flags [batch] are true, rows of `old` elsewhere."""
    result = tf.where(flags, new, old)
    result.set_shape(new.shape)
    return result


def _masked(
    flags: Tensor, output: Tensor, before: Tensor | None, new: list[Any], states: list[Any], zero: bool
) -> tuple[Any, list[Any]]:
    kept = tf.zeros_like(output) if zero or before is None else before
    return _chosen(flags, output, kept), [_chosen(flags, n, s) for n, s in zip(new, states, strict=True)]


def _unrolled(
    step: Step, inputs: TensorOrVariable, states: list[Any], mask: Tensor | None, steps: int, zero: bool
) -> tuple[Any, Any, list[Any]]:
    outputs: list[Any] = []
    for t in range(steps):
        output, new = step(inputs[t], states)
        if mask is not None:
            output, new = _masked(mask[t], output, outputs[-1] if outputs else None, new, states, zero)
        states = new
        outputs.append(output)
    return outputs[-1], tf.stack(outputs), states


def _looped(
    step: Step, inputs: TensorOrVariable, states: list[Any], mask: Any, zero: bool
) -> tuple[Any, Any, list[Any]]:
    count = tf.shape(inputs)[0]
    taken = tf.TensorArray(inputs.dtype, size=count).unstack(inputs)
    flags = None if mask is None else tf.TensorArray(tf.bool, size=count).unstack(mask)
    first, _ = step(inputs[0], states)  # its dtype and shape; the value is computed only for the zeros of a mask
    results = tf.TensorArray(first.dtype, size=count)
    before = () if mask is None else (tf.zeros_like(first),)

    def body(
        t: Tensor, results: TensorArray, before: tuple[Any, ...], states: tuple[Any, ...]
    ) -> tuple[Tensor, TensorArray, tuple[Any, ...], tuple[Any, ...]]:
        x = taken.read(t)
        x.set_shape(inputs.shape[1:])
        output, new = step(x, list(states))
        if flags is not None:
            flag = flags.read(t)
            flag.set_shape(mask.shape[1:])
            output, new = _masked(flag, output, before[0], new, list(states), zero)
            before = (output if not zero else before[0],)
        for value, state in zip(new, states, strict=True):
            value.set_shape(state.shape)
        return t + 1, results.write(t, output), before, tuple(new)

    begin = (tf.constant(0), results, before, tuple(states))
    _, results, _, final = tf.while_loop(lambda t, *_: t < count, body, begin)
    outputs = results.stack()
    outputs.set_shape(tf.TensorShape([inputs.shape[0]]).concatenate(first.shape))
    return outputs[-1], outputs, list(final)
