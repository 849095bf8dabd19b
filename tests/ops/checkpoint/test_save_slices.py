"""Save, SaveSlices, Restore and RestoreSlice, as MetaGraphs of 2015 and 2016 hold them."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

RAW = tf.raw_ops


def test_shards_are_found_by_their_pattern(tmp_path):
    paths = [f"{tmp_path}/m-{i:05d}-of-00002" for i in range(2)]
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(RAW.SaveSlices(filename=paths[0], tensor_names=["a"], shapes_and_slices=["3 2 -:-"], data=[rows]))
        sess.run(RAW.Save(filename=paths[1], tensor_names=["b"], data=[np.int32(7)]))
        pattern = f"{tmp_path}/m-?????-of-00002"
        whole = RAW.Restore(file_pattern=pattern, tensor_name="b", dt=tf.int32)
        part = RAW.RestoreSlice(file_pattern=pattern, tensor_name="a", shape_and_slice="3 2 1,2:-", dt=tf.float32)
        assert sess.run(whole) == 7
        assert sess.run(part).tolist() == rows[1:].tolist()
        with pytest.raises(tf.errors.InvalidArgumentError, match="b is int32"):
            sess.run(RAW.Restore(file_pattern=pattern, tensor_name="b", dt=tf.float32))
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(RAW.Restore(file_pattern=pattern, tensor_name="c", dt=tf.float32))


def test_a_saver_with_the_old_operation_saves_and_restores(tmp_path):
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        meta = tf.train.export_meta_graph(saver_def=tf.train.Saver().as_saver_def())
    for node in meta.graph_def.node:
        if node.op == "SaveV2":
            node.op = "SaveSlices"
            node.attr["T"].CopyFrom(node.attr["dtypes"])
            del node.attr["dtypes"]
    meta.saver_def.version = 1
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(meta)
        sess.run("v/Assign")
        path = saver.save(sess, f"{tmp_path}/m")
        sess.run(tf.assign(tf.global_variables()[0], [0.0, 0.0]))
        saver.restore(sess, path)
        assert sess.run("v:0").tolist() == [1.0, 2.0]
