"""Control-flow programs and their gradients against TensorFlow, and in the fast and the general executor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import random_loops
import random_state
from loop_programs import PROGRAMS

import tfnb as tf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1


def run(t: Any, name: str) -> list[list[Any]]:
    graph = t.Graph()
    with graph.as_default():
        ys, xs, feeds = PROGRAMS[name](t)
        floats = [y for y in ys if t.as_dtype(y.dtype).is_floating]
        grads = t.gradients(floats, xs) if xs else []
        grads = [t.zeros([]) if g is None else t.convert_to_tensor(g) for g in grads]
        init = t.global_variables_initializer()
    with t.Session(graph=graph) as session:
        session.run(init)
        return [session.run([*ys, *grads], {f"{k}:0": v for k, v in feed.items()}) for feed in feeds]


@pytest.fixture
def control_flow_v1() -> Any:
    with tf1.Graph().as_default():
        before = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        yield
        if before:
            tf1.enable_control_flow_v2()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program(control_flow_v1: None, name: str) -> None:
    theirs = run(tf1, name)
    for ours, wanted in zip(run(tf, name), theirs, strict=True):
        for k, (a, b) in enumerate(zip(ours, wanted, strict=True)):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=f"value {k}")


@pytest.mark.parametrize("use_resource", [False, True])
def test_programs_with_variables(control_flow_v1: None, monkeypatch: pytest.MonkeyPatch, use_resource: bool) -> None:
    """What Python makes of a random program is what TensorFlow makes of it, with either kind of variable."""
    monkeypatch.setattr(random_loops, "tf", tf1)
    for seed in range(20):
        found, wanted = random_state.computed(seed, use_resource=use_resource), random_state.expected(seed)
        assert random_state.same(found, wanted), f"seed {seed}: {found} {wanted}"
