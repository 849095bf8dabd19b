"""Batch normalisation against TensorFlow: the ops of three versions and their gradients to the second order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from building import build_in
from cases import Case
from evaluate import evaluate

from tfnb.ir.builder import GraphBuilder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
RNG = np.random.default_rng(4)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def _values(op: str, inputs: dict[str, Any], attrs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Our outputs and TensorFlow's, fed, since it folds constants wrongly here."""
    built = build_in(GraphBuilder(), Case(op, tuple(inputs.values()), attrs))
    mine = evaluate(built.outputs, built.feeds())
    with tf1.Graph().as_default(), tf1.Session() as session:
        fed = {k: tf1.placeholder(v.dtype, v.shape) for k, v in inputs.items()}
        made = getattr(tensorflow.raw_ops, op)(**fed, **attrs)
        theirs = session.run(made, {fed[k]: v for k, v in inputs.items()})
    return mine, list(theirs)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_ops(version: str, training: bool) -> None:
    scale, offset, mean, variance = normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.5
    images = {"x": normal(2, 3, 4, 3), "scale": scale, "offset": offset}
    moments = {"mean": mean, "variance": variance}
    attrs: dict[str, Any] = {"is_training": training, "epsilon": 0.01}
    if training and version == "V3":
        attrs["exponential_avg_factor"] = 0.25
    mine, theirs = _values("FusedBatchNorm" + version, images | moments, attrs)
    for a, b in list(zip(mine, theirs, strict=True))[: 5 if training else 3]:
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    back = {
        "y_backprop": normal(2, 3, 4, 3),
        "x": images["x"],
        "scale": scale,
        "reserve_space_1": mean,
        "reserve_space_2": variance,
    }
    back |= {"reserve_space_3": np.zeros((), np.float32)} if version == "V3" else {}
    attrs.pop("exponential_avg_factor", None)
    mine, theirs = _values("FusedBatchNormGrad" + version, back, attrs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
