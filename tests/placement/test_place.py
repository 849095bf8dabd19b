"""Which device a node may go to, where it goes, and what is said when it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ops import CATALOG
from tfnb.passes.prune import Request, prune
from tfnb.placement.groups import state_groups
from tfnb.placement.place import Rules, check_devices, place

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3))
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def placed(*fetches, devices=CPUS, **rules):
    """Name -> device of the nodes that the fetches need."""
    tensors = tuple(f for f in fetches if isinstance(f, tf.Tensor))
    ops = tuple(f for f in fetches if not isinstance(f, tf.Tensor))
    request = Request(tensors, ops)
    state = state_groups((*tensors, *ops)[0].graph.get_operations())
    rules = Rules(tuple(devices), state=state, **rules)
    step = prune(request)
    check_devices(step, rules)
    found = place(step, rules)
    return {n.name: n.device.rpartition("device:")[2] for n in found.graph.nodes.values()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/cpu:1", "CPU:1"),
        ("/device:CPU:2", "CPU:2"),
        ("/job:localhost/replica:0/task:0/device:CPU:1", "CPU:1"),
        ("/task:0/cpu:2", "CPU:2"),
        ("/job:localhost", "CPU:0"),
        ("/device:CPU:*", "CPU:0"),
        ("", "CPU:0"),
        (None, "CPU:0"),
        ("/gpu:0", "GPU:0"),
    ],
)
def test_partial_and_full_names(text, wanted):
    with tf.device(text):
        x = tf.add(1.0, 2.0, name="x")
    assert placed(x, devices=(*CPUS, GPU))["x"] == wanted


def test_inner_scopes_win_and_outer_ones_fill_in():
    with tf.device("/job:localhost/cpu:1"):
        a = tf.add(1.0, 1.0, name="a")
        with tf.device("/cpu:2"):
            b = tf.add(a, 1.0, name="b")
        with tf.device(None):
            c = tf.add(b, 1.0, name="c")
        with tf.device(lambda op: "/cpu:0" if op.type == "Mul" else ""):
            d = tf.multiply(c, 1.5, name="d")
            e = tf.add(d, 1.5, name="e")
    assert b.device == "/job:localhost/device:CPU:2" and c.device == ""
    where = placed(e)
    assert [where[n] for n in "abcde"] == ["CPU:1", "CPU:2", "CPU:0", "CPU:0", "CPU:1"]


def test_colocation_follows_the_anchor_and_not_the_device_scope():
    with tf.device("/cpu:2"):
        a = tf.add(1.0, 1.0, name="a")
    with tf.device("/cpu:1"), tf.colocate_with(a):
        b = tf.multiply(3.0, 1.0, name="b")
        with tf.colocate_with(None, ignore_existing=True):
            c = tf.multiply(4.0, 1.0, name="c")
    assert c.op.colocation == ()
    where = placed(b, c)
    assert where["b"] == "CPU:2"
    with pytest.raises(InvalidArgumentError, match="ignore_existing"), tf.colocate_with(None):
        pass


def test_what_writes_a_variable_stands_beside_it_in_every_step():
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0], name="v")
    s = tf.Variable([2.0], name="s")  # in the step of its own initializer, only the whole graph says where it belongs
    more = tf.assign_add(v, [1.0], name="more")
    CATALOG["ApplyAdagrad"](v._ref(), s._ref(), 0.1, [1.0], name="joins")
    where = placed(more)
    assert where["more"] == where["v"] == "CPU:1"
    assert placed(s.initializer)["s"] == "CPU:1"


def test_slots_follow_their_variable():
    with tf.device("/cpu:2"):
        v = tf.Variable([1.0], name="v")
    train = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    (slot,) = [x for x in tf.global_variables() if x is not v]
    where = placed(slot.initializer)
    assert where[slot.op.name] == "CPU:2"
    assert placed(train)[slot.op.name] == "CPU:2"


def test_a_device_that_is_not_there_is_named_with_the_line():
    with tf.device("/cpu:7"):
        x = tf.add(1.0, 2.0, name="x")
    with pytest.raises(InvalidArgumentError) as caught:
        placed(x)
    text = str(caught.value)
    assert "'/device:CPU:7'" in text and "no such device" in text and "CPU:2" in text
    assert "node x = Add" in text and 'tf.add(1.0, 2.0, name="x")' in text
    assert placed(x, soft=True)["x"] == "CPU:0"


def test_no_kernel_for_the_kind_of_device():
    with tf.device("/gpu:0"):
        x = tf.as_string(tf.constant([1.5]), name="x")
    with pytest.raises(InvalidArgumentError, match=r"x \(AsString\) has no kernel for GPU.*could go to: .*CPU:0"):
        placed(x, devices=(CPUS[0], GPU))
    assert placed(x, devices=(CPUS[0], GPU), soft=True)["x"] == "CPU:0"


def test_a_group_that_wants_two_devices():
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0], name="v")
    with tf.colocate_with(v.op):
        x = tf.constant([2.0]) * 2.0
    x.op.device = "/device:CPU:2"
    with pytest.raises(InvalidArgumentError, match=r"must share a device with 'v', which asks for '/device:CPU:1'"):
        placed(x, v.op)
    assert placed(x, v.op, soft=True)["mul"] == "CPU:1"


def test_what_takes_state_goes_where_it_is_whatever_it_asks_for():
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0], name="v")
        q = tf.FIFOQueue(3, tf.float32)
    with tf.device("/cpu:2"):
        w = tf.assign(v, [2.0], name="w")
        x = tf.add(q.dequeue(name="taken"), 1.0, name="x")
    found = placed(w, x)
    assert (found["w"], found["taken"], found["x"]) == ("CPU:1", "CPU:1", "CPU:2")


def test_readers_of_several_variables_do_not_join_them():
    with tf.device("/cpu:1"):
        a = tf.Variable([1.0], name="a")
    with tf.device("/cpu:2"):
        b = tf.Variable([2.0], name="b")
    both = tf.add_n([a._ref(), b._ref()], name="both")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as s:
        s.run(tf.global_variables_initializer())
        assert s.run(both).tolist() == [3.0]


@pytest.mark.opencl
def test_state_stays_where_a_step_put_it():
    v = tf.Variable([1.0], name="v")
    config = tf.ConfigProto(device_count={"CPU": 3}, graph_options=tf.GraphOptions(placement="random:5"))
    with tf.Session(config=config) as s:
        s.run(v.initializer)
        before = s.compile_context.placing.pins["v"]
        other = next(d for d in CPUS if d != before)
        with tf.device(other):
            late = tf.assign_add(v, [1.0], name="late")
        with pytest.raises(InvalidArgumentError, match="since an earlier step; late asks for") as caught:
            s.run(late)
        assert f"could go to: ['{other}']; the devices" in str(caught.value)
        assert s.run(v).tolist() == [1.0]


@pytest.mark.opencl
def test_logical_devices_and_what_is_logged(capfd):
    with tf.device("/cpu:2"):
        y = tf.add(tf.placeholder(tf.float32, [], name="x"), 1.0, name="y")
    config = tf.ConfigProto(device_count={"CPU": 3}, log_device_placement=True)
    with tf.Session(config=config) as s:
        assert [d.name.rpartition("device:")[2] for d in s.list_devices()] == ["CPU:0", "CPU:1", "CPU:2"]
        assert s.run(y, {"x:0": 2.0}) == 3.0
    logged = capfd.readouterr().err.splitlines()
    assert next(x for x in logged if x.startswith("y: (Add)")).endswith("CPU:2")


@pytest.mark.opencl
@pytest.mark.parametrize("text", ["elsewhere", "random:", "random:x"])
def test_an_unknown_policy(text):
    with pytest.raises(InvalidArgumentError, match="policy"):
        tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(placement=text)))


def test_merging_of_specs():
    inner = DeviceSpec.from_string("/cpu:1").merged(DeviceSpec.from_string("/job:ps/task:3/gpu:0"))
    assert inner.to_string() == "/job:ps/task:3/device:CPU:1"
    assert np.all([DeviceSpec.from_string("/gpu:*").matches(DeviceSpec.from_string(f"/gpu:{i}")) for i in range(2)])
