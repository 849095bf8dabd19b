"""Optimizer updates and scatters against the kernels of real TensorFlow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from evaluate import evaluate

from tfnb.ir.builder import GraphBuilder
from tfnb.ir.opdef import OpDef
from tfnb.ops.state import scatter
from tfnb.ops.state.variables import VARIABLE_V2
from tfnb.ops.training import sparse_updates, updates
from tfnb.ops.training.sparse_updates import SUMMED_ROWS
from tfnb.types import Shape, as_dtype

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
    from tensorflow.python.training.optimizer import _deduplicate_indexed_slices
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
HYPER = {
    "lr": 0.3,
    "alpha": 0.3,
    "rho": 0.9,
    "momentum": 0.8,
    "epsilon": 1e-3,
    "beta1_power": 0.9**3,
    "beta2_power": 0.99**3,
    "beta1": 0.9,
    "beta2": 0.99,
    "l1": 0.1,
    "l2": 0.2,
    "lr_power": -0.5,
}
THEIR_NAME = {summed: op.name for op, summed in SUMMED_ROWS.items()}
SIGNED = ("var", "mg", "linear", "m", "mom", "ref")


def _flags(op: OpDef) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    found += [{"use_nesterov": True}] if hasattr(op.attrs(), "use_nesterov") else []
    found += [{"update_slots": False}] if hasattr(op.attrs(), "update_slots") else []
    return found


def _inputs(
    op: OpDef, shape: tuple[int, ...], dtype: Any, indices: np.ndarray | None, power: float
) -> list[np.ndarray]:
    rng = np.random.default_rng(len(op.name))
    rows = shape if indices is None else (len(indices), *shape[1:])
    found = []
    for a in op.input_args:
        if a.ref:
            value = rng.standard_normal(shape) * 0.3 if a.name in SIGNED else rng.random(shape) + 0.5
        elif a.name in ("grad", "delta", "updates"):
            value = rng.standard_normal(rows)
        elif a.name == "indices":
            found.append(np.asarray(indices))
            continue
        else:
            value = np.asarray(power if a.name == "lr_power" else HYPER[a.name])
        found.append(np.asarray(value, dtype))
    return found


def _ours(op: OpDef, values: list[np.ndarray], attrs: dict[str, Any]) -> list[np.ndarray]:
    graph = GraphBuilder()
    refs = [VARIABLE_V2(shape=Shape(values[i].shape), dtype=as_dtype(values[i].dtype), graph=graph) for i in op.writes]
    out = op(*refs, *values[len(refs) :], graph=graph, **attrs)
    state = {t.op: v for t, v in zip(refs, values, strict=False)}
    return list(evaluate([out, *refs], {}, state))[1:]


def _theirs(op: OpDef, values: list[np.ndarray], attrs: dict[str, Any]) -> list[np.ndarray]:
    """What the references hold after TensorFlow's operation; instead of one that sums the gradients of equal rows, after
    what TensorFlow's optimizers do: they sum them, then update each row once.
    """
    with tf1.Graph().as_default(), tf1.Session() as session:
        refs = [tf1.Variable(values[i], use_resource=False) for i in op.writes]
        inputs = [v._ref() for v in refs] + [tf1.constant(v) for v in values[len(refs) :]]
        given = dict(zip([a.name for a in op.input_args], inputs, strict=True))
        if op in THEIR_NAME:
            given["grad"], given["indices"] = _deduplicate_indexed_slices(given["grad"], given["indices"])
        update = getattr(tensorflow.raw_ops, THEIR_NAME.get(op, op.name))(**given, **attrs)
        session.run(tf1.global_variables_initializer())
        session.run(update)
        return list(session.run(refs))


def _same(op: OpDef, values: list[np.ndarray], attrs: dict[str, Any]) -> None:
    wide = values[0].dtype == np.float64
    for got, want in zip(_ours(op, values, attrs), _theirs(op, values, attrs), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-9 if wide else 2e-5, atol=1e-12 if wide else 1e-6)


@pytest.mark.parametrize("op", updates.OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_updates(op: OpDef, dtype: Any) -> None:
    for shape in ((4, 3), (0, 2), (), (5,)):
        for attrs in _flags(op):
            for power in (-0.5, -0.7) if "Ftrl" in op.name else (-0.5,):
                _same(op, _inputs(op, shape, dtype, None, power), attrs)


@pytest.mark.parametrize("op", sparse_updates.OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [[2, 0, 3], [1, 3, 1, 0], [2, 2, 0, 2]])
def test_sparse_updates(op: OpDef, dtype: Any, indices: list[int]) -> None:
    for shape in ((6, 3), (4,), (5, 2, 2)):
        for attrs in _flags(op):
            _same(op, _inputs(op, shape, dtype, np.asarray(indices, np.int32), -0.5), attrs)


@pytest.mark.parametrize("op", scatter.OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("indices", [[2, 0, 3], [1, 3, 1, 0]])
def test_scatters(op: OpDef, dtype: Any, indices: list[int]) -> None:
    for shape in ((6, 3), (4,), (5, 2, 2)):
        values = _inputs(op, shape, np.float64, np.asarray(indices, np.int64), -0.5)
        values = [v if v.dtype == np.int64 else (v * 9).astype(dtype) for v in values]
        if dtype is np.int32:
            values[2] = np.where(values[2] == 0, 2, values[2])
        _same(op, values, {})
