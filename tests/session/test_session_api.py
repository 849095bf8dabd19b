"""What programs of TensorFlow read of a session and of the results of a traced run, and how misuse is told."""

import pytest

import tfnb as tf


def test_graph_def_of_the_session():
    with tf.Graph().as_default():
        tf.constant([[1, 2]], name=b"c")
        plain = tf.Session()
        assert "_output_shapes" not in plain.graph_def.node[0].attr
        config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
        assert "_output_shapes" in tf.Session(config=config).graph_def.node[0].attr
        assert plain.run(b"c:0").tolist() == [[1, 2]]


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="target must be a string"):
        tf.Session(37)
    with pytest.raises(TypeError, match=r"graph must be a tf\.Graph"):
        tf.Session(graph=37)
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("INVALID_TARGET")


def test_an_empty_graph_is_refused():
    with tf.Session(graph=tf.Graph()) as session, pytest.raises(RuntimeError, match="The Session graph is empty"):
        session.run([])


def test_blocks_of_default_sessions_nest():
    with tf.Graph().as_default():
        outer, inner = tf.Session(), tf.Session()
        a, b = outer.as_default(), inner.as_default()
        a.__enter__()
        b.__enter__()
        with pytest.raises(AssertionError, match="Nesting violated"):
            a.__exit__(None, None, None)
        b.__exit__(None, None, None)
        a.__exit__(None, None, None)
        outer.close()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
            outer.run(tf.constant(1))


def test_an_abandoned_block_of_a_graph_changes_nothing():
    graph = tf.Graph()
    graph.as_default().__enter__()
    try:
        with tf.Graph().as_default() as other:
            assert tf.get_default_graph() is other
        assert tf.get_default_graph() is graph
    finally:
        tf.get_default_graph().as_default().__exit__(None, None, None)


def test_a_traced_run_sets_fields():
    with tf.Graph().as_default(), tf.Session() as session:
        x, metadata = tf.constant(1.0) + 2.0, tf.RunMetadata()
        session.run(x, run_metadata=metadata)
        assert not metadata.HasField("step_stats")
        session.run(x, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert metadata.HasField("step_stats")
        assert not metadata.HasField("cost_graph")
        other = tf.RunMetadata()
        other.ParseFromString(metadata.SerializeToString())
        assert [t.name for t in other.step_stats] == [t.name for t in metadata.step_stats]
        with pytest.raises(ValueError, match="no field 'steps'"):
            metadata.HasField("steps")


@pytest.mark.parametrize(
    ("options", "folded"),
    [
        ({}, True),
        ({"opt_level": tf.OptimizerOptions.L0}, False),
        ({"opt_level": tf.OptimizerOptions.L0, "do_constant_folding": True}, True),
        ({"global_jit_level": tf.OptimizerOptions.ON_1}, True),
    ],
)
def test_optimizer_options(options, folded):
    config = tf.ConfigProto(use_per_session_threads=True)
    config.session_inter_op_thread_pool.add(num_threads=2)
    for name, value in options.items():
        setattr(config.graph_options.optimizer_options, name, value)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        metadata = tf.RunMetadata()
        session.run(tf.constant(1.0) + 2.0, run_metadata=metadata)
        assert any(stage == "fold" for stage, _ in metadata.passes) is folded
