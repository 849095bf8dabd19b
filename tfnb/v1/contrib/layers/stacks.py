"""`tf.contrib.layers` beyond single layers: normalisers, stacks and repetitions of layers, encoders of sequences.

Invariant: names are TensorFlow's (`LayerNorm/gamma`, `stack/fully_connected_1/weights`, `EmbedSequence/embeddings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfnb.client.argument_types import InitializerLike, VariableCollections
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.variables.embedding import embedding_lookup
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.client.variables.scope import Reuse, ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ones_like
from tfnb.ops.array.shape_ops import expand_dims
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.binary import DIV_NO_NAN
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, NOT_EQUAL, SELECT
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_sum
from tfnb.ops.nn.activations import RELU, RELU6
from tfnb.ops.nn.bias_dropout_moments import batch_normalization, l2_normalize, moments
from tfnb.ops.nn.losses import softmax as softmax_op
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import collect_named_outputs
from tfnb.v1.contrib.layers.standard_layers import fully_connected, model_variable

__all__ = ["API"]


@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[[Any], Any] | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: Sequence[str] | str | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes (inputs - mean) / deviation * gamma + beta, with moments over the axes from `begin_norm_axis` on.

    gamma and beta have the shape of the axes from `begin_params_axis` on. Raises `ShapeError` when that shape is not
    known.
    """
    x = graph_of([inputs]).to_tensor(inputs)
    if x.shape.ndims is None:
        raise ShapeError("layer_norm needs inputs of known rank")
    rank = x.shape.ndims
    first, params = begin_norm_axis % rank, begin_params_axis % rank
    shape = x.shape.as_list()[params:]
    if first > params or None in shape:
        raise ShapeError(
            f"layer_norm: inputs of shape {x.shape} must be known from axis {params} on, which must not come before "
            f"axis {first}"
        )
    with variable_scope(scope, "LayerNorm", [x], reuse=reuse) as opened:
        rest = (None, trainable, variables_collections)
        beta = model_variable("beta", shape, x.dtype, Zeros(), *rest) if center else None
        gamma = model_variable("gamma", shape, x.dtype, Ones(), *rest) if scale else None
        mean, variance = moments(x, list(range(first, rank)), keep_dims=True)
        y = batch_normalization(x, mean, variance, beta, gamma, 1e-12)
        y.set_shape(x.shape)
        y = y if activation_fn is None else activation_fn(y)
    return collect_named_outputs(outputs_collections, opened.name, y)


@add_arg_scope
def unit_norm(inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: str | None = None) -> Tensor:
    """Divides `inputs` by their length along axis `dim`; `epsilon` is the smallest divisor."""
    return l2_normalize(inputs, dim, epsilon * epsilon, scope or "UnitNorm")


def stack(inputs: TensorLike, layer: Callable[..., Any], stack_args: Iterable[Any], **kwargs: Any) -> Any:
    """Computes layer(... layer(inputs, stack_args[0]) ..., stack_args[-1]), each layer in a scope of its own.

    An entry of `stack_args` is one argument or a list of several. Raises `InvalidArgumentError` for `reuse` without a
    scope.
    """
    scope, reuse = kwargs.pop("scope", None), kwargs.pop("reuse", None)
    if scope is None and reuse:
        raise InvalidArgumentError("stack needs a scope to reuse variables")
    with variable_scope(scope, "Stack", reuse=reuse):
        outputs = inputs
        name = getattr(layer, "__name__", "layer")
        for i, layer_args in enumerate(stack_args):
            args = layer_args if isinstance(layer_args, (list, tuple)) else [layer_args]
            outputs = layer(outputs, *args, scope=f"{name}_{i + 1}", **kwargs)
        return outputs


