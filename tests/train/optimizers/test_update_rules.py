"""Optimizers as users drive them: slots, steps, gates, errors. Their numbers: tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_minimize_counts_steps():
    v = tf.Variable([3.0, -4.0])
    step = tf.train.get_or_create_global_step()
    assert tf.train.get_or_create_global_step() is step is tf.train.get_global_step()
    opt = tf.train.GradientDescentOptimizer(0.5)
    train = opt.minimize(tf.reduce_sum(v**2) / 2.0, global_step=step, name="step_down")
    assert train.name == "step_down"
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        np.testing.assert_allclose(session.run(v), [3 / 8, -4 / 8])
        assert tf.train.global_step(session, step) == 3


def test_slots():
    w, b = tf.Variable(tf.ones([2, 2]), name="w"), tf.Variable([1.0], name="b")
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(tf.reduce_sum(w) + tf.reduce_sum(b), var_list=[w])
    assert opt.get_slot_names() == ["momentum"]
    assert opt.get_slot(w, "momentum").name == "w/Momentum:0"
    assert opt.get_slot(b, "momentum") is None
    assert opt.get_slot(w, "nothing") is None
    assert opt.variables() == [opt.get_slot(w, "momentum")]
    assert tf.trainable_variables() == [w, b]
    assert tf.train.AdamOptimizer().get_name() == "Adam"


def test_names_of_slots_within_scopes():
    with tf.variable_scope("a"):
        v = tf.get_variable("w", [2])
        with tf.name_scope("train"):
            tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v * v))
    with tf.name_scope("n"):
        v = tf.Variable([1.0, 2.0], name="w")
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    # what TensorFlow 1.15 names them
    scoped = ["a/w", "a/train/beta1_power", "a/train/beta2_power", "a/a/w/Adam", "a/a/w/Adam_1", "a/a/w/Momentum"]
    named = ["n/w", "n/beta1_power", "n/beta2_power", "n/w/Adam", "n/w/Adam_1"]
    assert [v.op.name for v in tf.global_variables()] == scoped + named


def test_compute_then_apply():
    w, unused = tf.Variable([1.0, 2.0]), tf.Variable(5.0)
    opt = tf.train.GradientDescentOptimizer(1.0)
    pairs = opt.compute_gradients(tf.reduce_sum(w * w))
    assert [v for _, v in pairs] == [w, unused]
    assert pairs[1][0] is None
    train = opt.apply_gradients((tf.clip_by_value(g, -3.0, 3.0), v) for g, v in pairs if g is not None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(w), [-1.0, -1.0])
        assert session.run(unused) == 5.0


@pytest.mark.parametrize("arranged", [lambda a, b: {"x": a, "y": b}.values(), lambda a, b: {"x": a, "y": [b]}])
def test_variables_may_be_given_as_a_dict_or_its_values(arranged):
    a, b = tf.Variable(3.0), tf.Variable(5.0)
    pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(a * b, arranged(a, b))
    assert [v for _, v in pairs] == [a, b]
    with pytest.raises(errors.DTypeError, match="is not a variable"):
        tf.train.GradientDescentOptimizer(0.1).compute_gradients(a * b, {a})


def test_hyperparameters_may_be_tensors_or_callables():
    rate = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(1.0), tf.Variable(np.float64(1.0))
    a = tf.train.GradientDescentOptimizer(rate).minimize(v + 0.0)
    b = tf.train.AdamOptimizer(lambda: 0.25).minimize(w + 0.0, var_list=[w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(a, {rate: 0.5})
        session.run(b)
        assert session.run(v) == 0.5
        np.testing.assert_allclose(session.run(w), 0.75, rtol=1e-6)


def test_all_gradients_before_any_update():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    opt = tf.train.GradientDescentOptimizer(1.0)
    train = opt.minimize(a * b, gate_gradients=opt.GATE_GRAPH)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([a, b]) == [-1.0, 1.0]
        session.run(train)
        assert session.run([a, b]) == [-2.0, 2.0]


@pytest.mark.parametrize("name", ["GradientDescent", "Adagrad", "Adam", "RMSProp", "Ftrl"])
def test_gradients_of_a_step_see_one_version_of_the_variables(name):
    """Default gating: the update of one layer must not show in another layer's gradient."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(4, 4)).astype(np.float32) for _ in range(4)]
    data = rng.normal(size=(3, 4)).astype(np.float32)
    layers = [tf.Variable(w) for w in weights]
    h = tf.constant(data)
    for w in layers:
        h = tf.tanh(tf.matmul(h, w))
    loss = tf.reduce_sum(h * h)
    grads = tf.gradients(loss, layers)
    train = getattr(tf.train, f"{name}Optimizer")(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        alone = session.run(grads)
        together = session.run([*grads, train])[:-1]
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_sparse_updates_touch_only_the_rows_read():
    table = tf.Variable(np.ones((5, 2), np.float32))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [3, 1, 3]))
    opt = tf.train.AdagradOptimizer(1.0, initial_accumulator_value=1.0)
    train = opt.minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(opt.get_slot(table, "accumulator"))[:, 0], [1, 2, 1, 5, 1])
        expected = [1, 1 - 1 / 2**0.5, 1, 1 - 2 / 5**0.5, 1]
        np.testing.assert_allclose(session.run(table)[:, 1], expected, rtol=1e-6)


