"""Loops on several devices: control loops, frames, what crosses how often."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ir.builder import replace_input
from tfnb.ir.opdef import Kind
from tfnb.ops import CATALOG
from tfnb.passes.prune import Request, prune
from tfnb.placement.loops import copy_invariants, find_loops, unsplittable
from tfnb.placement.place import Rules, place, random_device

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def on(i):
    return tf.device(f"/cpu:{i}")


def moved(i, f):
    """`f` with its operations on another device."""

    def made(*args):
        with on(i):
            return f(*args)

    return made


def session(n=3):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": n}))


def received(s, *args, **kwargs):
    """What a run gives, and how often which tensor was received."""
    metadata = tf.RunMetadata()
    result = s.run(*args, **kwargs, options=tf.RunOptions(trace_level=1), run_metadata=metadata)
    counts = {}
    for t in metadata.step_stats:
        if t.lane == "transfer":
            counts[t.name] = counts.get(t.name, 0) + 1
    return result, counts


def raw_loop(n):
    """A loop of the bare operations, without a LoopCond."""
    enter, merge, switch, exit_, again = (CATALOG[k] for k in ("Enter", "Merge", "Switch", "Exit", "NextIteration"))
    start = enter(tf.constant(0), frame_name="raw")
    limit = enter(tf.constant(n), frame_name="raw", is_constant=True)
    i, _ = merge([start, start])
    done, on_ = switch(i, i < limit)
    back = again(on_ + 1)
    replace_input(i.op, 1, back)
    return exit_(done)


@pytest.mark.opencl
@pytest.mark.parametrize("seed", range(3))
def test_a_loop_without_a_condition_stays_whole(seed):
    end = raw_loop(5)
    step = prune(Request((end,)))
    (nodes,) = unsplittable(step)
    placed = place(step, Rules(CPUS, policy=random_device(seed))).graph
    assert len({placed.nodes[i].device for i in nodes}) == 1 and len(nodes) >= 8
    options = tf.GraphOptions(placement=f"random:{seed}")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}, graph_options=options)) as s:
        assert s.run(end) == 5


def test_frames_of_nested_loops():
    def inner(i, x):
        return [i + 1, tf.while_loop(lambda j, y: j < 2, lambda j, y: [j + 1, y * 2.0], [0, x])[1]]

    end = tf.while_loop(lambda i, x: i < 3, inner, [0, 1.0])[1]
    step = prune(Request((end,)))
    frames, loops = step.frames, find_loops(step)
    paths = sorted(loops.cond, key=len)
    assert [len(p) for p in paths] == [1, 2] and paths[1][:1] == paths[0]
    assert set(loops.enter) == set(paths) and unsplittable(step) == []
    for i, n in step.nodes.items():
        depth = {Kind.ENTER: 1, Kind.EXIT: -1}.get(n.opdef.kind, 0)
        assert len(frames.outside[i]) - len(frames.inside[i]) == depth
    assert frames.outside[end.op.id] == ()


def test_invariants_of_two_loops_are_entered_where_they_are_read():
    w = tf.random_uniform([2], seed=1)
    inner = moved(1, lambda j, y: [j + 1, y * w])

    def body(i, x):
        return [i + 1, tf.while_loop(lambda j, y: j < 2, inner, [0, x])[1]]

    end = tf.while_loop(lambda i, x: i < 3, body, [0, tf.ones([2])])[1]
    step = prune(Request((end,)))
    placed = copy_invariants(place(step, Rules(CPUS)).graph)
    for n in placed.nodes.values():
        if n.opdef.kind is Kind.ENTER and n.attrs.is_constant:
            readers = [placed.nodes[r] for r in placed.consumers.get((n.id, 0), ())]
            assert {r.device for r in readers} <= {n.device}


@pytest.mark.opencl
def test_what_changes_crosses_in_each_iteration_and_what_does_not_once():
    with on(1):
        w = tf.placeholder(tf.float32, [], name="w") * 2.0
    body = moved(2, lambda i, x: [i + 1, tf.sin(x) + w])
    end = tf.while_loop(lambda i, x: i < 7, body, [0, 0.5])[1]
    wanted = np.float32(0.5)
    for _ in range(7):
        wanted = np.sin(wanted) + np.float32(6.0)
    with session() as s:
        got, counts = received(s, end, {"w:0": 3.0})
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert sorted(set(counts.values())) in ([1, 7, 8], [1, 8]) and counts["mul:0: CPU:1 to CPU:2"] == 1


@pytest.mark.opencl
@pytest.mark.parametrize("parallel", [1, 10])
def test_conditions_and_bodies_on_different_devices(parallel):
    limit = tf.placeholder(tf.int32, [], name="limit")
    cond = moved(1, lambda i, x: tf.logical_and(i < limit, tf.reduce_sum(x) < 1e6))
    body = moved(2, lambda i, x: [i + 1, x * 1.5])
    end = tf.while_loop(cond, body, [0, tf.ones([3])], parallel_iterations=parallel)
    with session() as s:
        for n in (0, 1, 5, 30):
            i, x = s.run(end, {limit: n})
            assert i == n
            np.testing.assert_allclose(x, np.full(3, 1.5**n), rtol=1e-5)


@pytest.mark.opencl
def test_loops_on_branches_that_are_not_taken():
    flag = tf.placeholder(tf.bool, [], name="flag")
    body = moved(2, lambda i, x: [i + 1, x + 1.0])
    loop = moved(1, lambda: tf.while_loop(lambda i, x: i < 4, body, [0, 10.0])[1])

    def outer(k, x):
        return [k + 1, x + tf.cond(tf.logical_and(flag, k > 0), loop, lambda: tf.constant(1.0))]

    end = tf.while_loop(lambda k, x: k < 3, outer, [0, 0.0])[1]
    with session() as s:
        assert s.run(end, {flag: True}) == 29.0
        assert s.run(end, {flag: False}) == 3.0


@pytest.mark.opencl
def test_an_error_in_a_loop_ends_it_on_all_devices():
    def bad(x):
        if x > 3:
            raise ValueError("too far")
        return x + np.float32(1)

    def step(i, x):
        found = tf.py_func(bad, [x], tf.float32)
        found.set_shape([])
        return [i + 1, found]

    end = tf.while_loop(lambda i, x: i < 100, moved(2, step), [0, 0.0])[1]
    with session() as s:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
                s.run(end)
