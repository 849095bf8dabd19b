"""Index arithmetic: simplified expressions keep their value."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.codegen.fusion.indexing import Indexing, index_vars, row_major
from tfnb.codegen.fusion.nest import make_nest
from tfnb.codegen.fusion.values import Value, View, element
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.scalar.host import evaluate
from tfnb.types import bool_, float32, int32

EXTENTS = {"i0": 3, "i1": 4, "i2": 5}


def at_all_points(e, extents):
    names = list(extents)
    points = itertools.product(*(range(n) for n in extents.values()))
    return [int(evaluate(e, lambda leaf, p=p: np.int32(p[names.index(leaf.value)]))) for p in points]


@st.composite
def index_expressions(draw, depth=4):
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.booleans()):
            return s.index(draw(st.sampled_from(list(EXTENTS))))
        return s.const(draw(st.integers(-7, 12)), int32)
    a = draw(index_expressions(depth=depth - 1))
    op = draw(st.sampled_from(["add", "sub", "mulc", "floordiv", "floormod", "max", "min", "where", "neg"]))
    if op == "neg":
        return -a
    if op in ("mulc", "floordiv", "floormod"):
        c = s.const(draw(st.integers(1, 9)), int32)
        return s.PRIMITIVES[op.removesuffix("c")](a, c)
    b = draw(index_expressions(depth=depth - 1))
    if op == "where":
        test = s.PRIMITIVES[draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))](a, b)
        return s.where(test, a, draw(index_expressions(depth=depth - 1)))
    return s.PRIMITIVES[op](a, b)


@settings(max_examples=300, deadline=None)
@given(index_expressions())
def test_simplify_keeps_the_value(e):
    ix = Indexing(EXTENTS)
    simple = ix.simplify(e)
    values = at_all_points(e, EXTENTS)
    assert at_all_points(simple, EXTENTS) == values
    assert at_all_points(ix.build(ix.affine(e)), EXTENTS) == values
    bounds = ix.bounds(simple)
    if bounds is not None:
        assert bounds[0] <= min(values) and max(values) <= bounds[1]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.randoms())
def test_reshaping_there_and_back_is_nothing(shape, random):
    size = int(np.prod(shape))
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    middle = random.choice(divisors)
    ix = Indexing({f"i{d}": n for d, n in enumerate(shape)})
    idx = index_vars(len(shape))
    linear = ix.linear(idx, shape)
    assert ix.linear(ix.unravel(linear, (middle, size // middle)), (middle, size // middle)) is linear
    assert [ix.build(ix.affine(i)) for i in ix.unravel(linear, shape)] == [
        i if n > 1 else s.const(0, int32) for i, n in zip(idx, shape, strict=True)
    ]


def test_splitting_a_dimension_is_recognised():
    ix = Indexing({"i0": 4, "i1": 6})
    i0, i1 = index_vars(2)
    joint = i0 * 6 + i1
    assert ix.simplify(joint // 6) is i0
    assert ix.simplify(joint % 6) is i1
    assert ix.simplify(s.minimum(s.maximum(i1 + 0, 0), 5)) is i1
    assert ix.simplify(s.lt(i0, 4)) is s.const(True, bool_)


def test_row_major():
    assert row_major((2, 3, 4)) == (12, 4, 1)
    assert row_major(()) == ()


def view(*shape):
    return View(Value(1, TensorInfo(float32, shape), "input"), shape)


def loops(domain, *bodies, axes=()):
    return [n.extent for n in make_nest(domain, axes, bodies, 100).loops]


def test_dimensions_merge_where_accesses_allow():
    idx = index_vars(3)
    zero = s.const(0, int32)
    full = element(view(2, 3, 4), idx)
    assert loops((2, 3, 4), full) == [24]
    assert loops((2, 3, 4), full + element(view(4), idx[2:])) == [6, 4]
    assert loops((2, 3, 4), full + element(view(2, 1, 1), (idx[0], zero, zero))) == [2, 12]
    assert loops((2, 3, 4), full + element(view(3, 1), (idx[1], zero))) == [2, 3, 4]
    assert loops((2, 3, 4), full, axes=(2,)) == [6, 4]
    assert loops((2, 3, 4), full, axes=(0, 1)) == [6, 4]
    assert loops((2, 3, 4), element(view(4, 3, 2), idx[::-1])) == [2, 3, 4]


def test_an_index_that_is_data_keeps_its_dimension():
    idx = index_vars(2)
    assert loops((2, 3), s.cast(idx[1], float32)) == [2, 3]
    assert loops((2, 3), s.cast(idx[0] * 3 + idx[1], float32)) == [6]


def test_zeros_are_added_once():
    x, zero = s.index("x", float32), s.const(0.0, float32)
    plus = s.add(x, zero)
    assert Indexing({}).simplify(s.add(s.add(plus, zero), zero)) is plus
    assert Indexing({}).simplify(plus) is plus  # -0 + 0 is 0
    minus_zero = s.const(-0.0, float32)
    assert Indexing({}).simplify(s.add(minus_zero, minus_zero)).op == "add"
    sums = [s.add(s.add(s.add(zero, zero), x), zero), s.add(zero, s.add(x, minus_zero)), s.add(plus, minus_zero)]
    for e in sums:
        for value in (-0.0, 0.0, 1.5, np.inf):
            results = [evaluate(r, lambda leaf, v=value: np.float32(v)) for r in (e, Indexing({}).simplify(e))]
            assert results[0].tobytes() == results[1].tobytes()