def test_a_constraint_holds_after_each_step():
    dense = tf.Variable([1.0, 2.0], constraint=lambda w: tf.clip_by_value(w, 0.5, 10.0))
    rows = tf.Variable([[1.0], [2.0]], constraint=lambda w: tf.clip_by_value(w, 0.5, 10.0))
    loss = tf.reduce_sum(dense) + tf.reduce_sum(tf.gather(rows, [0]))
    train = tf.train.GradientDescentOptimizer(5.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(dense), [0.5, 0.5])
        np.testing.assert_array_equal(session.run(rows)[:, 0], [0.5, 2.0])


def test_a_users_own_optimizer():
    class Signs(tf.train.Optimizer):
        def __init__(self, rate):
            super().__init__(False, "Signs")
            self.rate = rate

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "count", self._name)

        def _apply_dense(self, grad, var):
            count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
            return tf.group(var.assign_sub(self.rate * tf.sign(grad)), count)

    v = tf.Variable([5.0, -5.0], name="v")
    opt = Signs(0.5)
    train = opt.minimize(tf.reduce_sum(v**2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([train])
        session.run([train])
        np.testing.assert_array_equal(session.run(v), [4.0, -4.0])
        np.testing.assert_array_equal(session.run(opt.get_slot(v, "count")), [2, 2])


def _loss():
    return tf.reduce_sum(tf.Variable([1.0]) * 2.0)


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (
            lambda o: o.minimize(tf.constant(1.0)),
            errors.InvalidArgumentError,
        ),  # no variables at all
        (lambda o: o.minimize(3.0), errors.DTypeError),
        (lambda o: o.minimize(_loss(), var_list=[tf.constant(1.0)]), errors.DTypeError),
        (lambda o: o.minimize(_loss(), var_list=[tf.Variable(1)]), errors.InvalidArgumentError),
        (lambda o: o.minimize(_loss(), gate_gradients=7), errors.InvalidArgumentError),
        (lambda o: o.minimize(_loss(), var_list=[tf.Variable(1.0)]), errors.InvalidArgumentError),
        (lambda o: o.apply_gradients([(None, tf.Variable(1.0))]), errors.InvalidArgumentError),
        (lambda o: o.apply_gradients([(tf.constant(1.0), "v")]), errors.DTypeError),
        (lambda o: o.apply_gradients([(tf.zeros([3]), tf.Variable([1.0]))]), errors.ShapeError),
    ],
)
def test_errors(build, error):
    with pytest.raises(error):
        build(tf.train.GradientDescentOptimizer(0.1))


def test_bad_hyperparameters():
    for make in (
        lambda: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0),
        lambda: tf.train.FtrlOptimizer(0.1, learning_rate_power=1.0),
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
        lambda: tf.train.GradientDescentOptimizer(0.1, name=""),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            make()


@pytest.mark.parametrize(
    "optimizer",
    [
        "SGD",
        tf.train.GradientDescentOptimizer,
        lambda rate: tf.train.GradientDescentOptimizer(rate),
    ],
)
def test_optimize_loss(optimizer):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([3.0, 4.0], name="w")
    moved = tf.Variable(0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, moved.assign_add(1.0))
    loss = tf.contrib.layers.optimize_loss(
        tf.reduce_sum(w * w) / 2.0,
        step,
        1.0,
        optimizer,
        clip_gradients=1.0,
        gradient_multipliers={"w": 2.0},
        learning_rate_decay_fn=lambda rate, s: tf.train.exponential_decay(rate, s, 1, 0.5),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loss) == 12.5
        np.testing.assert_allclose(session.run(w), [2.4, 3.2], rtol=1e-6)
        session.run(loss)
        np.testing.assert_allclose(session.run(w), [2.1, 2.8], rtol=1e-6)
        assert session.run([step, moved]) == [2, 2.0]


