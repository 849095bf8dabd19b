"""What `compile` adds to a model's graph: placeholders of labels and weights, the loss, and metrics.

Invariant: `Training.names` and the values of a step are in one order: the loss, the loss of each output, the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.v1.keras import losses
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.structure import mask_of, reachable
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.metrics import base, functions, lookup
from tfnb.v1.keras.serialization import has_arg

__all__ = ["Training", "per_output"]


def per_output(given: object, names: Sequence[str], what: str) -> list[Any]:
    """Returns one value per output, from one for all, a list, or a dictionary by the names of outputs.

    Raises `InvalidArgumentError` for an unknown name and a list of another length.
    """
    if isinstance(given, Mapping):
        unknown = set(given) - set(names)
        if unknown:
            raise InvalidArgumentError(f"Unknown entries in {what} dictionary: {sorted(unknown)}; expected {names}")
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise InvalidArgumentError(
                f"When passing a list as {what}, it should have one entry per model output. "
                f"The model has {len(names)} outputs, but you passed {what}={given}"
            )
        return list(given)
    return [given] * len(names)


def _metric_lists(given: Any, names: Sequence[str]) -> list[list[Any]]:
    """Returns the metrics of each output."""
    if not given:
        return [[] for _ in names]
    if isinstance(given, Mapping):
        values = per_output(given, names, "metrics")
    elif any(isinstance(m, (list, tuple)) for m in given):
        values = per_output(list(given), names, "metrics")
    else:
        values = [list(given)] * len(names)
    return [v if isinstance(v, list) else list(v) if isinstance(v, tuple) else [] if v is None else [v] for v in values]


class Training:
    """The loss and the metrics of a model, as tensors."""

    def __init__(self, model: Network, options: Mapping[str, Any]) -> None:
        self.model, self.options = model, options
        outputs, names = model.outputs, model.output_names
        self.loss_functions = [_loss(given) for given in per_output(options["loss"], names, "loss")]
        if all(f is None for f in self.loss_functions) and not model.losses:
            raise InvalidArgumentError("The model cannot be compiled because it has no loss to optimize.")
        modes = per_output(options["sample_weight_mode"], names, "sample_weight_mode")
        targets = options["target_tensors"]
        tensors = per_output(targets, names, "target_tensors") if targets is not None else [None] * len(names)
        self.targets: list[Any] = []
        self.sample_weights: list[Any] = []
        for output, name, function, mode, tensor in zip(
            outputs, names, self.loss_functions, modes, tensors, strict=True
        ):
            self.targets.append(None if function is None else _target(output, name) if tensor is None else tensor)
            self.sample_weights.append(None if function is None else _weight_placeholder(name, mode))
        self.fed_targets = [t for t, given in zip(self.targets, tensors, strict=True) if given is None]
        self.names = ["loss"]
        self.values: list[Any] = []
        self.metrics: list[Any] = []
        self.results: list[Any] = []
        self._build_loss(outputs, names)
        self._build_metrics(outputs, names)

    def _build_loss(self, outputs: Sequence[Any], names: Sequence[str]) -> None:
        weights = per_output(self.options["loss_weights"], names, "loss_weights")
        total, parts = None, []
        graph = get_default_graph()
        with graph.name_scope("loss"):
            for i, function in enumerate(self.loss_functions):
                if function is None:
                    continue
                with graph.name_scope(f"{names[i]}_loss"):
                    weight = _masked_weight(self.sample_weights[i], mask_of(outputs[i]), outputs[i])
                    value = function(self.targets[i], outputs[i], sample_weight=weight)
                    value = tf.reduce_mean(value) if value.shape.ndims != 0 else value
                parts.append((f"{names[i]}_loss", value))
                factor = 1.0 if weights[i] is None else weights[i]
                added = value if isinstance(factor, (int, float)) and factor == 1 else value * factor
                total = added if total is None else total + added
            for penalty in self._penalties():
                total = penalty if total is None else total + penalty
        self.total_loss = total
        self.values = [total]
        if len(outputs) > 1:
            for name, value in parts:
                metric = base.Mean(name)
                self.metrics.append(metric)
                self.names.append(name)
                self.results.append(metric(value))

    def _penalties(self) -> list[Any]:
        ops = reachable(self.model.inputs)
        kept = {}
        for loss, conditional in self.model._collected_losses():
            value = tf.convert_to_tensor(loss)
            if not conditional or value.op in ops or not _placed_on_inputs(value):
                kept[id(loss)] = tf.reduce_mean(value) if value.shape.ndims != 0 else value
        return list(kept.values())

    def updates(self) -> list[Any]:
        """Returns the updates of the layers that belong to the model's own inputs."""
        ops = reachable(self.model.inputs)
        kept = {}
        for update, conditional in self.model._collected_updates():
            op = update.op if hasattr(update, "op") else update
            if not conditional or op in ops:
                kept[id(op)] = op
        return list(kept.values())

    def _build_metrics(self, outputs: Sequence[Any], names: Sequence[str]) -> None:
        graph = get_default_graph()
        plain = _metric_lists(self.options["metrics"], names)
        heavy = _metric_lists(self.options["weighted_metrics"], names)
        with graph.name_scope("metrics"):
            for i, output in enumerate(outputs):
                if self.targets[i] is None:
                    continue
                mask = mask_of(output)
                for given in plain[i]:
                    self._add_metric(given, i, names, None if mask is None else tf.cast(mask, output.dtype), False)
                for given in heavy[i]:
                    weight = _masked_weight(self.sample_weights[i], mask, output)
                    self._add_metric(given, i, names, weight, True)
            for name, value, aggregation in self.model._collected_metrics():
                self.names.append(name)
                if aggregation is None:
                    self.results.append(value)
                else:
                    metric = base.Mean(name)
                    self.metrics.append(metric)
                    self.results.append(metric(value))
        self.values += self.results

    def _add_metric(self, given: object, i: int, names: Sequence[str], weight: Tensor | None, weighted: bool) -> None:
        output, target = self.model.outputs[i], self.targets[i]
        metric, name = _metric(given, output, target, self.loss_functions[i], weighted)
        if len(names) > 1:
            name = f"{names[i]}_{name}"
        same = sum(n == name or n.startswith(f"{name}_") and n[len(name) + 1 :].isdigit() for n in self.names)
        self.names.append(name if not same else f"{name}_{same}")
        self.metrics.append(metric)
        accepts = has_arg(metric.update_state, "sample_weight", accept_all=True)
        options = {"sample_weight": weight} if weight is not None and accepts else {}
        self.results.append(metric(target, output, **options))


