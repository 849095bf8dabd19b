"""Random shapes, empty and of size 1 among them, against TensorFlow: values and gradients in both floats."""

from __future__ import annotations

import numpy as np
import pytest
from building import CATALOG
from cases import Case, op_cases

pytest.importorskip("tensorflow", exc_type=ImportError)
against = pytest.importorskip("against")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SIZES = (0, 1, 1, 2, 3, 5, 7, 17)
# values inside every function's domain and away from its kinks
RANGES = {"Acosh": (1.1, 3.0), "Asin": (0.1, 0.9), "Acos": (0.1, 0.9), "Atanh": (0.1, 0.9)}
WITH_CASES = {name for name, cases in op_cases().items() if any(c.oracle for c in cases)}


# Scalars, one shape among their inputs, or attributes that must be given; test_generated.py has them.
OTHER_SHAPES = {"ApproximateEqual", "Bucketize", "ClipByValue"} | {n for n in CATALOG if n.startswith("FakeQuant")}


def _elementwise_op(name: str) -> bool:
    op = CATALOG[name]
    if name in OTHER_SHAPES:
        return False
    return op.scalar is not None and not op.writes and not any(a.number for a in op.input_args)


ELEMENTWISE = sorted(n for n in WITH_CASES if _elementwise_op(n))


def _array(rng, shape, name="", dtype=np.float32):
    low, high = RANGES.get(name, (0.3, 1.9))
    return rng.uniform(low, high, shape).astype(dtype)


def _shape(rng, rank):
    return tuple(int(n) for n in rng.choice(SIZES, rank))


def _partner(rng, shape):
    """A shape that broadcasts with `shape`."""
    cut = shape[rng.integers(0, len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.4 else n for n in cut)


def _elementwise(rng, name):
    shape = _shape(rng, rng.integers(0, 4))
    args = CATALOG[name].input_args
    fixed = len(args) == 2 and name.endswith("Grad")
    shapes = [shape] + [shape if fixed else _partner(rng, shape) for _ in args[1:]]
    if rng.random() < 0.5:
        shapes.reverse()
    if args[0].type == "bool":
        return Case(name, tuple(rng.random(s) < 0.5 for s in shapes))
    if np.dtype("float32") not in [t.np for t in CATALOG[name].types["T"]]:
        return Case(name, tuple(rng.integers(1, 9, s).astype(np.int32) for s in shapes))
    return Case(name, tuple(_array(rng, s, name) for s in shapes), rtol=1e-4)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    rng = np.random.default_rng(len(name))
    against.check([c for _ in range(6) for c in _elementwise(rng, name).both_floats()])


def _reduction(rng, name):
    shape = _shape(rng, rng.integers(1, 5))
    count = rng.integers(0, len(shape) + 1)
    axes = rng.permutation(len(shape))[:count] - (len(shape) if rng.random() < 0.3 else 0)
    x = rng.random(shape) < 0.6 if name in ("All", "Any") else _array(rng, shape)
    return Case(
        name,
        (x, axes.astype(rng.choice(["int32", "int64"]))),
        {"keep_dims": bool(rng.random() < 0.5)},
        rtol=1e-4,
    )


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Prod", "All", "Any"])
def test_reduction(name):
    rng = np.random.default_rng(len(name))
    against.check([c for _ in range(12) for c in _reduction(rng, name).both_floats()])


def _product(rng, name):
    m, k, n = (int(x) for x in rng.choice([1, 2, 5, 17, 33], 3))
    batch = _shape(rng, rng.integers(0, 3)) if name == "BatchMatMul" else ()
    ta, tb = (bool(f) for f in rng.random(2) < 0.5)
    a = _array(rng, (*batch, k, m) if ta else (*batch, m, k))
    b = _array(rng, (*batch, n, k) if tb else (*batch, k, n))
    flags = ("adj_x", "adj_y") if name == "BatchMatMul" else ("transpose_a", "transpose_b")
    return Case(name, (a, b), dict(zip(flags, (ta, tb), strict=True)), rtol=1e-4)


@pytest.mark.parametrize("name", ["MatMul", "BatchMatMul"])
def test_product(name):
    rng = np.random.default_rng(len(name))
    against.check([c for _ in range(12) for c in _product(rng, name).both_floats()])


def _join(rng):
    shape, axis = _shape(rng, rng.integers(1, 4)), 0
    axis = int(rng.integers(0, len(shape)))
    parts = [
        _array(rng, (*shape[:axis], int(rng.choice(SIZES)), *shape[axis + 1 :])) for _ in range(rng.integers(2, 6))
    ]
    return Case("ConcatV2", (parts, np.int32(axis - (len(shape) if rng.random() < 0.3 else 0))))


def _strided(rng):
    shape = _shape(rng, rng.integers(1, 4))
    count = int(rng.integers(1, len(shape) + 1))
    begin, end = (rng.integers(-20, 20, count).astype(np.int32) for _ in range(2))
    strides = rng.choice([-3, -2, -1, 1, 2, 3], count).astype(np.int32)
    masks = {"begin_mask": int(rng.integers(0, 8)), "end_mask": int(rng.integers(0, 8))}
    return Case("StridedSlice", (_array(rng, shape), begin, end, strides), masks)


def _pad(rng):
    shape = _shape(rng, rng.integers(1, 4))
    return Case("Pad", (_array(rng, shape), rng.integers(0, 4, (len(shape), 2)).astype(np.int32)))


def _tile(rng):
    shape = _shape(rng, rng.integers(1, 4))
    return Case("Tile", (_array(rng, shape), rng.integers(0, 4, len(shape)).astype(np.int32)))


def _transpose(rng):
    shape = _shape(rng, rng.integers(0, 5))
    return Case("Transpose", (_array(rng, shape), rng.permutation(len(shape)).astype(np.int32)))


def _gather(rng):
    shape = (int(rng.integers(1, 9)), *_shape(rng, rng.integers(0, 3)))
    return Case(
        "Gather",
        (
            _array(rng, shape),
            rng.integers(0, shape[0], _shape(rng, rng.integers(0, 3))).astype(np.int32),
        ),
    )


def _segments(rng):
    ids = rng.integers(-1, 5, _shape(rng, rng.integers(1, 3))).astype(np.int64)
    return Case(
        "UnsortedSegmentSum",
        (_array(rng, (*ids.shape, *_shape(rng, rng.integers(0, 2)))), ids, np.int32(5)),
        rtol=1e-4,
    )


def _broadcast(rng):
    shape = _shape(rng, rng.integers(0, 4))
    return Case("BroadcastTo", (_array(rng, _partner(rng, shape)), np.array(shape, np.int32)), rtol=1e-4)


@pytest.mark.parametrize("make", [_join, _strided, _pad, _tile, _transpose, _gather, _segments, _broadcast])
def test_movement(make):
    rng = np.random.default_rng(11)
    against.check([c for _ in range(15) for c in make(rng).both_floats()])
