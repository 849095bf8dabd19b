"""The cost model and the greedy simulation."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import ResourceExhaustedError
from tfnb.passes.prune import Request, prune
from tfnb.passes.simplify import drop_no_ops
from tfnb.placement.costs import CostModel
from tfnb.placement.groups import state_groups
from tfnb.placement.place import Rules, first_device, place
from tfnb.placement.search import Search
from tfnb.placement.simulate import Greedy, simulate

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def step_of(*fetches):
    tensors = tuple(f for f in fetches if isinstance(f, tf.Tensor))
    return prune(Request(tensors, tuple(f for f in fetches if not isinstance(f, tf.Tensor))))


def by_name(step, name):
    return next(n for n in step.nodes.values() if n.name == name)


def where(placed, name):
    return by_name(placed.graph, name).device.rpartition("device:")[2]


def test_estimates_count_bytes_and_multiplications():
    a, b = tf.random_uniform([400, 1000]), tf.random_uniform([1000, 300])
    product = tf.matmul(a, b, name="product")
    turned = tf.matmul(a, tf.random_uniform([300, 1000]), transpose_b=True, name="turned")
    image = tf.random_uniform([8, 28, 28, 16])
    conv = tf.nn.conv2d(image, tf.random_uniform([5, 5, 16, 32]), [1, 1, 1, 1], "SAME", name="conv")
    sums = tf.add(product, 1.0, name="sums")
    step, costs = step_of(sums, turned, conv), CostModel()
    us = {n: costs.node_us(step, by_name(step, n)) for n in ("product", "turned", "conv", "sums")}
    assert us["product"] == us["turned"] == pytest.approx(2 * 400 * 1000 * 300 / 50_000 + 5)
    assert us["conv"] == pytest.approx(2 * 8 * 28 * 28 * 32 * 5 * 5 * 16 / 50_000 + 5)
    assert us["sums"] == pytest.approx((2 * 400 * 300 * 4 + 4) / 10_000 + 5)
    assert all(costs.node_us(step, n) == 0 for n in step.nodes.values() if n.type == "Const")


def test_measurements_replace_estimates_and_are_shared_out():
    x = tf.random_uniform([100, 100], name="x")
    y = tf.tanh(x, name="y")
    z = tf.add(y, 1.0, name="z")
    step, costs = step_of(z), CostModel()
    ids = tuple(by_name(step, n).id for n in "yz")
    costs.learn(step, [(ids, 30.0), (ids, 50.0), ((99,), 5.0)])
    found = [costs.node_us(step, by_name(step, n)) for n in "yz"]
    assert sum(found) == pytest.approx(40.0) and costs.n_measured == 2
    estimates = [costs.estimate_us(step, by_name(step, n)) for n in "yz"]
    assert found[0] / found[1] == pytest.approx(estimates[0] / estimates[1])


def two_towers(width=1500):
    """Two independent chains of products, and their sum."""
    ends = []
    for k in range(2):
        x = tf.identity(tf.random_uniform([width, width], seed=k), name=f"x{k}")
        for j in range(3):
            x = tf.matmul(x, x, name=f"m{k}{j}")
        ends.append(tf.reduce_sum(x, name=f"end{k}"))
    return tf.add(*ends, name="sum")


def test_greedy_puts_independent_work_side_by_side():
    step, costs = step_of(two_towers()), CostModel()
    placed = place(step, Rules(CPUS[:2], policy=Greedy(costs)))
    assert {where(placed, "m00"), where(placed, "m10")} == {"CPU:0", "CPU:1"}
    for k in range(2):  # a chain stays together: a transfer costs more than it gains
        assert len({where(placed, n) for n in (f"x{k}", f"m{k}0", f"m{k}1", f"m{k}2", f"end{k}")}) == 1
    together = simulate(step, dict.fromkeys(step.nodes, CPUS[0]), costs).total
    apart = simulate(step, {i: n.device for i, n in placed.graph.nodes.items()}, costs)
    assert apart.total < 0.6 * together and len(apart.transfers) == 1
    assert "m00" in placed.report() and "would end there at" in placed.report()


def test_small_work_stays_on_one_device():
    placed = place(step_of(two_towers(4)), Rules(CPUS, policy=Greedy(CostModel())))
    assert where(placed, "m02") == where(placed, "m01") == where(placed, "m00")


def test_a_slow_transfer_is_counted_once_per_device():
    with tf.device("/cpu:0"):
        x = tf.identity(tf.random_uniform([1000, 1000]), name="x")
    with tf.device("/cpu:1"):
        y, z = tf.tanh(x, name="y"), tf.exp(x, name="z")
    step = step_of(y, z)
    costs = CostModel()
    placed = place(step, Rules(CPUS)).graph
    found = simulate(placed, {i: n.device for i, n in placed.nodes.items()}, costs)
    assert len(found.transfers) == 1 and found.bytes_sent == 4_000_000
    first = min(found.begin[by_name(step, n).id] for n in "yz")
    assert first == pytest.approx(found.end[by_name(step, "x").id] + costs.transfer_us(x.op.specs[0]))


def test_variables_go_where_there_is_room():
    vs = [tf.Variable(tf.zeros([100]), name=f"v{k}") for k in range(4)]
    init = tf.global_variables_initializer()
    state = state_groups(tf.get_default_graph().get_operations())
    policy = Greedy(CostModel(), dict.fromkeys(CPUS[:2], 1000))
    placed = place(step_of(init), Rules(CPUS[:2], policy=policy, state=state))
    assert sorted(where(placed, v.op.name) for v in vs) == ["CPU:0", "CPU:0", "CPU:1", "CPU:1"]
    tight = Greedy(CostModel(), dict.fromkeys(CPUS[:2], 700))
    with pytest.raises(ResourceExhaustedError, match="400 bytes of variables fit on none of") as caught:
        place(step_of(init), Rules(CPUS[:2], policy=tight, state=state))
    assert caught.value.op is not None


@pytest.mark.opencl
def test_greedy_in_a_session_learns_from_traces_and_explains():
    total = two_towers(200)
    options = tf.GraphOptions(placement="greedy")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, graph_options=options)) as s:
        before = s.run(total)
        s.run(total, options=tf.RunOptions(trace_level=1), run_metadata=tf.RunMetadata())
        assert s.compile_context.placing.costs.n_measured >= 3
        text = s.explain_placement(total)
    with tf.Session() as one:
        assert one.run(total) == pytest.approx(before, rel=1e-5)
        assert "there is no other device" in one.explain_placement(total)
    assert "device:CPU:1: " in text and "measured" in text and "would take" in text


def lstm(layers=2, steps=5, width=128):
    """The loss and gradients of stacked LSTM cells, unrolled."""
    xs = [tf.identity(tf.random_uniform([64, width], seed=t)) for t in range(steps)]
    weights = []
    for layer in range(layers):
        w = tf.Variable(tf.zeros([2 * width, 4 * width]), name=f"w{layer}")
        weights.append(w)
        c = h = tf.zeros([64, width])
        for t, x in enumerate(xs):
            i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w), 4, 1)
            c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
            xs[t] = h = tf.tanh(c) * tf.sigmoid(o)
    loss = tf.reduce_sum(tf.add_n(xs))
    return loss, tf.gradients(loss, weights)


def test_search_beats_greedy_on_a_model_parallel_lstm():
    loss, grads = lstm()
    step, costs = drop_no_ops(step_of(loss, *grads)), CostModel()
    state = state_groups(tf.get_default_graph().get_operations())
    found = {}
    for name, policy in (("greedy", Greedy(costs)), ("search", Search(costs, moves=60)), ("first", first_device)):
        placed = place(step, Rules(CPUS, policy=policy, state=state))
        where_ = {i: n.device for i, n in placed.graph.nodes.items()}
        found[name] = simulate(placed.graph, where_, costs).total
    # Little is left to gain: the longest chain of the step bounds both.
    assert found["search"] < found["greedy"] < 0.6 * found["first"]
