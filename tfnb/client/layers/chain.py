"""A fluent chain of layers, like PrettyTensor's (Goldsborough, "A Tour of TensorFlow", section on wrappers).

`tf.chain(x).conv2d(5, 6).max_pool(2).flatten().fully_connected(10)` builds an ordinary graph: each link creates its
variables and operations in a scope of its own and records a histogram of its activations. Invariant: a chain never
changes; each link returns a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from tfnb.client.argument_types import Activation, ScalarLike, WindowSize
from tfnb.client.layers import conv_layers, dense_layers, norm_layers
from tfnb.client.layers.pool_layers import AveragePooling2D, MaxPooling2D
from tfnb.client.logging import summaries
from tfnb.client.variables.scope import variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.math.unary import SQUARE
from tfnb.ops.nn.losses import (
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from tfnb.types import DType, Shape, ShapeLike

__all__ = ["API", "Chain", "Classified", "chain", "chain_defaults"]

_DEFAULTS: ContextVar[Mapping[str, Any]] = ContextVar("chain_defaults", default={})  # noqa: B039


@contextmanager
def chain_defaults(**options: object) -> Iterator[None]:
    """Within the block all links have these options: `activation_fn`, `kernel_regularizer`, `summaries` (True or
    False).
    """
    unknown = set(options) - {"activation_fn", "kernel_regularizer", "summaries"}
    if unknown:
        raise InvalidArgumentError(f"chain_defaults: there is no option {', '.join(sorted(unknown))}")
    token = _DEFAULTS.set({**_DEFAULTS.get(), **options})
    try:
        yield
    finally:
        _DEFAULTS.reset(token)


class Classified(NamedTuple):
    """The result of a classifier at the end of a chain: probabilities and logits [batch, classes], and the mean
    loss.
    """

    softmax: Tensor
    logits: Tensor
    loss: Tensor | None


_UNSET: Any = object()


class Chain:
    """A tensor whose methods are layers, each of which returns the next chain; the attribute `tensor` is its value.

    Where a layer's `activation_fn` is None, that of `chain_defaults` is used, or no activation.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorLike) -> None:
        self.tensor: Tensor = graph_of([tensor]).to_tensor(tensor)

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
        return self.tensor

    @property
    def graph(self) -> Any:
        """The graph of the tensor."""
        return self.tensor.graph

    @property
    def op(self) -> Any:
        """The operation that computes the tensor."""
        return self.tensor.op

    @property
    def dtype(self) -> DType:
        """The dtype of the tensor."""
        return self.tensor.dtype

    @property
    def shape(self) -> Shape:
        """The static shape of the tensor."""
        return self.tensor.shape

    def __repr__(self) -> str:
        return f"<tf.Chain of {self.tensor!r}>"

    def _link(self, default_name: str, name: str | None, build: Callable[[Tensor], Any]) -> Chain:
        with self.graph.as_default(), variable_scope(name, default_name):
            y = build(self.tensor)
            if _DEFAULTS.get().get("summaries", True) and y.dtype.is_floating:
                summaries.histogram("activations", y)
        return Chain(y)

    def apply(self, function: Callable[..., Any], *args: object, name: str | None = None, **kwargs: object) -> Chain:
        """Returns the chain of `function(tensor, *args, **kwargs)`."""
        return self._link(
            getattr(function, "__name__", "apply").strip("<>"),
            name,
            lambda x: self.graph.to_tensor(function(x, *args, **kwargs)),
        )

    def reshape(self, shape: ShapeLike) -> Chain:
        """Reshapes the tensor to `shape`, in which one dimension may be -1."""
        with self.graph.as_default():
            return Chain(RESHAPE(self.tensor, self.graph.to_tensor(shape)))

    def flatten(self) -> Chain:
        """Joins all dimensions but the first into one."""
        return Chain(dense_layers.flatten(self.tensor))

    def conv2d(
        self,
        kernel: WindowSize,
        depth: int,
        activation_fn: Callable[[Any], Any] | None = _UNSET,
        stride: int | Sequence[int] = 1,
        edges: str = "SAME",
        bias: bool = True,
        name: str | None = None,
    ) -> Chain:
        """Convolves images (batch, height, width, channels) to `depth` channels; `kernel` is an integer or a pair.

        `edges` is "SAME" or "VALID".
        """
        return self._link(
            "conv2d",
            name,
            lambda x: conv_layers.conv2d(
                x,
                depth,
                kernel,
                stride,
                edges,
                activation=_activation(activation_fn),
                use_bias=bias,
                kernel_regularizer=_DEFAULTS.get().get("kernel_regularizer"),
                name="layer",
            ),
        )

    def deconv2d(
        self,
        kernel: WindowSize,
        depth: int,
        activation_fn: Callable[[Any], Any] | None = _UNSET,
        stride: int | Sequence[int] = 1,
        edges: str = "SAME",
        name: str | None = None,
    ) -> Chain:
        """Applies a transposed convolution with `kernel` to `depth` channels; the result is `stride` times as large."""
        return self._link(
            "deconv2d",
            name,
            lambda x: conv_layers.Conv2DTranspose(
                depth,
                kernel,
                stride,
                edges,
                activation=_activation(activation_fn),
                kernel_regularizer=_DEFAULTS.get().get("kernel_regularizer"),
                name="layer",
            )(x),
        )

    def max_pool(
        self,
        kernel: WindowSize,
        stride: int | Sequence[int] | None = None,
        edges: str = "SAME",
        name: str | None = None,
    ) -> Chain:
        """Takes the maximum of each window of size `kernel`; the default of `stride` is the window's size."""
        stride = kernel if stride is None else stride
        return Chain(MaxPooling2D(kernel, stride, edges, name=name)(self.tensor))

    def average_pool(
        self,
        kernel: WindowSize,
        stride: int | Sequence[int] | None = None,
        edges: str = "SAME",
        name: str | None = None,
    ) -> Chain:
        """Takes the mean of each window of size `kernel`; the default of `stride` is the window's size."""
        stride = kernel if stride is None else stride
        return Chain(AveragePooling2D(kernel, stride, edges, name=name)(self.tensor))

    def fully_connected(
        self, size: int, activation_fn: Callable[[Any], Any] | None = _UNSET, bias: bool = True, name: str | None = None
    ) -> Chain:
        """Computes activation(x @ kernel + bias), of `size` columns."""
        return self._link(
            "fully_connected",
            name,
            lambda x: dense_layers.dense(
                x,
                size,
                _activation(activation_fn),
                bias,
                kernel_regularizer=_DEFAULTS.get().get("kernel_regularizer"),
                name="layer",
            ),
        )

    def dropout(self, keep_prob: ScalarLike, training: TensorLike = True, name: str | None = None) -> Chain:
        """Keeps each element with probability `keep_prob` in training and divides it by `keep_prob`."""
        return Chain(norm_layers.dropout(self.tensor, 1 - keep_prob, training=training, name=name))

    def batch_normalize(self, training: TensorLike = True, name: str | None = None) -> Chain:
        """Normalises each channel over the batch; run the collection UPDATE_OPS with the training operation."""
        return self._link(
            "batch_normalize",
            name,
            lambda x: norm_layers.batch_normalization(x, training=training, name="layer"),
        )

    def softmax(self, num_classes: int | None = None, name: str | None = None) -> Chain:
        """Computes the softmax over the last dimension; `num_classes` adds a fully connected layer of that size
        first.
        """
        last = self if num_classes is None else self.fully_connected(num_classes, None, name=name)
        with self.graph.as_default():
            return Chain(softmax(last.tensor))

    def softmax_classifier(
        self, num_classes: int, labels: TensorLike | None = None, name: str | None = None
    ) -> Classified:
        """Adds a fully connected layer of `num_classes` columns, its softmax and, with `labels`, the mean cross
        entropy.

        `labels` are integers [batch], the numbers of the classes, or probabilities [batch, classes].
        """
        logits = self.fully_connected(num_classes, None, name=name or "softmax_classifier").tensor
        with self.graph.as_default(), self.graph.name_scope("softmax_classifier"):
            return Classified(softmax(logits), logits, None if labels is None else _entropy(labels, logits))

    def l2_regression(self, target: TensorLike) -> Tensor:
        """Returns the mean of (x - target)^2, a scalar tensor."""
        with self.graph.as_default(), self.graph.name_scope("l2_regression"):
            return _recorded(reduce_mean(SQUARE(self.tensor - self.graph.to_tensor(target))))


def _activation(given: Activation | None) -> Any:
    return _DEFAULTS.get().get("activation_fn") if given is _UNSET else given


def _recorded(loss: Tensor) -> Tensor:
    if _DEFAULTS.get().get("summaries", True):
        summaries.scalar("loss", loss)
    return loss


def _entropy(labels: TensorLike, logits: Tensor) -> Tensor:
    y = logits.graph.to_tensor(labels)
    if y.dtype.is_floating:
        losses = softmax_cross_entropy_with_logits(labels=y, logits=logits)
    else:
        losses = sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    return _recorded(reduce_mean(losses))


def chain(tensor: TensorLike) -> Chain:
    """Begins a chain of layers with a tensor, a variable or a value."""
    return tensor if isinstance(tensor, Chain) else Chain(tensor)


API: dict[str, Any] = {"chain": chain, "Chain": Chain, "chain_defaults": chain_defaults}
