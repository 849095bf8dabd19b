"""TensorInfos of sparse tensors, and what is refused as a signature or in the wrong order."""

import pytest

import tfnb as tf


def test_sparse_tensors_in_tensor_infos():
    with tf.Graph().as_default():
        x = tf.sparse_placeholder(tf.float32, [42, 69], name="x")
        info = tf.saved_model.utils.build_tensor_info(x)
        assert info.coo_sparse.values_tensor_name == x.values.name
        assert [d.size for d in info.tensor_shape.dim] == [42, 69]
        found = tf.saved_model.utils.get_tensor_from_tensor_info(info)
        assert [found.indices, found.values, found.dense_shape] == [x.indices, x.values, x.dense_shape]


def test_names_that_are_not_there():
    with tf.Graph().as_default() as graph:
        info = tf.saved_model.utils.build_tensor_info(tf.constant(1.0))
        info.name = "blah:0"
        with pytest.raises(KeyError, match="blah"):
            tf.saved_model.utils.get_tensor_from_tensor_info(info)
        info.ClearField("name")
        with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding"):
            tf.saved_model.utils.get_tensor_from_tensor_info(info)
        with pytest.raises(KeyError, match="refers to an operation that is not in the graph"):
            graph.get_tensor_by_name("blah:0")


def test_misuse_of_a_builder_is_an_assertion(tmp_path):
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="must be called first"):
        builder.add_meta_graph(["a"])
    with pytest.raises(AssertionError, match="exists"):
        tf.saved_model.builder.SavedModelBuilder(str(tmp_path))
    bad = tf.saved_model.signature_def_utils.build_signature_def({"x": tf.TensorInfo(name="x:0")})
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0).initializer.run()
        with pytest.raises(AssertionError, match="name and dtype fields"):
            builder.add_meta_graph_and_variables(session, ["a"], {"s": bad})