@add_arg_scope
def repeat(inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: object, **kwargs: Any) -> Any:
    """Applies `layer` to `inputs`, and then to its own output, `repetitions` times, each in a scope of its own."""
    name = getattr(layer, "__name__", "layer")
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat"):
        outputs = inputs
        for i in range(repetitions):
            outputs = layer(outputs, *args, scope=f"{scope or name}_{i + 1}", **kwargs)
        return outputs


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Sequence[str] | str | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns `tf.one_hot` of `labels`: the new last dimension, of `num_classes`, is `on_value` at the label."""
    with name_scope(scope, "OneHotEncoding", [labels]) as named:
        encoded = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
    return collect_named_outputs(outputs_collections, named, encoded)


def _embeddings(
    vocab_size: int | None,
    embed_dim: int | None,
    initializer: InitializerLike | None,
    regularizer: Callable[[Tensor], Any] | None,
    trainable: bool,
) -> Any:
    if not vocab_size or not embed_dim:
        raise InvalidArgumentError(f"embeddings need vocab_size and embed_dim, got {vocab_size} and {embed_dim}")
    return model_variable(
        "embeddings", [int(vocab_size), int(embed_dim)], "float32", initializer, regularizer, trainable, None
    )


@add_arg_scope
def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Any] | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
    reuse: Reuse | None = None,
) -> Tensor:
    """Returns the rows `ids` of a variable of embeddings [vocab_size, embed_dim]: shape of ids + (embed_dim,).

    `unique` has no effect. Raises `InvalidArgumentError` when a size is missing.
    """
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        table = _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable)
        return embedding_lookup(table, ids)


@add_arg_scope
def bow_encoder(
    ids: TensorLike,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Any] | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
    reuse: Reuse | None = None,
) -> Tensor:
    """Returns the mean embedding of each row of `ids` (batch, length): (batch, embed_dim).

    With `sparse_lookup` zeros do not count, and a row of zeros has embedding 0.
    """
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        table = _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable)
        words = graph_of([ids]).to_tensor(ids)
        rows = embedding_lookup(table, words)
        if not sparse_lookup:
            return reduce_mean(rows, 1)
        mask = cast(NOT_EQUAL(words, 0), rows.dtype)
        count = reduce_sum(mask, 1, keepdims=True)
        mean = DIV_NO_NAN(reduce_sum(rows * expand_dims(mask, -1), 1), count * ones_like(rows[:, 0]))
        zero_rows = embedding_lookup(table, words[:, 0] * 0)
        return SELECT(GREATER(count[:, 0], 0.0), mean, zero_rows)


@add_arg_scope
def softmax(logits: TensorLike, scope: str | None = None) -> Tensor:
    """Computes exp(logits) / sum(exp(logits)) along the last axis."""
    return softmax_op(logits, name=scope)


def _with(activation: Callable[[Any], Any] | None, name: str) -> Callable[..., Tensor]:
    def call(inputs: TensorLike, num_outputs: int, **kwargs: object) -> Tensor:
        return fully_connected(inputs, num_outputs, activation_fn=activation, **kwargs)

    call.__name__ = call.__qualname__ = "fully_connected"  # the scopes of `stack` and `repeat` have this name
    call.__doc__ = (
        f"Does what `fully_connected` does, with the activation `{name}`; see `tf.contrib.layers.fully_connected`."
    )
    return add_arg_scope(call)


_FUNCTIONS: dict[str, Any] = {
    "layer_norm": layer_norm,
    "unit_norm": unit_norm,
    "stack": stack,
    "repeat": repeat,
    "one_hot_encoding": one_hot_encoding,
    "embed_sequence": embed_sequence,
    "bow_encoder": bow_encoder,
    "softmax": softmax,
    "relu": _with(RELU, "relu"),
    "relu6": _with(RELU6, "relu6"),
    "linear": _with(None, "linear"),
}
API: dict[str, Any] = {
    **{f"contrib.layers.{name}": function for name, function in _FUNCTIONS.items()},
    "contrib.layers.python.layers.encoders.bow_encoder": bow_encoder,
}
