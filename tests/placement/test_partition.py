"""Partitions of random graphs under random placements: well formed, and equal to one device."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import assert_equal, check, check_parts, run
from random_loops import N, mixed, vectors

import tfnb as tf
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.verify import verify
from tfnb.passes.deref import deref
from tfnb.passes.inline import inline
from tfnb.passes.prune import Request, prune
from tfnb.passes.simplify import drop_no_ops
from tfnb.placement.partition import localize, partition
from tfnb.placement.place import Choice, Rules, place, random_device

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(4))


def parts_of(fetches, seed, n=3):
    """(localized graph, its partitions) of what the fetches need, placed at random."""
    step = deref(drop_no_ops(inline(prune(Request(tuple(fetches))))))
    placed = place(step, Rules(CPUS[:n], policy=random_device(seed))).graph
    whole = localize(placed)
    return whole, partition(whole)


def config(n, seed, **options):
    options = tf.GraphOptions(placement=f"random:{seed}", **options)
    return tf.ConfigProto(device_count={"CPU": n}, graph_options=options)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 4))
def test_each_tensor_comes_once_and_every_node_is_somewhere(program, seed, n):
    _, fetches, _ = mixed(program, "iii")
    whole, parts = parts_of(fetches, seed, n)
    sent, received = Counter(), Counter()
    homes: Counter[int] = Counter()
    for part in parts:
        verify(part.graph)
        for node in part.graph.nodes.values():
            assert node.device == part.device
            if node.opdef.kind in (Kind.SEND, Kind.RECV):
                a = node.attrs
                key = a.tensor_name, a.send_device, a.recv_device
                (sent if node.opdef.kind is Kind.SEND else received)[key] += 1
                assert part.device == (a.send_device if node.opdef.kind is Kind.SEND else a.recv_device)
            elif node.id in whole.nodes and node.opdef.kind is not Kind.CONST:
                homes[node.id] += 1
    assert sent == received and set(sent.values()) <= {1}
    assert all(a != b for _, a, b in sent)
    assert homes == {i: 1 for i, node in whole.nodes.items() if node.opdef.kind is not Kind.CONST}
    assert sorted(k for p in parts for k in p.fetches) == list(range(len(fetches)))


@pytest.mark.opencl
@pytest.mark.parametrize("n", [2, 3])
def test_programs_of_whole_numbers(n):
    for seed in range(10):
        graph, fetches, wanted = mixed(seed, "iii")
        with tf.Session(graph=graph, config=config(n, seed)) as session:
            found = session.run(fetches)
        assert [int(x) for x in found] == [int(x) for x in wanted], f"seed {seed}"


@pytest.mark.opencl
@pytest.mark.parametrize("seed", [0, 7])
def test_vectors_and_their_gradients_as_on_one_device(monkeypatch, seed):
    """To the bit: with each op a kernel of its own it does not matter who is where."""
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")
    graph, fetches, wanted, _ = vectors(seed)
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 1})) as one:
        expected = one.run(fetches)
    for placement in range(3):
        with tf.Session(graph=graph, config=config(3, placement)) as several:
            found = several.run(fetches)
        for a, b in zip(found, expected, strict=True):
            assert a.tobytes() == b.tobytes(), f"placement {placement}"
    for a, b in zip(expected[:N], wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.opencl
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 4))
def test_random_graphs_under_random_placements(program, seed, n):
    """No tensor comes twice, every Recv has one Send in its frame, and the values are those of one device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TFNB_OPTIMIZE", "0")  # few kernels for all graphs
        check(program, seed, n)


def alone(k):
    """Group k (modulo their number) on the last device, all others on the first."""

    def choose(graph, groups, devices):
        return [Choice(devices[-1 if i == k % len(groups) else 0], "cut here") for i in range(len(groups))]

    return choose


