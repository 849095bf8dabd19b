"""The compiler's stages as text and HTML; parameters by scope."""

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
