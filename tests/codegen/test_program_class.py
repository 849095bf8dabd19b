"""Program classes: the program for some shapes is the one that a compilation at these shapes alone gives."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
from random_shapes import Graph, shapes
from runner import cluster_of, settings

import tfnb as tf
from tfnb.codegen.compile import compile_cluster
from tfnb.codegen.program import DeviceFacts, Slot
from tfnb.codegen.whynot import WhyNot
from tfnb.errors import OpError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.shape_class import ServedShapes, class_of, with_symbols
from tfnb.ops.conv_pool import conv_recipes
from tfnb.types import as_dtype

GRAPHS = int(os.environ.get("TFNB_RANDOM_GRAPHS", 6))


def parts_of(cluster, arrays, known):
    """The class of the shapes of arrays and of the values that fix shapes, and its sizes."""
    fixing = [arrays[cluster.inputs.index(e)].ravel().tolist() for e in cluster.shape_values]
    return class_of([*known, *[()] * len(fixing)], [*(a.shape for a in arrays), *fixing])


def compiled(cluster, arrays, known):
    """What is compiled for the shapes and values of arrays, their class, and its sizes."""
    fixing = [arrays[cluster.inputs.index(e)] for e in cluster.shape_values]
    shapes, sizes = parts_of(cluster, arrays, known)

    def compile_class(symbols, trace):
        dims = with_symbols(shapes, symbols)
        infos = [TensorInfo(as_dtype(a.dtype), d) for a, d in zip(arrays, dims, strict=False)]
        values = {}
        for e, v, elements in zip(cluster.shape_values, fixing, dims[len(arrays) :], strict=True):
            values[e] = v
            if not all(isinstance(n, int) for n in elements):
                values[e] = np.empty(len(elements), object)
                values[e][:] = elements
                values[e] = values[e].reshape(v.shape)
        return compile_cluster(cluster, infos, values, {}, DeviceFacts(), settings(), trace=trace)

    return ServedShapes(sizes, compile_class), shapes, sizes


def plain(value):
    """A program's part as nested tuples that can be compared."""
    if isinstance(value, WhyNot):
        return value.what, value.where  # the reason names the sizes of the example
    if dataclasses.is_dataclass(value):
        return (
            type(value).__name__,
            *((f.name, plain(getattr(value, f.name))) for f in dataclasses.fields(value)),
        )
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return tuple(map(plain, value)) if isinstance(value, (tuple, list)) else value


def attempt(action):
    """The result of `action`, or the class of the error that it raises."""
    try:
        return action()
    except OpError as e:
        return type(e)


def difference(one, other):
    """The first parts of two programs that differ."""
    if isinstance(one, type) or isinstance(other, type):
        return None if one is other else (one, other)
    for field in dataclasses.fields(one):
        if field.name == "resized":  # which is about the program before it
            continue
        a, b = plain(getattr(one, field.name)), plain(getattr(other, field.name))
        if a != b:
            if isinstance(a, tuple) and isinstance(b, tuple):
                return field.name, len(a), len(b), [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]][:1]
            return field.name, a, b
    return None


def check_resized(program):
    """Checks that a program differs from the one before it as it says."""
    resized = program.resized
    assert len(resized.former) == len(program.steps)
    known = dict(zip(resized.steps, resized.arguments, strict=True))
    for k, (old, new) in enumerate(zip(resized.former, program.steps, strict=True)):
        if k not in known:
            assert old is new
        elif known[k] is not None:
            numbers, arena = known[k]
            assert (old.module, old.entry, len(old.args)) == (new.module, new.entry, len(new.args))
            for place, (a, b) in enumerate(zip(old.args, new.args, strict=True)):
                if not isinstance(b, Slot):
                    assert place in numbers or (type(a), a.value) == (type(b), b.value)
                    continue
                assert a[:3] == b[:3], "only the number of bytes may differ"
                assert a == b or place in arena or b.kind != "arena"


def served(seed):
    """How many programs of other shapes' classes a random graph has; all are compared."""
    with tf.Graph().as_default() as graph:
        drawn = Graph(seed)
    known = [t.shape.as_list() for t in drawn.feeds(2, 2)]
    cluster = cluster_of(graph, drawn.feeds(2, 2), drawn.outputs)
    results = {}
    for n, m in dict.fromkeys(shapes(seed, 8)):
        arrays = [np.asarray(v) for v in drawn.feeds(n, m).values()]
        results[n, m] = attempt(lambda arrays=arrays: compiled(cluster, arrays, known))
    alone = {k: r if isinstance(r, type) else attempt(lambda r=r: r[0].program(r[2])) for k, r in results.items()}
    count = 0
    for a, first in results.items():
        for b, second in results.items():
            if a == b or isinstance(first, type):
                continue
            dims, sizes = parts_of(cluster, [np.asarray(v) for v in drawn.feeds(*b).values()], known)
            if dims != first[1]:
                continue
            program = attempt(lambda first=first, sizes=sizes: first[0].program(sizes))
            if program is None:
                continue
            count += 1
            if not isinstance(program, type) and program.resized is not None:
                check_resized(program)
            wrong = difference(program, alone[b])
            assert wrong is None, (seed, drawn.names, f"compiled for {a}, used for {b}", second, wrong)
    return count


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_the_program_of_a_class_is_the_one_of_its_shapes_alone(seed):
    served(seed)


def test_some_classes_serve_other_shapes():
    assert sum(map(served, range(100, 103)))


