"""OpenCL equals the host: all cases of several ops in one graph, fed and run through a session.

The compiler takes 0.2 s for a program, however small it is, and little more for another kernel in it. So ops share one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from building import CATALOG, Built, build_in
from cases import Case, op_cases
from evaluate import evaluate

import tfnb as tf
from tfnb.ir.opdef import Kind

pytestmark = pytest.mark.opencl
BY_OP = {name: [c for c in cases if c.device] for name, cases in op_cases().items()}


def _runs(name: str) -> bool:
    op = CATALOG[name]
    return op.kind in (Kind.COMPUTE, Kind.CONST) and not op.stateful and not op.writes


NAMES = sorted(name for name, cases in BY_OP.items() if cases and _runs(name))
TOGETHER = 8  # ops of one graph


def _batch(name: str) -> tuple[str, ...]:
    """The ops that share a graph with the op, which is alone if it is not of the catalogue."""
    if name not in NAMES:
        return (name,)
    first = NAMES.index(name) // TOGETHER * TOGETHER
    return tuple(NAMES[first : first + TOGETHER])


@functools.cache
def _results(names: tuple[str, ...]) -> dict[str, list[tuple[Case, Built, Any]]]:
    """For each op: its cases, as they were built, with the values that a session gave."""
    graph = tf.Graph()
    cases = [c for name in names for case in BY_OP[name] for c in case.both_floats()]
    built = [build_in(graph, c) for c in cases]
    placeholders = {t: x for b in built for t, x in b.feeds().items() if t.op.type == "Placeholder"}
    with tf.Session(graph=graph) as session:
        values = session.run([b.outputs for b in built], placeholders)
    results: dict[str, list[tuple[Case, Built, Any]]] = {name: [] for name in names}
    for result in zip(cases, built, values, strict=True):
        results[result[0].op].append(result)
    return results


@pytest.mark.parametrize("name", NAMES)
def test_equals_the_host(name):
    for case, b, values in _results(_batch(name))[name]:
        for k, (got, expected) in enumerate(zip(values, evaluate(b.outputs, b.feeds()), strict=True)):
            _compare(case, k, np.asarray(got), np.asarray(expected))


def _compare(case, k, got, expected):
    what = f"{case.id}, output {k}"
    got = got.astype(object) if got.dtype.kind == "S" else got  # a fetched scalar string is bytes
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, needed {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, needed {expected.dtype}"
    if got.dtype.kind in "fV" or got.dtype.name == "bfloat16":
        rtol, atol = (1e-9, 1e-12) if got.dtype == np.float64 else (case.rtol, case.atol)
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=what)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)
