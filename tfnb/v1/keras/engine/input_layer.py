"""`Input`, the layer behind it, and layers of single operations of the graph.

Invariant: the output of an `InputLayer` is a placeholder, or the tensor that it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend.settings import floatx, get_uid
from tfnb.v1.keras.backend.values import placeholder
from tfnb.v1.keras.engine.base_layer import Layer, record_call
from tfnb.v1.keras.engine.structure import flat, history_of, is_tensor

__all__ = ["Input", "InputLayer", "OperationLayer", "complete_history"]


class InputLayer(Layer):
    """The entry of a model: a placeholder of shape (batch_size, *input_shape), or the given `input_tensor`."""

    is_input = True

    def __init__(
        self,
        input_shape: ShapeLike = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        shape = kwargs.pop("batch_input_shape", None)
        if kwargs:
            raise InvalidArgumentError(f"Unrecognized keyword arguments: {sorted(kwargs)}")
        if ragged:
            raise InvalidArgumentError("InputLayer: ragged tensors are not in tfnb; pad the rows, and use Masking")
        dtype = dtype or (floatx() if input_tensor is None else input_tensor.dtype)
        super().__init__(name=name or f"input_{get_uid('input')}", dtype=dtype)
        self.sparse, self.ragged, self.built = sparse, ragged, True
        self.supports_masking = True
        if input_tensor is None:
            if shape is None:
                if input_shape is None:
                    raise InvalidArgumentError("InputLayer needs input_shape, batch_input_shape or input_tensor")
                shape = (batch_size, *_sizes(input_shape))
            input_tensor = placeholder(shape=tuple(shape), dtype=self.dtype, sparse=sparse, name=self.name)
        elif shape is None:
            shape = tuple(input_tensor.shape.as_list())
        self._batch_input_shape = tuple(shape)
        self.input_tensor = input_tensor
        record_call(self, input_tensor, input_tensor, {})

    def get_config(self) -> dict[str, Any]:
        """Returns the shape, dtype, name and whether the input is sparse."""
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def _sizes(shape: Any) -> Sequence[Any]:
    if isinstance(shape, int):
        return (shape,)
    return shape.as_list() if hasattr(shape, "as_list") else tuple(shape)


def Input(
    shape: ShapeLike = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    tensor: TensorOrVariable | SparseTensor | None = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns a placeholder that a model can have as input.

    shape: without the dimension of the batch. tensor: an existing tensor to take instead. batch_shape: the shape with
    the batch. Raises `InvalidArgumentError` without a shape.
    """
    batch_shape = kwargs.pop("batch_shape", None)
    if kwargs:
        raise InvalidArgumentError(f"Unrecognized keyword arguments: {sorted(kwargs)}")
    if shape is None and batch_shape is None and tensor is None:
        raise InvalidArgumentError(
            "Please provide to Input either a `shape` or a `tensor` argument. "
            "Note that `shape` does not include the batch dimension."
        )
    options = {} if batch_shape is None else {"batch_input_shape": tuple(batch_shape)}
    layer = InputLayer(shape, batch_size, dtype, tensor, sparse, name, ragged, **options)
    return layer.input_tensor


class OperationLayer(Layer):
    """An operation of the graph between the layers of a model, which is built anew where the model is called again."""

    def __init__(self, operation: Operation, varying: Sequence[int], **kwargs: Any) -> None:
        super().__init__(name=f"tf_op_layer_{operation.name}".replace("/", "_"), **kwargs)
        self._operation, self._varying, self.built = operation, list(varying), True

    def call(self, inputs: object, **kwargs: Any) -> Tensor | list[Tensor]:
        op = self._operation
        given = dict(zip(self._varying, flat(inputs), strict=True))
        tensors = [given.get(i, t) for i, t in enumerate(op.inputs)]
        outputs = op.graph.add_node(op.opdef, tensors, op.attrs, op.types, op.type).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def get_config(self) -> dict[str, Any]:
        raise InvalidArgumentError(
            f"the operation {self._operation.name} between layers cannot be written as configuration; "
            "put it into a Lambda layer"
        )


def complete_history(tensors: Sequence[Any]) -> None:
    """Gives a history to tensors that operations of the graph compute from tensors that have one."""
    depends: dict[Any, bool] = {}
    for tensor in tensors:
        _complete(tensor, depends)


def _complete(tensor: object, depends: dict[Any, bool]) -> bool:
    """Returns whether the tensor has a history, after giving it one if it depends on one. Works without recursion."""
    waiting = [tensor]
    while waiting:
        t = waiting[-1]
        if not is_tensor(t) or not hasattr(t, "op") or t in depends:
            waiting.pop()
            continue
        if history_of(t) is not None:
            depends[t] = True
            waiting.pop()
            continue
        open_inputs = [i for i in t.op.inputs if i not in depends and i is not t]
        if open_inputs and t.op.type not in ("Merge", "NextIteration"):
            waiting += open_inputs
            continue
        waiting.pop()
        varying = [i for i, given in enumerate(t.op.inputs) if depends.get(given)]
        depends[t] = bool(varying)
        if varying:
            _refuse_control_flow(t.op)
            layer = OperationLayer(t.op, varying)
            record_call(layer, [t.op.inputs[i] for i in varying], list(t.op.outputs), {})
    return bool(depends.get(tensor))


def _refuse_control_flow(op: Operation) -> None:
    if op.type in ("Merge", "Switch", "Enter", "Exit", "NextIteration", "LoopCond"):
        raise InvalidArgumentError(
            f"the model contains the control flow operation {op.name} outside of layers; put it into a Lambda layer"
        )
