"""The EstimatorSpec of a model that has replicas on several devices (`RunConfig.train_distribute`).

Replicas share their variables, those of metrics too. Invariant: the result says of all replicas what a spec says of
one model: the loss of all data, an operation that trains once, metrics over all data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.variables.variable import group
from tfnb.ops.array.concat import concat
from tfnb.train.distribute.reduction import ReduceOp
from tfnb.train.distribute.strategies import Strategy
from tfnb.train.distribute.values import PerReplica
from tfnb.v1.estimators.spec import EstimatorSpec

__all__ = ["joined_specs"]


def _rows(values: Sequence[Any]) -> Any:
    """Returns the rows of all replicas, in a structure like each of theirs."""
    if isinstance(values[0], Mapping):
        return {key: _rows([v[key] for v in values]) for key in values[0]}
    return values[0] if values[0] is None or values[0].shape.ndims == 0 else concat(list(values), 0)


def joined_specs(strategy: Strategy, specs: Sequence[EstimatorSpec], reduction: ReduceOp) -> EstimatorSpec:
    """Returns the spec of all replicas. reduction: how their losses become one."""
    first = specs[0]
    if len(specs) == 1:
        return first
    losses = [spec.loss for spec in specs]
    operations = [spec.train_op for spec in specs]
    metrics = None
    if first.eval_metric_ops is not None:
        each = [spec.eval_metric_ops or {} for spec in specs]
        metrics = {
            name: (value, group(*(getattr(of_spec[name][1], "op", None) for of_spec in each)))
            for name, (value, _) in first.eval_metric_ops.items()
        }
    return first._replace(
        predictions=_rows([spec.predictions for spec in specs]),
        loss=None if losses[0] is None else strategy.reduce(reduction, PerReplica(losses), None),
        train_op=None if operations[0] is None else group(*operations),
        eval_metric_ops=metrics,
    )
