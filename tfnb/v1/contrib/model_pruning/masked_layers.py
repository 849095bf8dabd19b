"""Layers and cells with masks, the training loop that updates masks, and graphs in which they are multiplied in.

Invariant: a masked layer has the arguments and variables of that of `tf.contrib.layers`, and a mask and a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.argument_types import (
    CollectionNames,
    FilePath,
    InitializerLike,
    Regularizer,
    VariableCollections,
)
from tfnb.client.graph.graph_def import import_graph_def
from tfnb.client.graph.graph_util import convert_variables_to_constants
from tfnb.client.rnn.cells import BasicLSTMCell, LSTMCell
from tfnb.client.variables.initializers import Zeros, glorot_uniform
from tfnb.client.variables.scope import Reuse, ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError, NotFoundError, ShapeError
from tfnb.ir.builder import GraphBuilder, replace_input
from tfnb.ir.default import graph_of
from tfnb.ir.graphdef.message_types import GraphDef, Message
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.conv_pool.conv_functions import convolution as convolution_op
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.nn.activations import RELU
from tfnb.session.api import Session
from tfnb.train.saving.checkpoint_state import latest_checkpoint
from tfnb.train.saving.import_meta_graph import import_meta_graph
from tfnb.types import Shape
from tfnb.v1.argument_types import WindowLike
from tfnb.v1.contrib.layers.named_outputs import n_positive_integers
from tfnb.v1.contrib.layers.standard_layers import finished, model_variable
from tfnb.v1.contrib.model_pruning.pruning import apply_mask
from tfnb.v1.contrib.slim import learning as slim_learning

__all__ = ["MaskedBasicLSTMCell", "MaskedLSTMCell", "masked_convolution", "masked_fully_connected", "train"]


def masked_fully_connected(
    inputs: TensorLike,
    num_outputs: int,
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Returns activation(inputs @ (weights * mask) + biases); see `tf.contrib.layers.fully_connected`.

    Raises `ShapeError` unless the inputs are a matrix of known width.
    """
    options = {
        "activation_fn": activation_fn,
        "normalizer_fn": normalizer_fn,
        "normalizer_params": normalizer_params,
        "biases_initializer": biases_initializer,
        "biases_regularizer": biases_regularizer,
        "trainable": trainable,
        "variables_collections": variables_collections,
        "outputs_collections": outputs_collections,
    }
    x = graph_of([inputs]).to_tensor(inputs)
    if x.shape.ndims != 2 or x.shape.as_list()[1] is None:
        raise ShapeError(f"masked_fully_connected: needed a matrix of known width, got shape {x.shape}")
    with variable_scope(scope, "fully_connected", [x], reuse=reuse) as opened:
        weights = model_variable(
            "weights",
            [x.shape.as_list()[1], num_outputs],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        return finished(matmul(x, apply_mask(weights)), num_outputs, options, opened.name)


def masked_convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: WindowLike,
    stride: WindowLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: WindowLike = 1,
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Returns activation(convolution(inputs, weights * mask) + biases); see `tf.contrib.layers.conv2d`.

    Raises `ShapeError` for inputs that are no images with a known number of channels.
    """
    options = {
        "activation_fn": activation_fn,
        "normalizer_fn": normalizer_fn,
        "normalizer_params": normalizer_params,
        "biases_initializer": biases_initializer,
        "biases_regularizer": biases_regularizer,
        "trainable": trainable,
        "variables_collections": variables_collections,
        "outputs_collections": outputs_collections,
    }
    x = graph_of([inputs]).to_tensor(inputs)
    layout = data_format or "NHWC"
    channels = x.shape.as_list()[1 if layout.startswith("NC") else 3] if x.shape.ndims == 4 else None
    if channels is None:
        raise ShapeError(f"masked_convolution: needed images of known channels, got shape {x.shape}")
    kernel, steps, rates = (n_positive_integers(2, v) for v in (kernel_size, stride, rate))
    with variable_scope(scope, "Conv", [x], reuse=reuse) as opened:
        weights = model_variable(
            "weights",
            [*kernel, channels, num_outputs],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        y = convolution_op(x, apply_mask(weights), padding, steps, rates, data_format=layout)
        return finished(y, num_outputs, options, opened.name, layout)


class MaskedLSTMCell(LSTMCell):
    """An LSTM cell whose kernel is masked; see `tf.nn.rnn_cell.LSTMCell`."""

    def build(self, shape: Shape) -> None:
        """Creates the variables."""
        super().build(shape)
        self._kernel = apply_mask(self._kernel)


class MaskedBasicLSTMCell(BasicLSTMCell):
    """An LSTM cell without peepholes whose kernel is masked; see `tf.nn.rnn_cell.BasicLSTMCell`."""

    def build(self, shape: Shape) -> None:
        """Creates the variables."""
        super().build(shape)
        self._kernel = apply_mask(self._kernel)


def train(
    train_op: object,
    logdir: FilePath | None,
    mask_update_op: object,
    train_step_fn: Callable[..., tuple[Any, Any]] = slim_learning.train_step,
    **kwargs: Any,
) -> Any:
    """Runs `train_op` and then `mask_update_op`, step by step, and returns the last loss.

    The other arguments are those of `tf.contrib.slim.learning.train`: train_step_kwargs, log_every_n_steps, graph,
    master, is_chief, global_step, number_of_steps, init_op, init_feed_dict, local_init_op, init_fn, ready_op,
    summary_op, save_summaries_secs, summary_writer, startup_delay_steps, saver, save_interval_secs, sync_optimizer,
    session_config and trace_every_n_steps.
    """

    def step(session: Session, *args: Any, **inner: Any) -> tuple[Any, Any]:
        result = train_step_fn(session, *args, **inner)
        session.run(mask_update_op)
        return result

    return slim_learning.train(train_op, logdir, step, **kwargs)


def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> GraphDef:
    """Returns the GraphDef of the latest checkpoint of a folder, with its variables as constants.

    Raises `NotFoundError` when there is no checkpoint.
    """
    path = latest_checkpoint(checkpoint_dir)
    if path is None:
        raise NotFoundError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    with GraphBuilder().as_default() as graph, Session(graph=graph) as session:
        saver = import_meta_graph(f"{path}.meta", clear_devices=True)
        if saver is None:
            raise NotFoundError(f"{path}.meta has no variables that a Saver could restore")
        saver.restore(session, path)
        return convert_variables_to_constants(session, graph.as_graph_def(), list(output_node_names))


def strip_pruning_vars_fn(input_graph_def: Message | bytes, output_node_names: Sequence[str]) -> GraphDef:
    """Returns a GraphDef of constants in which each product of weights and a mask is a constant.

    input_graph_def: with constants instead of variables, as `graph_def_from_checkpoint` returns it. Raises
    `InvalidArgumentError` when there is no mask.
    """
    with GraphBuilder().as_default() as graph:
        import_graph_def(input_graph_def, name="")
        products = [op for op in graph.get_operations() if op.type == "Mul" and _reads_mask(op)]
        if not products:
            raise InvalidArgumentError("strip_pruning_vars_fn: the graph has no masked weights")
        with Session(graph=graph) as session:
            values = session.run([op.outputs[0] for op in products])
        constants = [graph.constant(value, name="masked_weight") for value in values]
        for op, constant in zip(products, constants, strict=True):
            for reader in list(dict.fromkeys(op.outputs[0].consumers())):
                for i, t in enumerate(reader.inputs):
                    if t is op.outputs[0]:
                        replace_input(reader, i, constant)
        with Session(graph=graph) as session:
            return convert_variables_to_constants(session, graph.as_graph_def(), list(output_node_names))


def _reads_mask(op: Operation) -> bool:
    names = [t.op.name.removesuffix("/read").rpartition("/")[2] for t in op.inputs]
    return "mask" in names
