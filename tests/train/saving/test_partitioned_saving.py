"""Partitioned variables in checkpoints, under optimizers and in MetaGraphs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

TABLE = np.arange(28, dtype=np.float32).reshape(7, 4)


def table(n, axis=0, name="w", **kwargs):
    """A variable in n parts; 0: whole."""
    cut = tf.fixed_size_partitioner(n, axis) if n else None
    shape = None if "initializer" in kwargs else [7, 4]  # a constant has its own
    return tf.get_variable(name, shape, partitioner=cut, **kwargs)


def value(v, session):
    return session.run(tf.convert_to_tensor(v))


def saved(path, n, axis=0, sharded=False):
    """A checkpoint of `TABLE` and of an Adam slot, from n parts."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = table(n, axis, initializer=TABLE)
        adam = tf.train.AdamOptimizer(0.1)
        adam.apply_gradients([(tf.zeros(p.shape) + 1.0, p) for p in (v if n else [v])])
        session.run(tf.global_variables_initializer())
        for p in v if n else [v]:
            session.run(adam.get_slot(p, "m").assign(p * 2))
        return tf.train.Saver(sharded=sharded).save(session, str(path / "model"))


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize(("before", "after"), [((3, 0), (2, 0)), ((0, 0), (3, 1)), ((2, 1), (0, 0)), ((2, 1), (3, 0))])
def test_restored_in_other_parts(tmp_path, before, after, sharded):
    path = saved(tmp_path, *before, sharded=sharded)
    shapes = dict(tf.train.list_variables(path))
    assert shapes["w"] == [7, 4] == shapes["w/Adam"] == shapes["w/Adam_1"]
    assert not [name for name in shapes if "part_" in name]
    np.testing.assert_array_equal(tf.train.load_variable(path, "w"), TABLE)
    with tf.Graph().as_default(), tf.Session() as session:
        v = table(*after)
        step = tf.train.AdamOptimizer(0.1)
        step.minimize(tf.reduce_sum(tf.square(v)))
        tf.train.Saver(sharded=sharded).restore(session, path)
        np.testing.assert_array_equal(value(v, session), TABLE)
        slots = [session.run(step.get_slot(p, "m")) for p in (v if after[0] else [v])]
        np.testing.assert_array_equal(np.concatenate(slots, after[1]), TABLE * 2)


def test_names_in_a_mapping(tmp_path):
    v = table(2, initializer=TABLE)
    second = list(v)[1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver({"all": v, "listed": list(v), "only": second}).save(session, str(tmp_path / "model"))
        assert dict(tf.train.list_variables(path)) == {"all": [7, 4], "listed": [7, 4], "only": [3, 4]}
        np.testing.assert_array_equal(tf.train.load_variable(path, "only"), TABLE[4:])
        session.run(v.assign(TABLE * 0))
        tf.train.Saver({"only": second}).restore(session, path)
        np.testing.assert_array_equal(value(v, session)[3:], [TABLE[3] * 0, *TABLE[4:]])


def test_what_does_not_fit_is_refused_before_anything_is_assigned(tmp_path):
    path = saved(tmp_path, 2)
    with tf.Session() as session:
        v = tf.get_variable("w", [8, 4], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))
        session.run(tf.global_variables_initializer())
        for reshape in (False, True):
            with pytest.raises(errors.InvalidArgumentError, match=r"\(8, 4\) here, \(7, 4\)"):
                tf.train.Saver(reshape=reshape).restore(session, path)
        assert (value(v, session) == 1).all()


def test_a_damaged_part_hurts_only_who_reads_it(tmp_path):
    path = saved(tmp_path, 7)
    (shard,) = tmp_path.glob("model.data*")
    data = bytearray(shard.read_bytes())
    place = data.find(TABLE[6].tobytes())
    data[place] ^= 1
    shard.write_bytes(data)
    reader = tf.train.NewCheckpointReader(path)
    with pytest.raises(errors.DataLossError, match="checksum"):
        reader.get_tensor("w")
    with tf.Session() as session:
        first = table(2)._get_variable_list()[0]  # rows 0 to 3
        tf.train.Saver([first]).restore(session, path)
        np.testing.assert_array_equal(session.run(first), TABLE[:4])


def test_initialised_from_a_checkpoint(tmp_path):
    path = saved(tmp_path, 3)
    with tf.variable_scope("here"):
        v = table(2)
    other = tf.get_variable("other", [7, 4], partitioner=tf.fixed_size_partitioner(4))
    tf.train.init_from_checkpoint(path, {"/": "here/"})
    tf.train.init_from_checkpoint(path, {"w": other})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(value(v, session), TABLE)
        np.testing.assert_array_equal(value(other, session), TABLE)


def test_a_meta_graph_keeps_the_slices(tmp_path):
    with tf.Session() as session:
        table(3, initializer=TABLE)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta", import_scope="in").restore(session, path)
        assert [v.save_slice_info.spec for v in tf.global_variables()] == ["7 4 0,3:0,4", "7 4 3,2:0,4", "7 4 5,2:0,4"]
        assert {v.save_slice_info.full_name for v in tf.global_variables()} == {"in/w"}
        again = tf.train.Saver().save(session, str(tmp_path / "again"))
    np.testing.assert_array_equal(tf.train.load_variable(again, "in/w"), TABLE)


def curve(parts, make):
    x, y = tf.placeholder(tf.float32, [5, 7]), tf.placeholder(tf.float32, [5, 4])
    w = table(parts, initializer=tf.constant(TABLE / 28))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    step = make().minimize(loss, var_list=[w])
    rng = np.random.default_rng(0)
    feed = {x: rng.normal(size=[5, 7]), y: rng.normal(size=[5, 4])}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step], feed)[0] for _ in range(5)], value(w, session)


@pytest.mark.parametrize(
    "make", [lambda: tf.train.AdamOptimizer(0.1), lambda: tf.train.FtrlOptimizer(0.1)], ids=["Adam", "Ftrl"]
)
def test_optimizers_do_the_same_in_parts(make):
    found = []
    for parts in (0, 3):
        with tf.Graph().as_default():
            found.append(curve(parts, make))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4, atol=1e-6)


def test_moving_averages_of_parts(tmp_path):
    v = table(2, initializer=TABLE)
    average = tf.train.ExponentialMovingAverage(0.5)
    update = average.apply()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign(TABLE * 3))
        session.run(update)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "w/ExponentialMovingAverage"), TABLE * 2)
