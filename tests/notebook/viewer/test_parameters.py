"""The table of parameters counts those of the model; what optimizers keep stands apart."""

import pytest

import tfnb as tf
from tfnb.notebook.viewer.sources import sources_of
from tfnb.notebook.viewer.state import ViewState

OPTIMIZERS = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(),
}


def tables(what):
    return {table["name"]: table["rows"] for table in ViewState(sources_of(what)).catalogue()["parameters"]}


@pytest.mark.parametrize("scope", ["", "train"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_model_is_counted_without_what_optimizers_keep(tmp_path, name, scope):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8])
        hidden = tf.layers.batch_normalization(tf.layers.dense(x, 5), training=True)
        loss = tf.reduce_mean(tf.layers.dense(hidden, 2))
        step = tf.train.get_or_create_global_step()
        with tf.variable_scope(scope) if scope else tf.name_scope(None):
            OPTIMIZERS[name]().minimize(loss, step)
            tf.train.ExponentialMovingAverage(0.99, step).apply(tf.trainable_variables())
    with tf.summary.FileWriter(tmp_path / "run", graph):
        pass
    model = (8 * 5 + 5) + 4 * 5 + (5 * 2 + 2)  # the moving mean and variance belong to the model
    for found in (tables(graph), tables(tmp_path)):
        (own, rows), (rest, others) = found.items()
        assert rows[0] == ("(all)", 0, "", model)
        assert rest.startswith(f"{own}: slots of optimizers")
        names = {row[0] for row in others}
        assert "global_step" in names and "dense/kernel/ExponentialMovingAverage" in str(names)
        assert not {"dense/kernel", "batch_normalization/moving_mean"} & {r[0] for r in others if r[2]}


def test_variables_that_only_look_like_slots_are_of_the_model():
    with tf.Graph().as_default() as graph:
        tf.get_variable("embedding", [7, 3])
        tf.get_variable("embedding/bias", [3])  # below a variable, but trained and of another shape
        tf.get_variable("w", [])
        tf.get_variable("w/twin", [])  # trained
    ((_, rows),) = tables(graph).items()
    assert rows[0][3] == 7 * 3 + 3 + 1 + 1
