"""The stages of compiling a step: one table, which the documents repeat and every step goes through."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.ir.step_graph.graph import Graph
from tfnb.passes.cluster import Clustered
from tfnb.passes.prune import Request
from tfnb.runtime.plan import Plan
from tfnb.session.compile import STAGES, compile_step

ROOT = Path(__file__).parents[2]
NAMES = [stage.name for stage in STAGES]


def documented():
    """The rows (stage, what it does, where) of the table in docs/architecture.md."""
    text = (ROOT / "docs/architecture.md").read_text()
    table = text.partition("| stage | what it does | where |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([a-z -]+) \| (.+) \| `(.+)` \|$", table, re.MULTILINE)


def test_the_document_lists_the_stages_in_order():
    assert [name for name, _, _ in documented()] == NAMES
    for _, _, path in documented():
        assert (ROOT / "tfnb" / path).is_file(), path


@pytest.mark.opencl
def test_every_stage_of_a_step_is_observed():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        x = tf.placeholder(tf.float32, [3], name="x")
        with tf.device("/cpu:0"):
            y = tf.nn.softmax(x + (1.0 + 2.0))
        with tf.device("/cpu:1"):
            z = y * 2.0
        metadata = tf.RunMetadata()
        session.run(z, {x: np.ones(3)}, run_metadata=metadata)
        seen = [name for name, _ in metadata.passes]
        quiet = {"take in parts", "check devices"}  # the first is for partial runs, the second changes nothing
        several = {"partition", "cluster", "plan"}  # one for each device
        assert [n for n in seen if n not in several] == [n for n in NAMES if n not in quiet | several]
        assert seen[-6:] == [n for n in ("partition", "cluster", "plan") for _ in range(2)]
        kinds = {"cluster": Clustered, "plan": Plan}
        assert all(isinstance(made, kinds.get(name, Graph)) for name, made in metadata.passes)


@pytest.mark.opencl
def test_a_step_is_the_same_when_nobody_observes():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        request = Request((tf.reduce_sum(x * (1.0 + 2.0)),), (), (x,))
        seen = []
        observed = compile_step(request, session.compile_context, lambda name, made: seen.append(name))
        alone = compile_step(request, session.compile_context)
        assert seen and [n.kind for n in observed.parts[0].plan.nodes] == [n.kind for n in alone.parts[0].plan.nodes]


@pytest.mark.opencl
def test_without_optimization_its_stages_are_left_out():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0]) * 3.0
        off = tf.ConfigProto(graph_options=tf.GraphOptions(optimize=False))
        with tf.Session(config=off) as session:
            metadata = tf.RunMetadata()
            np.testing.assert_array_equal(session.run(x, run_metadata=metadata), [3.0, 6.0])
    optimizing = {stage.name for stage in STAGES if stage.optimizes}
    assert optimizing == {"sum repeated rows", "fold", "simplify", "cse"}
    assert not optimizing & {name for name, _ in metadata.passes}
