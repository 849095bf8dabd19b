"""Every op of the catalogue: defined completely, shapes as inferred, gradients as measured, OpenCL as the host."""

from __future__ import annotations

import numpy as np
import pytest
from building import CATALOG, KNOWLEDGE, backprop, build
from cases import Case, all_cases, op_cases
from evaluate import evaluate

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, Kind
from tfnb.ir.scalar.host import host_kernel

CASES = list(all_cases())
BY_OP = op_cases()
OWN_TESTS = (Kind.PLACEHOLDER, Kind.VARIABLE, Kind.NO_OP)


def _differentiable(case: Case) -> bool:
    grad = CATALOG[case.op].grad
    return (
        case.grad
        and grad is not None
        and grad not in (NOT_DIFFERENTIABLE, GRADIENT_MISSING)
        and len(case.both_floats()) > 1
    )


def _compute(name: str) -> bool:
    """Is it an op that a case can run by itself: pure and without state?"""
    op = CATALOG[name]
    return op.kind in (Kind.COMPUTE, Kind.CONST) and not op.stateful and not op.writes and bool(op.output_args)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_definition_is_complete(name):
    op = CATALOG[name]
    assert op.doc.strip(), "no doc"
    assert op.infer is not None or not op.output_args, "no shape function"
    assert op.grad is not None or not op.output_args, "no gradient, nor NOT_DIFFERENTIABLE"
    if _compute(name):
        assert host_kernel(op) is not None, "no host kernel"
    beside = (op.opencl, op.lower, op.alias)  # then it rewrites only what these do not take
    expand = op.expand if beside == (None, None, None) else None
    library = op.opencl if op.lower is None else None  # beside `lower` it takes the nodes with many parts
    ways = [w for w in (op.scalar, op.lower, op.reduce, library, expand, op.alias) if w is not None]
    assert len(ways) <= 1, "more than one way to OpenCL"


@pytest.mark.parametrize("name", sorted(n for n in CATALOG if _compute(n)))
def test_has_a_case(name):
    assert BY_OP.get(name), f"no case for {name} in tests/ops/cases_*.py"


def test_cases_name_ops_of_the_catalogue():
    assert not set(BY_OP) - set(CATALOG)


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_host_gives_what_was_inferred(case, knowledge):
    for c in case.both_floats():
        built = build(c, knowledge)
        for t, value in zip(built.outputs, evaluate(built.outputs, built.feeds()), strict=True):
            assert value.dtype == t.dtype.np
            assert t.shape.is_compatible_with(value.shape), f"inferred {t.shape}, got {value.shape}"
            if knowledge == "shapes" and not CATALOG[c.op].dynamic:
                assert t.shape.is_fully_defined(), f"inferred only {t.shape} of {value.shape}"


GRADIENT_CASES = [c for c in CASES if _differentiable(c)]


# gradients that refuse where less than the shapes is known: when, and why
NEEDS = {
    "ExtractImagePatches": ("ranks nothing", "how windows lie follows from the images' size, as in TensorFlow"),
    "ExtractVolumePatches": ("ranks nothing", "how windows lie follows from the volumes' size, as in TensorFlow"),
    "Qr": ("ranks nothing", "the formula depends on which side is longer, as in TensorFlow"),
    "SparseReduceSum": ("nothing", "which dimensions stay is a choice of ops"),
    "SparseSoftmax": ("nothing", "the last dimension is split off by ops for its rank"),
}


def _slopes(f, arrays, i):
    """Central differences of the scalar function `f` by the elements of input i (at most 24 of them)."""
    x = arrays[i]
    count = min(x.size, 24)
    picked = np.random.default_rng(0).permutation(x.size)[:count]
    slopes = []
    for k in picked:
        step = 1e-6 * max(1.0, abs(x.flat[k]))
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved.flat[k] += sign * step
            values.append(f([moved if j == i else a for j, a in enumerate(arrays)]))
        slopes.append((values[0] - values[1]) / (2 * step))
    return picked, np.array(slopes)


def _weights(values):
    rng = np.random.default_rng(5)
    return [rng.uniform(0.5, 1.5, np.shape(v)) if np.asarray(v).dtype == np.float64 else None for v in values]


def _is_given_moment(case, i):
    """Is input i a mean or variance that is given? As in TensorFlow it gets no gradient, although the result needs it."""
    return case.op.startswith("FusedBatchNorm") and i in (3, 4) and not case.attrs.get("is_training", True)


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("case", GRADIENT_CASES, ids=lambda c: c.id)
def test_gradient(case, knowledge):
    built = build(case.widened(), knowledge)
    weights = _weights(evaluate(built.outputs, built.feeds()))
    dys = [None if w is None else built.op.graph.constant(w) for w in weights]

    def f(arrays):
        values = evaluate(built.outputs, dict(zip(built.inputs, arrays, strict=True)))
        return sum(float((v * w).sum()) for v, w in zip(values, weights, strict=True) if w is not None)

    try:
        grads = backprop(built.outputs, dys, built.inputs)
    except InvalidArgumentError:
        if knowledge not in NEEDS.get(case.op, ("", ""))[0].split():
            raise
        pytest.skip("this gradient needs known shapes")
    for i, (x, g) in enumerate(zip(built.arrays, evaluate(grads, built.feeds()), strict=True)):
        if x.dtype != np.float64 or (g is None and _is_given_moment(case, i)):
            continue
        picked, expected = _slopes(f, built.arrays, i)
        g = np.zeros_like(x) if g is None else g
        assert g.dtype == np.float64 and g.shape == x.shape
        np.testing.assert_allclose(g.flat[picked], expected, rtol=2e-4, atol=2e-6)


SECOND = {c.op: c for c in reversed(GRADIENT_CASES) if all(x.size for x in c.arrays())}


@pytest.mark.parametrize("case", SECOND.values(), ids=lambda c: c.id)
def test_second_derivative(case):
    built = build(case.widened())
    values = evaluate(built.outputs, built.feeds())
    dys = [None if w is None else built.op.graph.constant(w) for w in _weights(values)]
    floats = [i for i, x in enumerate(built.arrays) if x.dtype == np.float64]
    first = [backprop(built.outputs, dys, [built.inputs[i] for i in floats])]
    first = [built.op.graph.to_tensor(g) for g in first[0] if g is not None]
    if not first:
        return
    weights = _weights(evaluate(first, built.feeds()))

    def f(arrays):
        found = evaluate(first, dict(zip(built.inputs, arrays, strict=True)))
        return sum(float((v * w).sum()) for v, w in zip(found, weights, strict=True))

    xs = [built.inputs[i] for i in floats]
    second = evaluate(backprop(first, [built.op.graph.constant(w) for w in weights], xs), built.feeds())
    for i, g in zip(floats, second, strict=True):
        x = built.arrays[i]
        picked, expected = _slopes(f, built.arrays, i)
        g = np.zeros_like(x) if g is None else g
        np.testing.assert_allclose(g.flat[picked], expected, rtol=5e-4, atol=2e-5)
