"""Sessions end to end: fetches, feeds, state, growth of the graph, callables, tracing."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import ClosedSessionError, FailedPreconditionError, InvalidArgumentError

pytestmark = pytest.mark.opencl
Pair = namedtuple("Pair", "a b")


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_fetch_structures_come_back_as_they_were(sess):
    a, b = tf.constant(1.0), tf.constant([2, 3])
    op = tf.no_op()
    got = sess.run({"x": [a, (b, op)], "y": Pair(a, "Const_1:0"), "z": OrderedDict(k=a)})
    assert got["x"][0] == 1.0 and got["x"][1][1] is None
    assert isinstance(got["x"][1], tuple) and got["x"][1][0].tolist() == [2, 3]
    assert isinstance(got["y"], Pair) and got["y"].b.tolist() == [2, 3]
    assert isinstance(got["z"], OrderedDict)
    assert sess.run([]) == []


def test_fetched_scalars_are_numpy_scalars(sess):
    value = sess.run(tf.constant(2.5))
    assert isinstance(value, np.float32) and value == 2.5


def test_any_tensor_can_be_fed(sess):
    x = tf.placeholder(tf.float32, [None])
    y = x * 2
    z = y + 1
    assert sess.run(z, {x: [1, 2]}).tolist() == [3, 5]
    assert sess.run(z, {y: np.array([10.0])}).tolist() == [11]
    assert sess.run([y, z], {"mul:0": [7]})[1].tolist() == [8]
    assert sess.run(x, {x: [4]}).tolist() == [4]


def test_every_batch_size_runs(sess):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(tf.nn.softmax(x), axis=1)
    for n in (0, 1, 2, 17, 100, 17):
        assert np.allclose(sess.run(y, {x: np.random.rand(n, 3)}), np.ones(n))


def test_a_result_is_the_callers_own(sess):
    v = tf.Variable(np.zeros(4, np.float32))
    sess.run(v.initializer)
    a = sess.run(v)
    a[:] = 9
    b = sess.run(v.assign_add(np.ones(4, np.float32)))
    assert b.tolist() == [1, 1, 1, 1] and sess.run(v).tolist() == [1, 1, 1, 1]
    sess.run(v.assign_add(np.ones(4, np.float32)))
    assert b.tolist() == [1, 1, 1, 1]


def test_state_lives_in_the_session():
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        bump = v.assign_add(1.0)
        with tf.Session() as one, tf.Session() as two:
            one.run(v.initializer)
            assert [one.run(bump) for _ in range(3)] == [2, 3, 4]
            with pytest.raises(FailedPreconditionError, match="Variable"):
                two.run(v)


def test_control_dependencies_order_a_read_after_a_write(sess):
    v = tf.Variable(1.0)
    sess.run(v.initializer)
    before = tf.identity(v)
    with tf.control_dependencies([before]):
        write = v.assign(before + 10.0)
    with tf.control_dependencies([write]):
        after = v.read_value()
    for i in range(5):
        assert sess.run([before, after]) == [1 + 10 * i, 11 + 10 * i]


def test_the_graph_may_grow_between_runs(sess):
    x = tf.placeholder(tf.float32)
    y = x + 1
    assert sess.run(y, {x: 1}) == 2
    z = y * 3
    assert sess.run(z, {x: 1}) == 6
    assert sess.run(y, {x: 5}) == 6


def test_targets_names_and_variables_are_fetches(sess):
    v = tf.Variable([1.0, 2.0], name="weights")
    assert sess.run(tf.global_variables_initializer()) is None
    assert sess.run("weights:0").tolist() == [1, 2]
    assert sess.run(v).tolist() == [1, 2]
    assert v.eval().tolist() == [1, 2]
    sess.run("weights/Assign")


def test_default_sessions_evaluate_tensors():
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        with pytest.raises(FailedPreconditionError, match="no default session"):
            x.eval()
        with tf.Session() as s:
            assert tf.get_default_session() is s
            assert x.eval() == 3.0 and x.eval({x: 4.0}) == 4.0
        assert tf.get_default_session() is None
        interactive = tf.InteractiveSession()
        try:
            assert x.eval() == 3.0
        finally:
            interactive.close()
        assert tf.get_default_session() is None


def test_make_callable(sess):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    f = sess.make_callable([x - y, x * y], [x, y])
    assert f(5, 3) == [2, 15]
    with pytest.raises(ValueError, match="2 values"):
        f(1)


def test_a_closed_session_refuses(sess):
    x = tf.constant(1.0)
    other = tf.Session()
    other.run(x)
    other.close()
    other.close()
    with pytest.raises(ClosedSessionError):
        other.run(x)
    with pytest.raises(ClosedSessionError):
        other.make_callable(x)
    assert sess.run(x) == 1.0


def test_a_trace_names_nodes_devices_and_times(sess):
    x = tf.placeholder(tf.float32, [64, 64])
    y = tf.reduce_sum(tf.nn.relu(tf.matmul(x, x)))
    meta = tf.RunMetadata()
    sess.run(y, {x: np.ones((64, 64))}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), meta)
    assert meta.step_stats
    assert all(s.end_us >= s.start_us >= 0 for s in meta.step_stats)
    assert any("MatMul" in n for s in meta.step_stats for n in s.nodes)
    assert {"prune", "expand", "fold", "place", "cluster"} <= {name for name, _ in meta.passes}


def test_every_setting_of_optimisation_gives_the_same_values():
    x = np.random.RandomState(0).randn(7, 5).astype(np.float32)
    results = []
    for optimize in (True, False):
        with tf.Graph().as_default():
            p = tf.placeholder(tf.float32, [None, 5])
            y = tf.nn.softmax(p * 1.0 + (tf.constant(1.0) - 1.0)) * tf.cast(tf.shape(p)[0], tf.float32)
            config = tf.ConfigProto(graph_options=tf.GraphOptions(optimize=optimize))
            with tf.Session(config=config) as s:
                results.append(s.run(y, {p: x}))
    assert np.allclose(*results)


def test_several_logical_devices_in_one_step():
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            a = tf.constant([1.0, 2.0]) * 3
        with tf.device("/cpu:1"):
            v = tf.Variable([10.0, 20.0])
            b = a + v
        with tf.device("/cpu:0"):
            c = tf.reduce_sum(b * 2)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})) as s:
            s.run(v.initializer)
            assert s.run(c) == 78.0
            assert len(s.list_devices()) == 2


def test_a_variable_of_strings(sess):
    v = tf.Variable(["a", "b"])
    sess.run(v.initializer)
    assert sess.run(v).tolist() == [b"a", b"b"]
    assert sess.run("Variable:0").tolist() == [b"a", b"b"]


@pytest.mark.parametrize("taken", [True, False])
def test_what_a_branch_computes_from_constants_alone_is_dead_when_it_is_not_taken(sess, taken):
    flag = tf.placeholder(tf.bool, [])
    x = tf.constant([1.0, 2.0])

    def shape_of(scale):
        return lambda: tf.cast(tf.size(x), tf.float32) * tf.constant(scale) + tf.constant(1.0) * 2.0

    y = tf.cond(flag, shape_of(10.0), shape_of(100.0))
    assert sess.run(y, {flag: taken}) == (22.0 if taken else 202.0)


def test_the_shape_of_a_switched_tensor_is_dead_on_the_other_side(sess):
    from tfnb.ops import CATALOG

    flag = tf.placeholder(tf.bool, [])
    no, yes = CATALOG["Switch"](tf.constant([1.0, 2.0]) + 0.0, flag)
    shapes = [CATALOG["Shape"](no, out_type=tf.int32), CATALOG["Shape"](yes, out_type=tf.int32) * 10]
    merged, index = CATALOG["Merge"](shapes)
    assert sess.run(index, {flag: True}) == 1 and sess.run(merged, {flag: True}).tolist() == [20]
    assert sess.run(index, {flag: False}) == 0 and sess.run(merged, {flag: False}).tolist() == [2]


def test_a_variable_without_elements_has_a_value(sess):
    v, w = tf.Variable(np.zeros((0, 4), np.float32)), tf.Variable([1.0])
    sess.run(tf.global_variables_initializer())
    empty, one = sess.run([v, w])
    assert empty.shape == (0, 4) and one == [1.0]
    assert sess.run(v.assign_add(np.zeros((0, 4), np.float32))).shape == (0, 4)


def test_placement_is_logged_once_per_step(capfd):
    with tf.Graph().as_default():
        y = tf.add(tf.placeholder(tf.float32, [], name="x"), 1.0, name="y")
        one = tf.ConfigProto(device_count={"CPU": 1}, log_device_placement=True)
        with tf.Session(config=one) as session:
            for value in (1.0, 2.0):
                session.run(y, {"x:0": value})
    lines = capfd.readouterr().err.splitlines()
    assert [x for x in lines if x.startswith("y: (Add): ") and x.endswith("device:CPU:0")] == [
        x for x in lines if x.startswith("y: ")
    ]
    assert sum(x.startswith("y: ") for x in lines) == 1


def test_a_tuple_of_tensors_is_fed_as_a_tuple_of_values(sess):
    State = namedtuple("State", "c h")
    state = (State(tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32)), tf.placeholder(tf.float32))
    fetch = [state[0].c * 2.0, state[0].h + 1, state[1]]
    given = (State([1.0, 2.0], 3), 4.0)
    c, h, last = sess.run(fetch, {state: given})
    assert c.tolist() == [2.0, 4.0] and h == 4 and last == 4.0
    call = sess.make_callable(fetch, [state])
    assert [np.asarray(v).tolist() for v in call(given)] == [[2.0, 4.0], 4, 4.0]
    for wrong in ((State([1.0, 2.0], 3),), 7.0, (State([1.0, 2.0], 3), 4.0, 5.0)):
        with pytest.raises(InvalidArgumentError, match="parts"):
            sess.run(fetch, {state: wrong})


def test_device_lib_describes_the_devices_of_a_session():
    from tfnb.python.client import device_lib

    found = device_lib.list_local_devices()
    assert [d.name for d in found] and all(d.device_type in d.name for d in found)
    assert all(d.memory_limit > 0 for d in found)


def test_a_block_of_a_session_is_not_entered_again_inside_itself():
    sess = tf.Session()
    with sess, pytest.raises(RuntimeError, match="not re-entrant"), sess:
        pass
    with tf.Session() as other, other.as_default():
        assert tf.get_default_session() is other


def test_a_program_that_leaves_an_interactive_session_open_ends_silently():
    """The session is the default one, so it lives until the modules are taken apart."""
    program = "import tfnb as tf\ns = tf.InteractiveSession()\ns.run(tf.constant(1))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
