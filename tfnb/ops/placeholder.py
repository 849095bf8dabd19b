"""Placeholders: edges that a step must, or may, be fed (white paper, section 4.2).

Invariant: a placeholder has no value of its own; running one that is not fed is an error raised before the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfnb.errors import ShapeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Infer, Kind, OpDef
from tfnb.ir.tensor import Tensor
from tfnb.types import ALL, Shape, as_dtype, as_shape, unknown_shape

__all__ = ["API", "OPS", "PLACEHOLDER", "PLACEHOLDER_WITH_DEFAULT"]


@dataclass(frozen=True, slots=True)
class PlaceholderAttrs:
    """`shape`: the static shape, unknown dimensions allowed."""

    shape: Shape = unknown_shape


PLACEHOLDER = OpDef(
    "Placeholder",
    outputs="output: dtype",
    types={"dtype": ALL},
    attrs=PlaceholderAttrs,
    doc="A value that every step which needs it must be fed.",
    infer=lambda c: c.attrs.shape,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    kind=Kind.PLACEHOLDER,
)


def _with_default(c: Infer) -> Shape:
    if not c.attrs.shape.is_compatible_with(c.shapes[0]):
        raise ShapeError(f"PlaceholderWithDefault: default of shape {c.shapes[0]}, shape {c.attrs.shape}")
    return c.attrs.shape  # type: ignore[no-any-return]


PLACEHOLDER_WITH_DEFAULT = OpDef(
    "PlaceholderWithDefault",
    inputs="input: dtype",
    outputs="output: dtype",
    types={"dtype": ALL},
    attrs=PlaceholderAttrs,
    doc="The input's value, unless the step is fed another one of a compatible shape.",
    infer=_with_default,
    grad=lambda op, dy: dy,
    host=lambda call, x: x,
    alias=0,
    stateful=True,  # a step may feed it, so the default must never be folded into its readers
)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value must be fed.

    `shape`: its static shape; None leaves it open, None dimensions (a batch) too.
    """
    return PLACEHOLDER(  # type: ignore[no-any-return]
        shape=as_shape(shape), dtype=as_dtype(dtype), name=name, graph=get_default_graph()
    )


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """`input`'s value unless another is fed. Raises `ShapeError` when `input` does not fit `shape`."""
    return PLACEHOLDER_WITH_DEFAULT(input, shape=as_shape(shape), name=name)  # type: ignore[no-any-return]


OPS = (PLACEHOLDER, PLACEHOLDER_WITH_DEFAULT)
API = {"placeholder": placeholder, "placeholder_with_default": placeholder_with_default}
