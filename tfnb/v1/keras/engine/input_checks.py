"""Compares the inputs of a layer with its `InputSpec`s.

Invariant: the message says what the layer needed, and which shape came.
"""

from __future__ import annotations

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.engine.structure import flat

__all__ = ["check_inputs"]


def check_inputs(specs: object, inputs: object, name: str) -> None:
    """Raises `InvalidArgumentError` when the inputs do not have what the specifications of the layer `name` demand."""
    if not specs:
        return
    specs, given = flat(specs), flat(inputs)
    if len(specs) != len(given):
        raise InvalidArgumentError(
            f"Layer {name} expects {len(specs)} inputs, but it received {len(given)} input tensors: {inputs}"
        )
    for i, (spec, x) in enumerate(zip(specs, given, strict=True)):
        shape = getattr(x, "shape", None)
        if spec is None or shape is None or shape.ndims is None:
            continue
        start = f"Input {i} of layer {name} is incompatible with the layer: "
        end = f". Full shape received: {shape.as_list()}"
        rank = shape.ndims
        if spec.ndim is not None and rank != spec.ndim:
            raise InvalidArgumentError(f"{start}expected ndim={spec.ndim}, found ndim={rank}{end}")
        if spec.max_ndim is not None and rank > spec.max_ndim:
            raise InvalidArgumentError(f"{start}expected max_ndim={spec.max_ndim}, found ndim={rank}{end}")
        if spec.min_ndim is not None and rank < spec.min_ndim:
            raise InvalidArgumentError(f"{start}expected min_ndim={spec.min_ndim}, found ndim={rank}{end}")
        sizes = shape.as_list()
        for axis, size in spec.axes.items():
            if size is not None and sizes[axis] not in (size, None):
                raise InvalidArgumentError(
                    f"{start}expected axis {axis} of input shape to have value {size} "
                    f"but received input with shape {sizes}"
                )
        for wanted, size in zip(spec.shape or (), sizes, strict=False):
            if wanted is not None and size is not None and int(wanted) != size:
                raise InvalidArgumentError(f"{start}expected shape={spec.shape}, found shape={sizes}")
