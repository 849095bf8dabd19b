"""Batch renormalisation (Ioffe 2017): in training, normalised values are corrected towards moving statistics.

Invariant: a moving value is an average that began with zero, and its weight is the average of ones that began with
zero, so that their quotient is unbiased from the first step on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.client.control_flow.cond import smart_cond
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.unary import SQRT, SQUARE

__all__ = ["Renorm"]


class Renorm:
    """The moving mean and deviation of a layer in training, and the limits of the corrections by them.

    clipping: the largest and smallest factor, "rmax" and "rmin", and the largest shift, "dmax". Raises
    `InvalidArgumentError` for other keys.
    """

    mean: Any
    mean_weight: Any
    stddev: Any
    stddev_weight: Any

    def __init__(self, clipping: Mapping[str, Any] | None, momentum: float) -> None:
        keys = ("rmax", "rmin", "dmax")
        if set(clipping or {}) - set(keys):
            raise InvalidArgumentError(f"renorm_clipping {clipping} contains keys not in {list(keys)}")
        self.clipping: dict[str, Any] = dict(clipping or {})
        self.momentum = momentum

    def corrected(self, mean: Tensor, variance: Tensor, epsilon: float, training: TensorLike) -> tuple[Any, ...]:
        """Returns (factor, shift, new mean, new variance) for the moments of a batch, all of the shape of `mean`.

        In training the moving values move, and the new moments are what they are then. Else the factor is 1, the shift
        0, and the new moments are of no use.
        """
        stddev = SQRT(variance + epsilon)
        mixed_mean = self.mean + (1.0 - self.mean_weight) * mean
        mixed_stddev = self.stddev + (1.0 - self.stddev_weight) * stddev
        factor, shift = stddev / mixed_stddev, (mean - mixed_mean) / mixed_stddev
        with mean.graph.control_dependencies([factor.op, shift.op]):  # which are made with the old moving values
            mean, stddev = IDENTITY(mean), IDENTITY(stddev)
        if "rmin" in self.clipping:
            factor = MAXIMUM(factor, self.clipping["rmin"])
        if "rmax" in self.clipping:
            factor = MINIMUM(factor, self.clipping["rmax"])
        if "dmax" in self.clipping:
            shift = MINIMUM(MAXIMUM(shift, -self.clipping["dmax"]), self.clipping["dmax"])
        used_factor = smart_cond(training, lambda: IDENTITY(factor), lambda: ONES_LIKE(factor))
        used_shift = smart_cond(training, lambda: IDENTITY(shift), lambda: ZEROS_LIKE(shift))
        new_mean = self._moved(self.mean, self.mean_weight, mean, training)
        new_stddev = self._moved(self.stddev, self.stddev_weight, stddev, training)
        return used_factor, used_shift, new_mean, SQUARE(new_stddev) - epsilon

    def _moved(self, moving: Variable, weight: Variable, value: Tensor, training: TensorLike) -> Any:
        rate = 1.0 - self.momentum

        def move() -> Tensor:
            taken = IDENTITY(value)
            with taken.graph.control_dependencies([taken.op]):
                moved = moving.assign_sub((moving.value() - taken) * rate)
                weighed = weight.assign_sub((weight.value() - 1.0) * rate)
            return IDENTITY(moved) / IDENTITY(weighed)

        return smart_cond(training, move, lambda: IDENTITY(moving.value()))
