"""`tf.layers.InputSpec`: what a layer asks of the dtype and the static shape of each of its inputs.

Invariant: a layer whose inputs pass `check_inputs` can be built and called with them, as far as its specs say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, Shape, ShapeLike, as_dtype, as_shape

__all__ = ["API", "InputSpec", "check_inputs"]


class InputSpec:
    """The dtype, shape or number of dimensions that a layer needs of an input; what is None is not checked.

    dtype: the dtype. shape: the shape, in which None stands for any size. ndim, max_ndim, min_ndim: the number of
    dimensions. axes: a dict from an axis, which may be negative, to the size that is needed there.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: ShapeLike = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = None if shape is None else tuple(as_shape(shape).as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = dict(axes or {})

    def wrong(self, x: Tensor) -> str:
        """Returns what is wrong with the tensor `x`, as a part of a sentence; "" if nothing is."""
        if self.dtype is not None and x.dtype is not as_dtype(self.dtype):
            return f"expected dtype={as_dtype(self.dtype).name}, found dtype={x.dtype.name}"
        needs_rank = self.ndim, self.max_ndim, self.min_ndim, self.axes or None
        if needs_rank == (None, None, None, None):
            return ""
        if x.shape.sizes is None:
            return "its rank is undefined, but the layer requires a defined rank"
        return self._wrong_rank(x.shape) or self._wrong_sizes(x.shape)

    def _wrong_rank(self, shape: Shape) -> str:
        rank = len(shape)
        found = f", found ndim={rank}. Full shape received: {shape.as_list()}"
        if self.ndim is not None and rank != self.ndim:
            return f"expected ndim={self.ndim}{found}"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}{found}"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"expected min_ndim={self.min_ndim}{found}"
        return ""

    def _wrong_sizes(self, shape: Shape) -> str:
        dims = shape.as_list()
        for axis, size in self.axes.items():
            if not -len(dims) <= axis < len(dims) or (size is not None and dims[axis] not in (size, None)):
                return f"expected axis {axis} of input shape to have value {size} but received input with shape {dims}"
        if self.shape is not None and not shape.is_compatible_with(self.shape):
            return f"expected shape={self.shape}, found shape={dims}"
        return ""

    def __repr__(self) -> str:
        given = {k: v for k, v in vars(self).items() if v not in (None, {})}
        return f"InputSpec({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def check_inputs(layer: str, specs: InputSpec | Sequence[InputSpec | None] | None, inputs: Sequence[Any]) -> None:
    """Raises `ShapeError` unless each of the inputs of `layer` is as its spec says; tensors without one pass."""
    if not specs:
        return
    each = list(specs) if isinstance(specs, (list, tuple)) else [specs]
    if len(inputs) != len(each):
        raise InvalidArgumentError(f"Layer {layer} expects {len(each)} inputs, but it received {len(inputs)}: {inputs}")
    for i, (x, spec) in enumerate(zip(inputs, each, strict=True)):
        problem = spec.wrong(x) if isinstance(spec, InputSpec) and isinstance(x, Tensor) else ""
        if problem:
            raise ShapeError(f"Input {i} of layer {layer} is incompatible with the layer: {problem}")


API: dict[str, Any] = {"layers.InputSpec": InputSpec}
