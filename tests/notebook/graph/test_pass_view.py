"""The compiler's stages as text and HTML; parameters by scope."""

import re

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.opencl
def test_stages_and_generated_code():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        v = tf.Variable(tf.ones([4]), name="v")
        y = tf.reduce_sum(tf.exp(x * v + (1.0 + 2.0)), name="y")
        before = session.run(tf.report_uninitialized_variables())
        view = tf.show_passes(session, y, [x])
        assert list(session.run(tf.report_uninitialized_variables())) == list(before)  # nothing ran
        names = [name for name, _ in view.stages]
        assert names[0] == "prune" and {"expand", "fold", "simplify", "place"} <= set(names)
        assert "fold" in repr(view) and view.clusters and not view.clusters[0].sources
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.ones((2, 4))})
        view = tf.show_passes(session, y, [x])
        (cluster,) = view.clusters
        assert any("__kernel" in s for s in cluster.sources) and cluster.launches
        html = view._repr_html_()
        assert "generated OpenCL" in html and "__kernel" in html
        assert "y = Sum(" in html
        # The buttons name the stages; their list as text is folded as a whole.
        assert re.search(
            r"<details class='tfnb-passes'><summary>[^<]*text</summary>.*prune: .*</details>$", html, re.DOTALL
        )
    with pytest.raises(Exception, match=r"needed a tf\.Session"):
        tf.show_passes(None, y)


def test_parameters_by_scope():
    with tf.Graph().as_default() as graph:
        with tf.variable_scope("net"):
            for k in (1, 2):
                tf.get_variable(f"w{k}", [3, 4 * k])
            tf.get_variable("fixed", [100], trainable=False)
        tf.Variable(tf.zeros([]), name="scale")
    found = tf.count_parameters(graph)
    assert found.total == 12 + 24 + 1
    assert ("net", 1, 36) in found.scopes and ("w2", 2, 24) in found.scopes
    assert tf.count_parameters(graph, "variables").total == 137
    assert "36" in found._repr_html_() and "net" in repr(found)


@pytest.mark.opencl
def test_stages_as_graphs():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        v = tf.Variable(tf.ones([4]), name="v")
        host = tf.py_func(lambda a: a, [tf.exp(x * v, name="first")], tf.float32, name="host")
        y = tf.reduce_sum(tf.exp(host), name="y")
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.ones((2, 4))})
        view = tf.show_passes(session, y, [x])
    live = view._live
    names = [*(name for name, _ in view.stages), "clusters"]
    for k, (_, graph) in enumerate(view.stages):
        message, buffers = live.answer({"type": "graph", "stage": k})
        assert message["stages"] == names and len(buffers[0]) > 100
        assert live.model(k).nodes[0] == len(graph.nodes)
    message, _ = live.answer({"type": "graph"})
    assert message["stage"] == len(names) - 1
    model = live.model(message["stage"])
    labels = [model.tree.label[b] for b in model.tree.parts(0)]
    clusters = [c.name for c in view.clusters]
    assert len(clusters) == 2 and all(any(label.startswith(c) for label in labels) for c in clusters)
    first = next(b for b in range(len(model.tree.parent)) if model.tree.path(b).endswith("/first"))
    card = live.answer({"type": "card", "box": first})[0]["card"]
    code = dict(card["code"])
    assert "__kernel" in code["generated OpenCL"] and "groups" in code["launches"]
    # Every value that goes from a cluster to another node is an edge.
    source, target = model.tree.leaf[model.table.source], model.tree.leaf[model.table.target]
    called = {
        (model.tree.path(a).split("/")[-1], model.tree.path(b).split("/")[-1])
        for a, b in zip(source, target, strict=True)
    }
    assert ("first", "host") in called
    for nonsense in ({}, {"type": "card"}, {"type": "card", "box": -1}, {"type": "graph", "stage": 99}, {"stage": "x"}):
        assert live.answer(nonsense) is None
    assert "<svg" in view._repr_html_()
