"""Row updates (scatter, sparse optimizers) on the device against the ops' host kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ops.state.scatter import OPS as SCATTER_OPS
from tfnb.ops.state.scatter_recipes import scatter_calls
from tfnb.ops.training.sparse_updates import OPS as SPARSE_OPS
from tfnb.types import as_dtype

HYPER = {
    "lr": 0.3,
    "alpha": 0.3,
    "rho": 0.9,
    "momentum": 0.8,
    "epsilon": 1e-3,
    "l1": 0.1,
    "l2": 0.2,
}
TOLERANCE = {"float32": (2e-5, 1e-6), "float64": (1e-11, 1e-6), "float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2)}
SHAPES = [(7,), (5, 3), (4, 2, 9), (600, 33)]


def with_shapes(*dtypes: str) -> list[tuple[str, tuple[int, ...]]]:
    """Every shape with the first dtype and one with each other: how rows are cut does not depend on the dtype."""
    shapes_of = [(dtype, SHAPES if k == 0 else [SHAPES[k % len(SHAPES)]]) for k, dtype in enumerate(dtypes)]
    return [(dtype, shape) for dtype, shapes in shapes_of for shape in shapes]


def updated(runner: Any, op: OpDef, values: list[np.ndarray], units: int | None = None, **attrs: Any) -> Any:
    """(host kernel's, device's) new values of the references."""
    made = op.attrs(**attrs)
    n = len(op.writes)
    outputs = [TensorInfo(as_dtype(v.dtype), v.shape) for v in values[:n]]
    site = runner.site(op.name, values, outputs[:1], made, units=units)
    got = runner.run_calls(op.opencl(site), values, outputs, in_place={i: i for i in range(n)})
    wanted = op.host(HostCall(made, {}, (), None), *values)
    return (wanted if isinstance(wanted, tuple) else (wanted,)), got


def indices_for(rows: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, rows, 2 * rows + 1).astype(dtype)


@pytest.mark.parametrize("op", SCATTER_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype, shape", with_shapes("float32", "float64", "int32", "int64", "uint8"))
def test_scatter_in_order(runner: Any, op: OpDef, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    at = indices_for(shape[0], "int64" if dtype == "float64" else "int32", rng)
    ref = rng.integers(1, 50, shape).astype(dtype)
    updates = rng.integers(1, 4, (at.size, *shape[1:])).astype(dtype)
    wanted, got = updated(runner, op, [ref, at, updates])
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)


@pytest.mark.parametrize("op", SPARSE_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype, shape", with_shapes("float32", "float64", "float16", "bfloat16"))
@pytest.mark.parametrize("flags", [False, True])
def test_sparse_apply(runner: Any, op: OpDef, dtype: str, shape: tuple[int, ...], flags: bool) -> None:
    rng = np.random.default_rng(1)
    at = rng.integers(0, shape[0], max(1, shape[0] // 2)).astype("int64" if flags else "int32")
    values: list[np.ndarray] = []
    for arg in op.input_args:
        if arg.ref:
            low = 0.0 if arg.name in ("var", "mg", "linear") else 0.5
            values.append((rng.random(shape) + low).astype(dtype))
        elif arg.name == "grad":
            values.append(rng.standard_normal((at.size, *shape[1:])).astype(dtype))
        elif arg.name == "indices":
            values.append(at)
        else:
            power = -0.7 if flags else -0.5
            values.append(np.asarray(power if arg.name == "lr_power" else HYPER[arg.name], dtype))
    attrs = {n: flags for n in ("use_nesterov", "update_slots") if hasattr(op.attrs(), n)}
    wanted, got = updated(runner, op, values, **attrs)
    for w, g in zip(wanted, got, strict=True):
        rtol, atol = TOLERANCE[dtype]
        np.testing.assert_allclose(g.astype("float64"), w.astype("float64"), rtol=rtol, atol=atol)


def test_many_groups_give_the_same(runner: Any) -> None:
    rng = np.random.default_rng(2)
    ref, at = rng.random((50, 700)).astype("float32"), indices_for(50, "int32", rng)
    values = [ref, at, rng.random((at.size, 700)).astype("float32")]
    add = SCATTER_OPS[1]
    one = updated(runner, add, values, units=1)[1][0]
    many = updated(runner, add, values, units=16)[1][0]
    np.testing.assert_array_equal(one, many)


def test_bad_index_is_skipped_and_nothing_launched_for_nothing(runner: Any) -> None:
    ref = np.arange(6, dtype=np.float32).reshape(3, 2)
    at = np.asarray([-1, 3, 1], np.int32)
    info = TensorInfo(as_dtype("float32"), ref.shape)
    site = runner.site("ScatterAdd", [ref, at, np.ones((3, 2), np.float32)], [info], None)
    calls = scatter_calls(site, "scatter_add")
    (got,) = runner.run_calls(calls, [ref, at, np.ones((3, 2), np.float32)], [info], in_place={0: 0})
    np.testing.assert_array_equal(got, [[0, 1], [3, 4], [4, 5]])
    empty = runner.site("ScatterAdd", [ref, at[:0], np.ones((0, 2), np.float32)], [info], None)
    assert scatter_calls(empty, "scatter_add") == ()


@pytest.mark.parametrize("op", SCATTER_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats(runner: Any, op: OpDef, dtype: str) -> None:
    """Computed in float, stored after each update: as the host does."""
    kind = as_dtype(dtype).np
    at = np.asarray([2, 0, 2, 1, 2], np.int32)
    ref = np.arange(1, 7).reshape(3, 2).astype(kind)
    updates = (np.arange(10).reshape(5, 2) / 4 + 1).astype(kind)
    site = runner.site(op.name, [ref, at, updates], [TensorInfo(as_dtype(dtype), (3, 2))], op.attrs())
    (call,) = op.opencl(site)
    assert dict(call.defines)["T"] in ("half", "bfloat", "ushort")
    wanted, got = updated(runner, op, [ref, at, updates])
    np.testing.assert_allclose(got[0].astype("f"), wanted[0].astype("f"), rtol=1e-2)
