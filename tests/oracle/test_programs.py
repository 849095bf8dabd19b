"""The programs of tests/programs run unchanged under both libraries; losses agree step by step.

As the papers' authors ported their models: from the same initial values, with a learning rate of zero first (what the
graph computes), then training (what the optimizers do).
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tfnb

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
import loading

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.filterwarnings("ignore")
WITH_KERAS = importlib.util.find_spec("tf_keras") is not None
STILL, STEPS = 3, 10
# TensorFlow's moving average reads a variable through an alias made before the step, and sees what the step wrote;
# ours sees what the read says. (Built by tfnb, the average reads after the step.)
ALIASED = {"decayed_averages"}
# Steps in which a tiny difference may choose another path, so that later losses drift: compared more loosely.
LOOSE = {"boltzmann": 2e-3}


@pytest.fixture(scope="module", autouse=True)
def graphs_of_1_x():
    """TensorFlow's variables, shapes and control flow as they were."""
    tf1.disable_v2_tensorshape()
    tf1.disable_resource_variables()
    tf1.disable_control_flow_v2()
    yield
    tf1.enable_control_flow_v2()
    tf1.enable_resource_variables()
    tf1.enable_v2_tensorshape()


def losses(tf, program, rate, steps, values=None):
    """The losses of the steps, what the collection `fetch` holds at the end, and the initial values by name."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        loss, train, feeds = program.build(tf, loading.Data(), rate)
        session.run(tf.global_variables_initializer())
        variables = {v.op.name: v for v in tf.global_variables()}
        names = [v.op.name for v in tf.trainable_variables()]
        if values is None:
            values = dict(session.run({k: v.value() for k, v in variables.items()}))
        assert set(names) <= set(values), "the variables have other names"
        for k in sorted(variables):
            if k in values:
                variables[k].load(values[k], session)
        found = [session.run([loss, train], feeds(k))[0] for k in range(steps)]
        more = session.run(tf.get_collection("fetch"), feeds(steps))
        return np.array(found), more, values


@pytest.mark.parametrize("name", loading.NAMES)
def test_losses_agree(name):
    program = loading.load(name)
    if not WITH_KERAS and any(w in Path(program.__file__).read_text() for w in ("rnn", "tf.layers")):
        pytest.skip("TensorFlow's layers and cells need tf_keras")
    tolerance = LOOSE.get(name, 1e-4)
    values = None
    for rate, steps in ((0.0, STILL), (program.RATE, STEPS)):
        ours, fetched, values = losses(tfnb, program, rate, steps, values)
        theirs, wanted, _ = losses(tf1, program, rate, steps, values)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, err_msg=f"rate {rate}")
        for a, b in zip(fetched, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        if rate:
            assert len(np.unique(ours)) > 1


def exported(program):
    """TensorFlow's graph of a program as bytes; names of its parts, initial values, losses and the last fetches."""
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        tf1.set_random_seed(3)
        # what 1.x drew initial values from when nothing was said; 2.x has ops of its own for that
        with tf1.variable_scope(tf1.get_variable_scope(), initializer=tf1.glorot_uniform_initializer()):
            loss, train, feeds = program.build(tf1, loading.Data(), program.RATE)
        init = tf1.global_variables_initializer()
        fetches = tf1.get_collection("fetch")
        session.run(init)
        values = session.run({v.op.name: v.value() for v in tf1.global_variables()})
        names = (loss.name, train.name, init.name, [t.name for t in fetches])
        batches = [{t.name: a for t, a in feeds(k).items()} for k in range(STILL + 1)]
        found = [session.run([loss, train], feeds(k))[0] for k in range(STILL)]
        return (
            graph.as_graph_def().SerializeToString(),
            names,
            values,
            batches,
            found,
            session.run(fetches, feeds(STILL)),
        )


@pytest.mark.parametrize("name", loading.NAMES)
def test_graphs_that_tensorflow_wrote_run(name):
    program = loading.load(name)
    if not WITH_KERAS and any(w in Path(program.__file__).read_text() for w in ("rnn", "tf.layers")):
        pytest.skip("TensorFlow's layers and cells need tf_keras")
    text, (loss, train, init, fetches), values, batches, wanted, last = exported(program)
    definition = tfnb.GraphDef()
    definition.ParseFromString(text)
    with tfnb.Graph().as_default() as graph, tfnb.Session() as session:
        tfnb.import_graph_def(definition, name="")
        session.run(graph.get_operation_by_name(init))
        for k, value in values.items():
            assign = graph.get_operation_by_name(f"{k}/Assign")
            session.run(assign, {assign.inputs[1]: value})
        step = graph.as_graph_element(train)
        ours = [session.run([loss, step], {n: np.asarray(a) for n, a in feeds.items()})[0] for feeds in batches[:STILL]]
        np.testing.assert_allclose(ours, wanted, rtol=LOOSE.get(name, 1e-4))
        if name in ALIASED:
            return
        for a, b in zip(session.run(fetches, batches[STILL]), last, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
