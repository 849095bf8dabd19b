"""Random control-flow programs equal eager evaluation, in the fast and in the general executor.

5,000 of them: `TFNB_OPTIMIZE=0 python tests/client/control_flow/random_loops.py 0 5000`; with variables, `random_state.py`.
"""

from __future__ import annotations

import pytest
from random_loops import gradients_hold, mixed, same
from random_state import computed, expected

import tfnb as tf

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("fast", ["1", "0"])
@pytest.mark.parametrize("kinds", ["iii", "iff"])
def test_scalars(monkeypatch: pytest.MonkeyPatch, fast: str, kinds: str) -> None:
    monkeypatch.setenv("TFNB_FAST_LOOPS", fast)
    for seed in range(8):
        graph, fetches, wanted = mixed(seed, kinds)
        with tf.Session(graph=graph) as session:
            found = session.run(fetches)
        assert same(found, wanted), f"seed {seed}: {found} {wanted}"


@pytest.mark.parametrize("kinds", ["ifv", "imm"])
def test_vectors_and_matrices(monkeypatch: pytest.MonkeyPatch, kinds: str) -> None:
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")  # few kernels for all programs
    for seed in range(3):
        graph, fetches, wanted = mixed(seed, kinds)
        with tf.Session(graph=graph) as session:
            found = session.run(fetches)
        assert same(found, wanted), f"seed {seed}: {found} {wanted}"


@pytest.mark.parametrize("seed", [1, 7])
def test_gradients(seed: int) -> None:
    assert gradients_hold(seed)


@pytest.mark.parametrize("fast", ["1", "0"])
def test_variables(monkeypatch: pytest.MonkeyPatch, fast: str) -> None:
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")
    monkeypatch.setenv("TFNB_FAST_LOOPS", fast)
    for seed in (3, 6, 9, 14):
        found, wanted = computed(seed), expected(seed)
        assert same(found, wanted), f"seed {seed}: {found} {wanted}"