def test_equal_steps_of_following_programs_are_the_same_objects():
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [None, 8])
        fetches = [tf.reduce_sum(tf.tanh(x), 0), tf.reduce_sum(tf.exp(y), 0)]
    cluster = cluster_of(graph, {x: None, y: None}, fetches)
    known = [[None, 8]] * 2

    def arrays(n, m):
        return [np.ones((n, 8), np.float32), np.ones((m, 8), np.float32)]

    made, shapes, _ = compiled(cluster, arrays(40, 50), known)

    def steps(n, m):
        other_shapes, sizes = parts_of(cluster, arrays(n, m), known)
        assert other_shapes == shapes
        return made.program(sizes).steps

    first, same, other = steps(40, 50), steps(40, 50), steps(40, 60)
    program = made.program(parts_of(cluster, arrays(40, 61), known)[1])
    assert program.resized.former is other and program.resized.steps
    check_resized(program)
    assert len(first) > 1 and all(a is b for a, b in zip(first, same, strict=True))
    assert sum(a is b for a, b in zip(first, other, strict=True)) not in (0, len(first))
    assert plain(steps(40, 50)) == plain(first)


def test_a_recipe_that_takes_formulas_is_asked_once_for_its_class(monkeypatch):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, None, 3])
        net = tf.nn.conv2d(x, tf.ones([3, 3, 3, 16]), [1, 1, 1, 1], "SAME")
        fetches = [tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")]
    cluster = cluster_of(graph, {x: None}, fetches)
    known = [x.shape.as_list()]

    def arrays(n, h, w):
        return [np.ones((n, h, w, 3), np.float32)]

    other = parts_of(cluster, arrays(4, 31, 70), known)[1]
    alone = compiled(cluster, arrays(4, 31, 70), known)[0].program(other)
    made, _, _ = compiled(cluster, arrays(8, 20, 30), known)
    monkeypatch.setattr(conv_recipes, "_conv_shape", None)
    monkeypatch.setattr(conv_recipes, "_pool", None)
    program = made.program(other)
    assert len(program.steps) == 2 and program.outputs[0].shape == (4, 16, 35, 16)
    assert difference(program, alone) is None


KINDS = {
    "abs": lambda n, m: tf.abs(n - m) + 1,
    "sign": lambda n, m: n + tf.sign(m),
    "div": lambda n, m: tf.div(n + m, 2),
    "truncatediv": lambda n, m: tf.truncatediv(n + m, 3),
    "truncatemod": lambda n, m: tf.truncatemod(n, 4) + 1,
    "where": lambda n, m: tf.where(tf.logical_and(tf.greater(n, m), tf.not_equal(m, 3)), n, n + m),
    "equal": lambda n, m: n + tf.cast(tf.equal(m, 6), tf.int32),
    "max": lambda n, m: tf.reduce_max(tf.stack([n, m, n // 2 + m])),
    "min": lambda n, m: tf.reduce_min([n, m]),
}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_size_that_a_program_chooses_or_divides_remains_a_formula(name):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None])
        n, m = tf.shape(x)[0], tf.shape(x)[1]
        count = KINDS[name](n, m)
        y = tf.exp(tf.tile(tf.reshape(tf.reduce_sum(x), [1]), tf.reshape(count, [1])))
    cluster = cluster_of(graph, {x: None}, [y])
    made, shapes, _ = compiled(cluster, [np.ones((19, 7), np.float32)], [[None, None]])
    others = 0
    for dims in ((20, 7), (26, 8), (32, 9), (11, 6), (5, 12), (4, 3)):
        other_shapes, sizes = parts_of(cluster, [np.ones(dims, np.float32)], [[None, None]])
        program = made.program(sizes) if other_shapes == shapes else None
        with tf.Session(graph=graph) as sess:
            want = sess.run(count, {x: np.zeros(dims)})
        if program is not None:
            others += 1
            assert program.outputs[0].shape == (want,)
    assert others >= 2


@pytest.mark.parametrize("divide", [tf.floordiv, tf.floormod, tf.truncatediv, tf.truncatemod])
def test_a_size_divided_by_zero_is_zero(divide):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        n = tf.shape(x)[0]
        y = tf.tile([1.0], [divide(n, n - 5)])
        assert sess.run(y, {x: np.ones(5)}).shape == (0,)  # as where the kernel computes it


def test_a_crop_to_the_size_of_another_part_serves_other_sizes():
    """As a network with two ends crops the fine pictures to the size of the coarse ones."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, None, 1])
        fine = tf.nn.relu(x[:, 1:-1, 1:-1])
        coarse = tf.nn.max_pool(fine, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")[:, 1:-1, 1:-1]
        n, m = tf.shape(fine), tf.shape(coarse)
        crop = tf.slice(fine, [0, (n[1] - m[1]) // 2, (n[2] - m[2]) // 2, 0], [-1, m[1], m[2], -1])
        y = tf.exp(crop + coarse)
    cluster = cluster_of(graph, {x: None}, [y])
    made, shapes, _ = compiled(cluster, [np.ones((2, 30, 40, 1), np.float32)], [[None, None, None, 1]])
    other_shapes, sizes = parts_of(cluster, [np.ones((3, 50, 44, 1), np.float32)], [[None, None, None, 1]])
    assert other_shapes == shapes and made.program(sizes).outputs[0].shape == (3, 22, 19, 1)