@pytest.mark.opencl
def test_a_loop_is_cut_anywhere(monkeypatch):
    """Each group of nodes of a loop in a loop with a branch, by itself on another device, and the rest without it."""
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")
    with tf.Graph().as_default() as graph:

        def inner(j, y):
            return [j + 1, tf.cond(tf.reduce_sum(y) > j, lambda: tf.reverse(y, [0]) - j, lambda: y * 3)]

        def outer(i, x):
            return [i + 1, tf.while_loop(lambda j, y: j < i, inner, [0, x + i])[1]]

        fetches = tf.while_loop(lambda i, x: i < 4, outer, [0, tf.placeholder_with_default([1, -2, 3], [3])])
    wanted, _ = run(graph, fetches, [])
    step = place(deref(drop_no_ops(inline(prune(Request(tuple(fetches)))))), Rules(CPUS[:2]))
    cut = 0
    for k in range(len(step.groups)):
        found, parts = run(graph, fetches, [], tf.ConfigProto(device_count={"CPU": 2}), alone(k))
        assert_equal(found, wanted)
        cut += check_parts(parts) > 0
    assert cut >= 10


def nested():
    """A loop in a loop with a conditional, every part of it somewhere else."""
    with tf.device("/cpu:1"):
        scale = tf.placeholder(tf.float32, [3], name="scale")

    def inner(j, x):
        with tf.device("/cpu:2"):
            y = tf.tanh(x) * scale
        return [j + 1, tf.cond(tf.reduce_sum(y) > 1.0, lambda: y * 0.5, lambda: y + 0.25)]

    def outer(i, x):
        with tf.device("/cpu:0"):
            return [i + 1, tf.while_loop(lambda j, x: j < i, inner, [0, x])[1]]

    return scale, tf.while_loop(lambda i, x: i < 4, outer, [0, tf.ones([3])])[1]


@pytest.mark.opencl
def test_nested_loops_and_branches_placed_by_hand():
    with tf.Graph().as_default():
        scale, found = nested()
        grad = tf.gradients(found, [scale])[0]
        feed = {scale: np.array([0.5, 1.5, 2.5], np.float32)}
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as one:
            expected = one.run([found, grad], feed)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as several:
            got = several.run([found, grad], feed)
    for a, b in zip(got, expected, strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_does_not_change_in_a_loop_crosses_once():
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            w = tf.random_uniform([2], seed=1) + 1.0

        def body(i, x):
            with tf.device("/cpu:2"):
                return [i + 1, x * w]

        x = tf.while_loop(lambda i, x: i < 3, body, [0, tf.ones([2])])[1]
        _, parts = parts_of([x], 0)
    names = [n.attrs.tensor_name for p in parts for n in p.graph.nodes.values() if n.opdef.kind is Kind.RECV]
    assert w.name in names and not [n for n in names if "Enter" in n]


@pytest.mark.opencl
def test_a_control_edge_waits_across_devices():
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable(1.0)
            add = v.assign_add(1.0)
        with tf.device("/cpu:0"), tf.control_dependencies([add]):
            later = tf.constant(5.0) * tf.placeholder(tf.float32, [], name="x")
        with tf.device("/cpu:1"), tf.control_dependencies([later]):
            after = v.read_value() + 0.0
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as s:
            s.run(v.initializer)
            for k in range(20):
                assert s.run([later, after], {"x:0": 2.0}) == [10.0, 2.0 + k]


@pytest.mark.opencl
def test_transfers_of_16_bits():
    values = np.array([1.0, 1.00390625, 3.1415927, -1e30, np.inf, 0.0], np.float32)
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            x = tf.placeholder(tf.float32, [6], name="x") * 1.0 + 0.0
            whole = tf.cast(x, tf.float64)
        with tf.device("/cpu:0"):
            y, z = tf.negative(x), tf.negative(whole)
        plain = tf.ConfigProto(device_count={"CPU": 2})
        options = tf.GraphOptions(enable_bfloat16_sendrecv=True)
        short = tf.ConfigProto(device_count={"CPU": 2}, graph_options=options)
        sizes = []
        for c in (plain, short):
            with tf.Session(config=c) as s:
                metadata = tf.RunMetadata()
                got, exact = s.run([y, z], {"x:0": values}, tf.RunOptions(trace_level=1), metadata)
                sizes.append({t.name.split(":")[0]: t.nbytes for t in metadata.step_stats if t.lane == "transfer"})
    assert (-exact).tolist() == values.astype(np.float64).tolist()  # only float32 is shortened
    assert (-got).tolist() == (values.view(np.uint32) & 0xFFFF0000).view(np.float32).tolist()
    (name,) = [n for n in sizes[0] if sizes[0][n] == 24]
    assert sizes[1][name] == 12