def test_optimizers_by_name():
    classes = tf.contrib.layers.OPTIMIZER_CLS_NAMES
    assert sorted(classes) == ["Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp", "SGD"]
    assert all(isinstance(make(0.1), tf.train.Optimizer) for make in classes.values())


def test_optimize_loss_errors():
    loss = _loss()
    with pytest.raises(errors.InvalidArgumentError):
        tf.contrib.layers.optimize_loss(loss, None, 0.1, "Newton")
    with pytest.raises(errors.DTypeError):
        tf.contrib.layers.optimize_loss(loss, None, 0.1, lambda rate: 3)


def test_the_rate_may_be_a_variable():
    w = tf.Variable(1.0)
    rate = tf.Variable(0.25, trainable=False)
    step = tf.train.GradientDescentOptimizer(rate).minimize(2.0 * w)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(w) == 0.5
        rate.load(0.0, session)
        session.run(step)
        assert session.run(w) == 0.5


def test_a_counter_among_the_trainable_variables_has_no_gradient():
    x, n = tf.Variable(3.0), tf.Variable(0)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(x * x)
    assert [v for _, v in pairs] == [x, n] and pairs[1][0] is None
    train = optimizer.minimize(x * x, global_step=n)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([x, n]) == [0.0, 1]


def test_the_powers_of_adam_are_named_in_the_scope_of_the_program():
    with tf.name_scope("layer"):
        w = tf.Variable(1.0, name="w")
    with tf.name_scope("optimizer"):
        tf.train.AdamOptimizer().minimize(w * w)
    assert sorted(v.op.name for v in tf.global_variables()) == [
        "layer/w",
        "layer/w/Adam",
        "layer/w/Adam_1",
        "optimizer/beta1_power",
        "optimizer/beta2_power",
    ]


def test_variables_of_an_optimizer_are_those_of_the_graph():
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    for names in (["b", "a"], ["c"]):
        with tf.Graph().as_default():
            variables = [tf.Variable([1.0], name=n) for n in names]
            opt.minimize(tf.add_n([tf.reduce_sum(v) for v in variables]))
            assert [v.op.name for v in opt.variables()] == [f"{n}/Momentum" for n in sorted(names)]


def test_name_of_an_average_that_does_not_exist_yet_has_the_scope():
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        with tf.variable_scope("scope"):
            averages = tf.train.ExponentialMovingAverage(0.5, name="mean")
            planned = averages.average_name(v)
            averages.apply([v])
        assert planned == "scope/v/mean" == averages.average(v).op.name


def test_the_base_of_each_optimizer_is_optimizer():
    names = [n for n in dir(tf.train) if n.endswith("Optimizer") and n != "Optimizer"]
    assert {n: getattr(tf.train, n).__base__ for n in names} == dict.fromkeys(names, tf.train.Optimizer)
    assert {getattr(tf.train, n) for n in names} <= set(tf.train.Optimizer.__subclasses__())


def test_a_subclass_calls_the_rule_of_an_optimizer_with_slots():
    class Doubled(tf.train.MomentumOptimizer):
        def _apply_dense(self, grad, var):
            return super()._apply_dense(2.0 * grad, var)

    v = tf.Variable(1.0)
    train = Doubled(0.5, 0.0).minimize(3.0 * v)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(v) == -2.0


@pytest.mark.parametrize("name", ["Adam", "Momentum", "RMSProp", "Adagrad", "Adadelta"])
def test_the_slots_of_a_variable_whose_shape_is_unknown(name):
    v = tf.Variable(tf.placeholder_with_default([[5.0, 6.0]], [None, 2]), validate_shape=False)
    known = tf.Variable([[5.0, 6.0]])
    args = (0.1, 0.9) if name == "Momentum" else (0.1,)
    optimizer = getattr(tf.train, f"{name}Optimizer")(*args)
    train = optimizer.minimize(tf.reduce_sum(v**2) + tf.reduce_sum(known**2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(*session.run([v, known]))
        assert {s.shape for s in session.run([optimizer.get_slot(v, n) for n in optimizer.get_slot_names()])} == {
            (1, 2)
        }
