"""Checkpoints and models that TensorFlow wrote."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

VALUES = {
    "scope/floats": np.arange(6, dtype="f").reshape(2, 3),
    "scope/doubles": np.array([1.5, -2.5]),
    "scalar": np.array(7, np.int64),
    "flags": np.array([True, False]),
    "halfs": np.array([0.5, 2.0], np.float16),
    "complex": np.array([[1 + 2j, 3 - 1j]], np.complex64),
    "texts": np.array([b"", b"\x00bytes" * 50, "grün".encode()], object),
    "brain": np.array([1.0, -0.5], tf.bfloat16.np),
    **{f"many/v{k:03d}": np.full(k % 5, k, np.int32) for k in range(300)},
}


def saved_by_theirs(folder, sharded=False):
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, value in VALUES.items():
            tf1.get_variable(name, initializer=tf1.constant(value), use_resource=False)
        session.run(tf1.global_variables_initializer())
        return tf1.train.Saver(sharded=sharded).save(session, str(folder / "model"), 5)


@pytest.mark.parametrize("sharded", [False, True])
def test_reads_their_checkpoints(tmp_path, sharded):
    path = saved_by_theirs(tmp_path, sharded)
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert dict(tf.train.list_variables(path)) == {k: list(v.shape) for k, v in VALUES.items()}
    for name, value in VALUES.items():
        found = tf.train.load_variable(path, name)
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value, err_msg=name)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("scope/floats", [2, 3])
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(v), VALUES["scope/floats"])


def test_damage_is_seen(tmp_path):
    path = saved_by_theirs(tmp_path)
    rng, seen = np.random.default_rng(0), 0
    for file in (tmp_path / "model-5.index", tmp_path / "model-5.data-00000-of-00001"):
        data = file.read_bytes()
        for place in rng.choice(len(data), 30, replace=False):
            damaged = bytearray(data)
            damaged[place] ^= 32
            file.write_bytes(damaged)
            try:
                for name in ("scope/floats", "texts", "many/v299"):
                    np.testing.assert_array_equal(tf.train.load_variable(path, name), VALUES[name])
            except (errors.DataLossError, errors.NotFoundError):
                seen += 1
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(errors.DataLossError):
            for name in VALUES:
                tf.train.load_variable(path, name)
        file.write_bytes(data)
    assert seen >= 25  # the rest hit other tensors


def test_their_saved_model(tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [None, 2], name="x")
        y = tf1.matmul(x, tf1.get_variable("w", initializer=[[1.0], [2.0]], use_resource=False))
        session.run(tf1.global_variables_initializer())
        tf1.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "m")
        found = meta.signature_def["serving_default"]
        got = session.run(found.outputs["y"].name, {found.inputs["x"].name: [[3.0, 4.0]]})
    assert got.tolist() == [[11.0]]


def test_their_meta_graph_and_checkpoint(tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [], name="x")
        v = tf1.get_variable("v", initializer=3.0, use_resource=False)
        tf1.multiply(x, v, name="y")
        session.run(tf1.global_variables_initializer())
        path = tf1.train.Saver().save(session, str(tmp_path / "m"), 1)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        assert session.run("y:0", {"x:0": 2.0}) == 6.0
        ours = saver.save(session, str(tmp_path / "ours"), 2)
        session.run(tf.global_variables()[0].assign(0.0))
        saver.restore(session, ours)
        assert session.run("y:0", {"x:0": 2.0}) == 6.0
