"""The pages of CONTRIBUTING.md on a pass and a device are true: their code runs in real steps.

Those on operations and scalar primitives are followed in `tests/ops`, that on a widget in `tests/browser`.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from contributing_page import TEXT, block, execute

import tfnb as tf
from tfnb.codegen.program import Program
from tfnb.devices.interface import Device, LoadedProgram
from tfnb.devices.opencl import make_devices
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.passes.prune import Request
from tfnb.runtime.executor import Executor
from tfnb.runtime.resources import ResourceManager
from tfnb.session import compile as compiling
from tfnb.session.placing import Placing
from tfnb.settings import load_settings


@pytest.mark.opencl
def test_the_pass_of_the_page_is_a_stage_of_a_step(monkeypatch):
    monkeypatch.setenv("TFNB_VERIFY", "1")
    names = execute("pass", Graph=Graph, Edge=Edge, GraphEdit=GraphEdit)
    stage = eval(block("stage"), {**vars(compiling), **names})
    monkeypatch.setattr(compiling, "STAGES", (compiling.STAGES[0], stage, *compiling.STAGES[1:]))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        metadata = tf.RunMetadata()
        y = session.run(tf.exp(-(-x)) + -x, {x: [0.0, 1.0]}, run_metadata=metadata)
        np.testing.assert_allclose(y, [1.0, np.e - 1.0], rtol=1e-6)
    (first, before), (second, after) = metadata.passes[:2]
    assert (first, second) == ("prune", "drop double negations")
    assert [sum(n.type == "Neg" for n in g.nodes.values()) for g in (before, after)] == [3, 1]


@pytest.mark.opencl
def test_the_device_of_the_page_runs_a_step():
    names = execute("device", Device=Device, LoadedProgram=LoadedProgram, Program=Program)
    settings = load_settings()
    device = names["CountingDevice"](make_devices(settings, {"CPU": 1})[0])
    context = compiling.Context({device.name: device}, ResourceManager(), settings, Placing({device.name: 0}))
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1000])
        step = compiling.compile_step(Request((tf.reduce_sum(x * 2.0),), (), (x,)), context)
    executor = Executor.of_parts(step.parts)
    for runs in (1, 2):
        (total,) = executor.run([np.ones(1000, np.float32)])
        assert total == 2000.0 and device.runs == runs
    device.close()


def test_the_pages_have_their_blocks():
    """Each block is read by one of the tests, here, in `tests/ops` or in `tests/browser`."""
    assert re.findall(r"^```(\w+ \w+)$", TEXT, re.MULTILINE) == [
        "python op",
        "python cases",
        "python primitive",
        "python pass",
        "python stage",
        "python device",
        "python widget",
        "ts widget",
    ]
