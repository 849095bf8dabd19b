"""OpenCL equals the host: all cases of an op in one graph, fed and run through a session."""

from __future__ import annotations

import numpy as np
import pytest
from building import CATALOG, build_in
from cases import op_cases
from evaluate import evaluate

import tfnb as tf
from tfnb.ir.opdef import Kind

pytestmark = pytest.mark.opencl
BY_OP = {name: [c for c in cases if c.device] for name, cases in op_cases().items()}


def _runs(name: str) -> bool:
    op = CATALOG[name]
    return op.kind in (Kind.COMPUTE, Kind.CONST) and not op.stateful and not op.writes


@pytest.mark.parametrize("name", sorted(n for n, cases in BY_OP.items() if cases and _runs(n)))
def test_equals_the_host(name):
    graph = tf.Graph()
    cases = [c for case in BY_OP[name] for c in case.both_floats()]
    built = [build_in(graph, c) for c in cases]
    placeholders = {t: x for b in built for t, x in b.feeds().items() if t.op.type == "Placeholder"}
    with tf.Session(graph=graph) as session:
        found = session.run([b.outputs for b in built], placeholders)
    for case, b, ours in zip(cases, built, found, strict=True):
        for k, (got, expected) in enumerate(zip(ours, evaluate(b.outputs, b.feeds()), strict=True)):
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
