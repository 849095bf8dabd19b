"""`tf.contrib.model_pruning`: weights of small magnitude are masked, more and more of them while a model is trained.

Zhu and Gupta, To prune, or not to prune, 2017. A layer reads weights times a mask of ones and zeros; `Pruning` updates
the masks. Invariant: a mask belongs to the variable that was given to `apply_mask`, and is made once.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.default_graph import add_to_collection, control_dependencies, get_collection, name_scope
from tfnb.client.logging.summaries import scalar
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.client.variables.scope import AUTO_REUSE, ScopeLike, get_variable, get_variable_scope, variable_scope
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.reduce_functions import reduce_max, reduce_mean, reduce_sum
from tfnb.ops.math.scan import cumsum
from tfnb.ops.math.unary import ABS
from tfnb.ops.math.unique_bincount import histogram_fixed_width
from tfnb.ops.state.variables import ASSIGN
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.types import float32, int32
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.contrib.training.hparams import HParams

__all__ = ["Pruning", "apply_mask", "get_pruning_hparams"]

_MASKS, _THRESHOLDS, _MASKED, _WEIGHTS = "masks", "thresholds", "masked_weights", "kernel"


def apply_mask(x: TensorOrVariable, scope: ScopeLike = "") -> Tensor:
    """Returns weights times a mask, a variable "mask" of ones in the variable scope `scope`.

    x: a variable. Layers that read the result are pruned by `Pruning`.
    """
    with variable_scope(scope or get_variable_scope(), reuse=AUTO_REUSE, auxiliary_name_scope=False):
        mask = get_variable("mask", x.shape, x.dtype.base_dtype, Ones(), trainable=False)
        threshold = get_variable("threshold", [], x.dtype.base_dtype, Zeros(), trainable=False)
    with name_scope(None):
        masked = mask * x
    if not any(mask is other for other in get_masks()):
        for key, value in ((_THRESHOLDS, threshold), (_MASKS, mask), (_MASKED, masked), (_WEIGHTS, x)):
            add_to_collection(key, value)
    return masked


def get_masks() -> list[Any]:
    """Returns the masks of the default graph."""
    return list(get_collection(_MASKS))


def get_thresholds() -> list[Any]:
    """Returns the magnitudes below which weights are masked, scalar variables, in the order of the masks."""
    return list(get_collection(_THRESHOLDS))


def get_masked_weights() -> list[Any]:
    """Returns the products of weights and masks, in the order of the masks."""
    return list(get_collection(_MASKED))


def get_weights() -> list[Any]:
    """Returns the variables that are masked, in the order of the masks."""
    return list(get_collection(_WEIGHTS))


def get_weight_sparsity() -> list[Any]:
    """Returns for each mask the share of zeros in it."""
    return [1.0 - reduce_mean(cast(mask > 0, float32)) for mask in get_masks()]


def get_pruning_hparams() -> HParams:
    """Returns the parameters of `Pruning` with their defaults.

    begin_pruning_step, end_pruning_step: of the global step; -1 has no end. pruning_frequency: the steps between two
    updates. do_not_prune: parts of the names of weights. initial_sparsity, target_sparsity: shares of masked weights,
    between sparsity_function_begin_step and sparsity_function_end_step, along a power of sparsity_function_exponent.
    threshold_decay: the share of a threshold that stays. nbins: of the histogram that finds a threshold.
    """
    return HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        do_not_prune=[""],
        threshold_decay=0.9,
        pruning_frequency=10,
        nbins=255,
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
    )


class Pruning:
    """Updates the masks of the default graph.

    spec: the parameters, by default `get_pruning_hparams`. global_step: by default that of the graph. sparsity: the
    share of masked weights, by default as the parameters say. Raises `InvalidArgumentError` for an end before the
    beginning, or a graph without global step.
    """

    def __init__(
        self,
        spec: HParams | None = None,
        global_step: TensorOrVariable | None = None,
        sparsity: Tensor | float | None = None,
    ) -> None:
        self._spec: Any = get_pruning_hparams() if spec is None else spec
        step = get_global_step() if global_step is None else global_step
        if step is None:
            raise InvalidArgumentError("Pruning: the graph has no global step; give global_step")
        self._step = cast(step, int32)
        self._sparsity = self._scheduled() if sparsity is None else sparsity
        self._last = self._last_step()

    def _last_step(self) -> Any:
        with variable_scope(self._spec.name, reuse=AUTO_REUSE):
            return get_variable("last_mask_update_step", [], int32, Zeros(), trainable=False)

    def _scheduled(self) -> Tensor:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        if begin >= end:
            raise InvalidArgumentError(f"Pruning must begin before it can end. begin_step={begin}, end_step={end}")
        with name_scope(spec.name):
            share = clip_by_value(cast(self._step - begin, float32) / float(end - begin), 0.0, 1.0)
            first, last = float(spec.initial_sparsity), float(spec.target_sparsity)
            return (first - last) * (1.0 - share) ** float(spec.sparsity_function_exponent) + last

    def _is_pruned(self, weights: Variable) -> bool:
        return not any(part and part in weights.op.name for part in self._spec.do_not_prune)

    def _updated(self, weights: Variable, threshold: Variable) -> tuple[Any, Any]:
        """Returns (new threshold, new mask) of a variable."""
        size = ABS(weights.value())
        largest = reduce_max(size)
        counts = cast(histogram_fixed_width(size, [constant(0.0), largest], self._spec.nbins), float32)
        below = cumsum(counts) / reduce_sum(counts)
        found = reduce_sum(cast(below < self._sparsity, float32)) / float(self._spec.nbins) * largest
        decay = self._spec.threshold_decay
        smooth = threshold.value() * (1.0 - decay) + found * decay
        return smooth, cast(size > smooth, weights.dtype.base_dtype)

    def mask_update_op(self) -> Operation:
        """Returns the operation that updates all masks."""
        updates = []
        for weights, mask, threshold in zip(get_weights(), get_masks(), get_thresholds(), strict=True):
            if self._is_pruned(weights):
                with name_scope(f"{weights.op.name}_pruning_ops"):
                    new_threshold, new_mask = self._updated(weights, threshold)
                    updates += [mask.assign(new_mask).op, threshold.assign(new_threshold).op]
        with control_dependencies(updates):
            logging.info("Updating masks.")
            return ASSIGN(self._last.__tensor__(as_ref=True), self._step, name="last_mask_update_step_assign").op

    def conditional_mask_update_op(self) -> Operation:
        """Returns the operation that updates all masks when it is time to."""
        spec, step = self._spec, self._step
        end = spec.end_pruning_step
        inside = step >= spec.begin_pruning_step
        inside = inside & (step <= end) if end >= 0 else inside
        due = inside & (self._last + spec.pruning_frequency <= step)

        def update() -> Tensor:
            with control_dependencies([self.mask_update_op()]):
                return constant(True)

        return group(cond(due, update, lambda: constant(False)), name="pruning_update")

    def add_pruning_summaries(self) -> None:
        """Adds summaries of the sparsity, and of the sparsity and threshold of each variable."""
        with name_scope(f"{self._spec.name}_summaries"):
            scalar("sparsity", self._sparsity)
            scalar("last_mask_update_step", self._last)
            for mask, threshold, share in zip(get_masks(), get_thresholds(), get_weight_sparsity(), strict=True):
                scalar(f"{mask.op.name}/sparsity", share)
                scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Logs the parameters."""
        logging.info(self._spec.to_json())