def _placed_on_inputs(value: Tensor) -> bool:
    """Returns whether a tensor depends on any placeholder."""
    seen, waiting = set(), [value.op]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in ("Placeholder", "PlaceholderV2"):
            return True
        waiting += [t.op for t in op.inputs]
    return False


def _loss(given: Identifier | None) -> losses.Loss | None:
    function = losses.get(given)
    if function is None:
        return None
    if isinstance(function, type) and issubclass(function, losses.Loss):
        function = function()
    if isinstance(function, losses.Loss):
        return function
    return losses.LossFunctionWrapper(function, name=getattr(function, "__name__", None))


def _target(output: Tensor, name: str) -> Tensor:
    rank = output.shape.ndims
    shape = None if rank is None else [None] * rank
    dtype = output.dtype.base_dtype
    return tf.placeholder(dtype if dtype.is_floating else tf.float32, shape=shape, name=f"{name}_target")


def _weight_placeholder(name: str, mode: str | None) -> Tensor:
    if mode not in (None, "temporal"):
        raise InvalidArgumentError(f"sample_weight_mode {mode!r}; needed None or temporal")
    default, shape = (tf.constant([[1.0]]), [None, None]) if mode else (tf.constant([1.0]), [None])
    return tf.placeholder_with_default(default, shape, name=f"{name}_sample_weights")


def _masked_weight(weight: Tensor, mask: Tensor | None, output: Tensor) -> Tensor:
    if mask is None:
        return weight
    mask = tf.cast(mask, output.dtype)
    for _ in range((mask.shape.ndims or 1) - (weight.shape.ndims or 1)):
        weight = tf.expand_dims(weight, -1)
    return mask * tf.cast(weight, mask.dtype)


def _metric(given: object, output: Tensor, target: Tensor, loss: object, weighted: bool) -> tuple[Any, str]:
    """Returns a metric with a state, and its name in histories."""
    if isinstance(given, base.Metric):
        return given, given.name
    prefix = "weighted_" if weighted else ""
    if given in ("accuracy", "acc", "crossentropy", "ce"):
        function = _by_output(given in ("accuracy", "acc"), output, loss)
        name = f"{prefix}{'acc' if given in ('accuracy', 'acc') else 'ce'}"
        return base.MeanMetricWrapper(function, name=name), name
    function = lookup.get(given)
    if isinstance(function, base.Metric):
        return function, function.name
    if isinstance(function, losses.Loss):
        function = function.call
    name = f"{prefix}{getattr(function, '__name__', None) or getattr(function, 'name', 'metric')}"
    return base.MeanMetricWrapper(function, name=name), name


def _by_output(accuracy: bool, output: Tensor, loss: object) -> Callable[..., Tensor]:
    """Returns the accuracy, or cross entropy, that fits the output and the loss."""
    width = output.shape.as_list()[-1] if output.shape.ndims else None
    function = getattr(loss, "fn", None)
    sparse = function is losses.sparse_categorical_crossentropy
    if width == 1 or function is losses.binary_crossentropy:
        return functions.binary_accuracy if accuracy else losses.binary_crossentropy
    if sparse:
        return functions.sparse_categorical_accuracy if accuracy else losses.sparse_categorical_crossentropy
    return functions.categorical_accuracy if accuracy else losses.categorical_crossentropy
