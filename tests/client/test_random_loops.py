"""Random control-flow programs equal eager evaluation, in the fast and in the general executor."""

from __future__ import annotations

import numpy as np
import pytest
from random_loops import N, slope, vectors, whole_numbers

import tfnb as tf

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("fast", ["1", "0"])
def test_integers(monkeypatch: pytest.MonkeyPatch, fast: str) -> None:
    monkeypatch.setenv("TFNB_FAST_LOOPS", fast)
    for seed in range(12):
        graph, fetches, wanted = whole_numbers(seed)
        with tf.Session(graph=graph) as session:
            found = session.run(fetches)
        assert [int(x) for x in found] == [int(x) for x in wanted], f"seed {seed}"


@pytest.mark.parametrize("seed", [1, 7])
def test_vectors_and_their_gradients(seed: int) -> None:
    graph, fetches, wanted, (program, start) = vectors(seed)
    with tf.Session(graph=graph) as session:
        found = session.run(fetches)
    for a, b in zip(found[:N], wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    for i, grad in enumerate(found[N:]):
        for k in range(2):
            assert grad[k] == pytest.approx(slope(program, start, i, k), rel=1e-4, abs=1e-4)
