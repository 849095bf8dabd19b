"""Strategies of several replicas train as one replica with the whole batch does."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

distribute = tf.distribute
RNG = np.random.RandomState(0)
X = RNG.rand(8, 3).astype("float32")
Y = X.sum(1, keepdims=True)
CONFIG = tf.ConfigProto(device_count={"CPU": 2})
TWO = ["/cpu:0", "/cpu:1"]


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def session():
    return tf.Session(config=CONFIG)


def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).repeat()


def mean_loss(x, y):
    start = tf.constant_initializer(np.linspace(-1, 1, 12).reshape(3, 4))
    hidden = tf.layers.dense(x, 4, tf.tanh, kernel_initializer=start)
    weights = tf.get_variable("w", [4, 1], initializer=tf.ones_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(hidden, weights) - y))


def trained(strategy, optimizer, steps=3):
    """(losses, weights, names of variables, global step) after some steps."""
    with tf.Graph().as_default():
        with strategy.scope():
            iterator = strategy.make_dataset_iterator(data())

            def step(batch):
                loss = mean_loss(*batch) / strategy.num_replicas_in_sync
                count = tf.train.get_or_create_global_step()
                with tf.control_dependencies([optimizer().minimize(loss, count)]):
                    return tf.identity(loss)

            loss = strategy.reduce("sum", strategy.experimental_run(step, iterator))
        with session() as sess:
            sess.run([tf.global_variables_initializer(), iterator.initialize()])
            losses = [sess.run(loss) for _ in range(steps)]
            weights = sess.run(tf.trainable_variables())
            return losses, weights, [v.name for v in tf.global_variables()], sess.run(tf.train.get_global_step())


@pytest.mark.parametrize(
    "optimizer",
    [lambda: tf.train.GradientDescentOptimizer(0.2), lambda: tf.train.AdamOptimizer(0.1)],
    ids=["descent", "adam"],
)
def test_two_replicas_train_as_one(optimizer):
    one = trained(distribute.OneDeviceStrategy("/cpu:0"), optimizer)
    for strategy in (
        distribute.MirroredStrategy(TWO),
        distribute.MirroredStrategy(TWO, cross_device_ops=distribute.HierarchicalCopyAllReduce(num_packs=2)),
        distribute.MirroredStrategy(TWO, cross_device_ops=distribute.ReductionToOneDevice("/cpu:1")),
        distribute.experimental.CentralStorageStrategy(TWO, "/cpu:1"),
    ):
        two = trained(strategy, optimizer)
        np.testing.assert_allclose(two[0], one[0], rtol=1e-4)
        for a, b in zip(two[1], one[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
        assert two[2:] == one[2:]


def test_the_parts_of_replicas_are_on_their_devices():
    strategy = distribute.MirroredStrategy(TWO)
    with strategy.scope():
        results = strategy.experimental_run_v2(lambda: tf.constant(1.0, name="here") * 2)
    devices = [t.op.device for t in strategy.experimental_local_results(results)]
    assert [d[-5:].lower() for d in devices] == ["cpu:0", "cpu:1"]
    assert [t.op.name for t in results.values] == ["mul", "replica_1/mul"]


def test_layers_share_their_variables_whatever_they_are_called():
    strategy = distribute.MirroredStrategy(TWO)

    def model():
        x = tf.ones([2, 3])
        x = tf.layers.dense(tf.layers.dense(x, 4), 2)
        return tf.keras.layers.Dense(1)(x) + tf.Variable(1.0, name="own")

    with strategy.scope():
        results = strategy.experimental_run_v2(model)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names == [
        "dense/kernel",
        "dense/bias",
        "dense_1/kernel",
        "dense_1/bias",
        "dense_2/kernel",
        "dense_2/bias",
        "own",
    ]
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b = sess.run(list(results.values))
    np.testing.assert_array_equal(a, b)


def test_sums_and_means_of_replicas():
    strategy = distribute.MirroredStrategy(TWO)

    def value():
        number = distribute.get_replica_context().replica_id_in_sync_group
        return tf.constant([1.0, 2.0, 3.0])[: 2 + number] * (number + 1)

    with strategy.scope():
        vectors = strategy.experimental_run_v2(value)
        found = {
            "sum": strategy.reduce(distribute.ReduceOp.SUM, vectors, axis=0),
            "mean": strategy.reduce("MEAN", vectors, axis=0),
        }
        context = strategy.experimental_run_v2(
            lambda: distribute.get_replica_context().all_reduce(distribute.ReduceOp.MEAN, {"a": tf.reduce_sum(value())})
        )
    found["all"] = context["a"] if isinstance(context["a"], tf.Tensor) else context["a"].values[1]
    with session() as sess:
        values = sess.run(found)
    assert values == {"sum": 3 + 12, "mean": 15 / 5, "all": 7.5}
    with pytest.raises(errors.InvalidArgumentError, match="not per replica"):
        strategy.reduce("SUM", 3.0)
    with pytest.raises(errors.InvalidArgumentError, match="SUM or MEAN"):
        strategy.reduce("MAX", vectors)


def test_sparse_gradients_stay_sparse():
    strategy = distribute.MirroredStrategy(TWO)
    with strategy.scope():
        table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())

        def step():
            number = distribute.get_replica_context().replica_id_in_sync_group
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [number, 4]))
            return tf.train.GradientDescentOptimizer(1.0).minimize(loss)

        train = strategy.experimental_run_v2(step)
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_array_equal(sess.run(table)[:, 0], [0, 0, 1, 1, -1])
    assert any(op.type == "ScatterSub" for op in tf.get_default_graph().get_operations())


def test_contexts():
    strategy = distribute.MirroredStrategy(TWO)
    assert not distribute.has_strategy()
    assert distribute.get_replica_context() is not None
    assert not distribute.in_cross_replica_context()
    seen = []
    with strategy.scope():
        assert distribute.get_strategy() is strategy
        assert distribute.get_replica_context() is None
        assert distribute.in_cross_replica_context()

        def function():
            context = distribute.get_replica_context()
            seen.append((context.replica_id_in_sync_group, context.devices, distribute.in_cross_replica_context()))
            context.merge_call(lambda s, v: seen.append((s, v.values)), (context.replica_id_in_sync_group,))

        strategy.experimental_run_v2(function)
    assert seen == [(0, ("/cpu:0",), False), (1, ("/cpu:1",), False), (strategy, (0, 1))]
    distribute.experimental_set_strategy(strategy)
    try:
        assert distribute.get_strategy() is strategy
    finally:
        distribute.experimental_set_strategy(None)
    assert not distribute.has_strategy()
    assert distribute.get_loss_reduction() is distribute.ReduceOp.SUM


def test_an_error_in_a_replica_is_raised_and_ends_the_others():
    strategy = distribute.MirroredStrategy(TWO)

    def fails():
        if distribute.get_replica_context().replica_id_in_sync_group == 1:
            raise KeyError("second")
        return distribute.get_replica_context().merge_call(lambda s: 1)

    with strategy.scope():
        with pytest.raises(KeyError, match="second"):
            strategy.experimental_run_v2(fails)

        def alone():
            context = distribute.get_replica_context()
            return context.merge_call(lambda s: 1) if context.replica_id_in_sync_group else 0

        with pytest.raises(errors.FailedPreconditionError, match="merge_call"):
            strategy.experimental_run_v2(alone)


def test_batches_are_divided_or_dealt_out():
    dataset = tf.data.Dataset.range(5).batch(5).repeat(2)
    strategy = distribute.MirroredStrategy(TWO)
    iterator = strategy.experimental_distribute_dataset(dataset).make_initializable_iterator()
    first = strategy.experimental_local_results(iterator.get_next())
    contrib = tf.contrib.distribute.MirroredStrategy(TWO)
    dealt = contrib.make_dataset_iterator(tf.data.Dataset.range(6).batch(3))
    second = contrib.experimental_local_results(dealt.get_next())
    context = distribute.InputContext(num_replicas_in_sync=2)
    assert context.get_per_replica_batch_size(6) == 3
    with pytest.raises(errors.InvalidArgumentError, match="divisible"):
        context.get_per_replica_batch_size(5)
    with session() as sess:
        sess.run([iterator.initializer, *dealt.initialize()])
        assert [list(v) for v in sess.run(first)] == [[0, 1], [2, 3, 4]]
        assert sorted(list(v) for v in sess.run(second)) == [[0, 1, 2], [3, 4, 5]]


def test_devices_that_are_none():
    with pytest.raises(errors.InvalidArgumentError, match="twice"):
        distribute.MirroredStrategy(["/cpu:0", "/cpu:0"])
    with pytest.raises(errors.InvalidArgumentError, match="empty"):
        distribute.MirroredStrategy([])
    with pytest.raises(AttributeError, match="vendor"):
        _ = distribute.NcclAllReduce


def test_steps_of_contrib():
    strategy = tf.contrib.distribute.MirroredStrategy(TWO)
    weight = []

    def loss(context, inputs):
        assert context.is_last_step in (True, False)
        weight.append(tf.get_variable("w", [], initializer=tf.zeros_initializer()))
        return tf.reduce_sum(inputs) * weight[-1]

    step = tf.contrib.distribute.StandardSingleLossStep(
        lambda: tf.data.Dataset.from_tensors([1.0]).repeat(),
        loss,
        tf.train.GradientDescentOptimizer(0.5),
        strategy,
    )
    with session() as sess:
        train = step()
        sess.run([tf.global_variables_initializer(), *step.initialize()])
        for _ in range(3):
            sess.run(train)
        assert sess.run(weight[0]) == -3
    with pytest.raises(errors.InvalidArgumentError, match="session"):
        tf.contrib.distribute.Monitor(step)


def test_creators_of_variables():
    made = []

    def named(next_creator, **kwargs):
        made.append(kwargs["name"])
        return next_creator(**{**kwargs, "trainable": False})

    with tf.variable_creator_scope(named), tf.variable_creator_scope(lambda make, **kwargs: make(**kwargs)):
        variable = tf.Variable(1.0, name="a")
        tf.get_variable("b", [])
    assert made == ["a", "b"]
    assert tf.trainable_variables() == []
    assert isinstance(variable, tf.Variable)


def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer()))
    train = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, features[:, :1])}
    return tf.estimator.EstimatorSpec(mode, {"x": features}, loss, train, metrics)


def test_an_estimator_of_two_replicas_trains_as_one_with_the_whole_batch(tmp_path):
    found = []
    for devices, size in ((None, 8), (TWO, 4)):
        strategy = None if devices is None else distribute.MirroredStrategy(devices)
        config = tf.estimator.RunConfig(
            str(tmp_path / str(size)), session_config=CONFIG, train_distribute=strategy, eval_distribute=strategy
        )

        def batches(size=size):
            return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size).repeat(3)

        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(batches)
        found.append((estimator.evaluate(batches), estimator.get_variable_value("dense/kernel")))
    (one, w1), (two, w2) = found
    np.testing.assert_allclose(w2, w1, rtol=1e-4)
    assert one["global_step"] == two["global_step"] == 3
    np.testing.assert_allclose([two["loss"], two["error"]], [one["loss"], one["error"]], rtol=1e-4)
    with pytest.raises(errors.InvalidArgumentError, match="data"):
        estimator.train(lambda: (tf.constant(X), tf.constant(Y)), steps=1)
