"""Reversible blocks of layers (Gomez et al. 2017): the inputs follow from the outputs.

y1 = x1 + f(x2), y2 = x2 + g(y1). Invariant: with `use_efficient_backprop` the backward pass computes the functions
again instead of keeping what they computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from tfnb.client.gradients.recompute import recompute
from tfnb.client.layers.base import Layer
from tfnb.client.variables.scope import get_variable_scope, variable_scope
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY

__all__ = ["RevBlock", "rev_block"]


class RevBlock(Layer):
    """`num_layers` reversible layers of two functions `f` and `g`, or of lists of them.

    A function takes a tensor, and with a side input the list of these, and returns a tensor of the same shape; its
    variables are in "revlayer_0/f" and so on. With `use_efficient_backprop` gradients compute the functions again.
    """

    default_name = "revblock"

    def __init__(
        self,
        f: Callable[..., Any] | list[Any],
        g: Callable[..., Any] | list[Any],
        num_layers: int = 1,
        f_side_input: Sequence[Tensor] | None = None,
        g_side_input: Sequence[Tensor] | None = None,
        use_efficient_backprop: bool = True,
        name: str = "revblock",
        **kw: Any,
    ) -> None:
        super().__init__(name, **kw)
        self.functions: list[tuple[Any, Any]] = []
        for i in range(num_layers):
            pair = [functions[i] if isinstance(functions, list) else functions for functions in (f, g)]
            sides = (f_side_input, g_side_input)
            wrapped = [_in_scope(fn, f"revlayer_{i}/{n}", s) for fn, n, s in zip(pair, "fg", sides, strict=True)]
            self.functions.append((wrapped[0], wrapped[1]))
        self._recomputes = use_efficient_backprop

    def __call__(self, inputs: Sequence[TensorLike], **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Computes the pair of outputs from a pair of tensors; with `forward=False` the inputs from the outputs."""
        graph = graph_of(inputs)
        pair = [graph.to_tensor(t) for t in inputs]
        with graph.as_default(), self._open() as scope:
            before = len(scope.global_variables())
            result = self.call(pair[0], pair[1], **kwargs)
            self.variables += scope.global_variables()[before:]
            self.built = True
        return result

    apply = __call__

    def call(self, x1: Tensor, x2: Tensor, forward: bool = True) -> tuple[Tensor, Tensor]:
        """Returns the pair of outputs for the tensors `x1` and `x2`, or with `forward=False` of inputs."""
        if not forward:
            for f, g in reversed(self.functions):
                x2 = x2 - g(x1)
                x1 = x1 - f(x2)
            return x1, x2
        with recompute() if self._recomputes else nullcontext():
            for f, g in self.functions:
                x1 = x1 + f(x2)
                x2 = x2 + g(x1)
            return IDENTITY(x1), IDENTITY(x2)

    def forward(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the outputs (y1, y2), each of the shape of its input tensor."""
        return self([x1, x2])

    def backward(self, y1: Tensor, y2: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the inputs (x1, x2) that have the outputs `y1` and `y2`."""
        return self([y1, y2], forward=False)


def _in_scope(function: Callable[..., Any], scope: str, side: Sequence[Tensor] | None) -> Callable[[Any], Any]:
    def call(x: Tensor) -> Any:
        with variable_scope(scope):
            return function(x, list(side)) if side else function(x)

    return call


def rev_block(
    x1: Tensor,
    x2: Tensor,
    f: Callable[..., Any] | list[Any],
    g: Callable[..., Any] | list[Any],
    num_layers: int = 1,
    f_side_input: Sequence[Tensor] | None = None,
    g_side_input: Sequence[Tensor] | None = None,
    is_training: bool = True,
) -> tuple[Tensor, Tensor]:
    """Returns the outputs (y1, y2) of a `RevBlock` for the tensors `x1` and `x2`; training saves memory.

    f, g: functions of tensors, see `RevBlock`.
    """
    reuse = get_variable_scope().reuse
    block = RevBlock(f, g, num_layers, f_side_input, g_side_input, is_training, _reuse=reuse)
    return block.forward(x1, x2)
