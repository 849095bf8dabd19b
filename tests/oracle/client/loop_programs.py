"""Control-flow programs for both libraries: each gives outputs, what to differentiate by, and feeds.

`PROGRAMS[name](t)` builds with `t` (tfnb or TensorFlow) and returns (ys, xs, feeds by placeholder name).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], tuple[list[Any], list[Any], list[dict[str, Any]]]]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    PROGRAMS[f.__name__] = f
    return f


def real(t: Any, name: str, shape: Any = ()) -> Any:
    return t.placeholder(np.float64, shape, name=name)


V = np.array([0.3, -0.7, 1.1])
M = np.array([[0.5, 0.2, -0.1], [0.0, 0.6, 0.3], [-0.4, 0.1, 0.7]])


@program
def counter(t):
    return [t.while_loop(lambda i: i < 10, lambda i: i + 1, [t.constant(0)])], [], [{}]


@program
def zero_iterations(t):
    x = real(t, "x", [3])
    y = t.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * y), [0, x])[1]
    return [y], [x], [{"x": V}]


@program
def squares(t):
    x = real(t, "x", [3])
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * y], [0, x])[1]
    return [y], [x], [{"x": V}]


@program
def fed_count(t):
    n = t.placeholder(np.int32, [], name="n")
    x = real(t, "x")
    y = t.while_loop(lambda i, y: i < n, lambda i, y: [i + 1, t.sin(y) + x], [0, x])[1]
    return [y], [x], [{"n": k, "x": 0.4} for k in (0, 1, 5)]


@program
def captured(t):
    x, w = real(t, "x", [1, 3]), real(t, "w", [3, 3])
    y = t.while_loop(lambda i, y: i < 4, lambda i, y: [i + 1, t.tanh(t.matmul(y, w))], [0, x])[1]
    return [y], [x, w], [{"x": V[None], "w": M}]


@program
def captured_constant(t):
    x, c = real(t, "x"), t.constant(np.float64(1.5))
    y = t.while_loop(lambda i, y: i < 4, lambda i, y: [i + 1, y * c + t.cos(y)], [0, x])[1]
    return [y], [x, c], [{"x": 0.2}]


@program
def captured_variable(t):
    v = t.Variable(V)
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * v], [0, t.ones_like(v.value())])[1]
    return [y], [v], [{}]


@program
def two_variables(t):
    x, y = real(t, "x"), real(t, "y")
    _, a, b = t.while_loop(lambda i, a, b: i < 5, lambda i, a, b: (i + 1, b * 0.5 + t.sin(a), a * b), [0, x, y])
    return [a, b], [x, y], [{"x": 0.5, "y": 1.5}]


@program
def unused_output(t):
    x, y = real(t, "x"), real(t, "y")
    _, a, _ = t.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * a, a + b), [0, x, y])
    return [a], [x, y], [{"x": 0.5, "y": 1.5}]


@program
def condition_on_value(t):
    x = real(t, "x")
    y = t.while_loop(lambda y: y < 100.0, lambda y: y * x, [x])
    return [y], [x], [{"x": 2.0}, {"x": 3.5}, {"x": 200.0}]


@program
def structures(t):
    x = real(t, "x")
    start = {"a": x, "b": (x * 2.0, [t.constant(0)])}

    def body(s):
        a, (b, [i]) = s["a"], s["b"]
        return [{"a": b * 0.5, "b": (a + b, [i + 1])}]

    (out,) = t.while_loop(lambda s: s["b"][1][0] < 3, body, [start])
    return [out["a"], out["b"][0]], [x], [{"x": 1.3}]


@program
def shape_invariants(t):
    x = real(t, "x", [1, 2])
    _, y = t.while_loop(
        lambda i, y: i < 3,
        lambda i, y: [i + 1, t.concat([y, y * 2.0], 0)],
        [t.constant(0), x],
        shape_invariants=[t.TensorShape([]), t.TensorShape([None, 2])],
    )
    return [y], [x], [{"x": [[1.0, 2.0]]}]


@program
def unknown_shapes(t):
    x = real(t, "x", [None, 3])
    w = real(t, "w", [3])
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, t.sin(y * w) + y], [0, x])[1]
    return [y], [x, w], [{"x": M, "w": V}, {"x": M[:1], "w": V}]


@program
def maximum_iterations(t):
    x = real(t, "x")
    y = t.while_loop(lambda y: y < 50.0, lambda y: y * 2.0, [x], maximum_iterations=3)
    return [y], [x], [{"x": 1.0}, {"x": 20.0}]


@program
def nested(t):
    x = real(t, "x", [2])

    def body(i, y):
        _, z = t.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, t.sin(z) * y], [0, y])
        return [i + 1, z + 0.1 * x]

    y = t.while_loop(lambda i, y: i < 4, body, [0, x])[1]
    return [y], [x], [{"x": [0.7, 1.2]}]


@program
def nested_three(t):
    x, c = real(t, "x"), real(t, "c")

    def inner(j, k, z):
        return t.while_loop(lambda m, z: m < k, lambda m, z: [m + 1, z * c + t.cos(z)], [j, z])[1]

    def middle(i, y):
        return t.while_loop(lambda k, z: k < i, lambda k, z: [k + 1, inner(0, k, z) * x], [0, y])[1]

    y = t.while_loop(lambda i, y: i < 4, lambda i, y: [i + 1, middle(i, y) + y], [0, x])[1]
    return [y], [x, c], [{"x": 0.6, "c": 0.3}]


@program
def cond_in_loop(t):
    x = real(t, "x", [2])

    def body(i, y):
        y = t.cond(t.equal(i % 2, 0), lambda: t.sin(y) * x, lambda: y + t.cast(i, t.float64))
        return [i + 1, y]

    return [t.while_loop(lambda i, y: i < 5, body, [0, x])[1]], [x], [{"x": [0.7, 1.2]}]


@program
def cond_on_data_in_loop(t):
    x = real(t, "x")

    def body(i, y):
        return [i + 1, t.cond(y > 1.0, lambda: y * 0.5, lambda: t.square(y) + x)]

    y = t.while_loop(lambda i, y: i < 6, body, [0, x])[1]
    return [y], [x], [{"x": 0.7}, {"x": 1.5}, {"x": 0.1}]


@program
def unused_capture_in_a_branch(t):
    x, w = real(t, "x"), real(t, "w")

    def body(i, y):
        return [i + 1, t.cond(i > 2, lambda: y * w, lambda: y * 1.5)]

    y = t.while_loop(lambda i, y: i < 2, body, [0, x])[1]
    return [y], [x, w], [{"x": 0.7, "w": 2.0}]


@program
def loop_in_cond(t):
    p, x = t.placeholder(bool, [], name="p"), real(t, "x")
    y = t.cond(
        p,
        lambda: t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [0, x])[1],
        lambda: x * 3.0,
    )
    return [y], [x], [{"p": b, "x": 1.2} for b in (True, False)]


@program
def while_in_cond_in_while(t):
    x, w = real(t, "x"), real(t, "w")

    def body(i, y):
        def loop():
            return t.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, z * w + y], [0, y])[1]

        return [i + 1, t.cond(t.equal(i % 2, 1), loop, lambda: t.sin(y))]

    y = t.while_loop(lambda i, y: i < 5, body, [0, x])[1]
    return [y], [x, w], [{"x": 0.7, "w": 0.4}]


@program
def cond_in_while_in_cond(t):
    p, x, w = t.placeholder(bool, [], name="p"), real(t, "x"), real(t, "w")

    def loop():
        def body(i, y):
            return [i + 1, t.cond(y > w, lambda: y * 0.5, lambda: y + w * x)]

        return t.while_loop(lambda i, y: i < 4, body, [0, x])[1]

    y = t.cond(p, loop, lambda: x * w)
    return [y], [x, w], [{"p": b, "x": 0.7, "w": 0.9} for b in (True, False)]


@program
def conds_in_conds_in_a_loop(t):
    x, w = real(t, "x"), real(t, "w")

    def body(i, y):
        def left():
            return t.cond(y > 0.5, lambda: y * w, lambda: y + w)

        return [i + 1, t.cond(i < 2, left, lambda: t.sin(y) * w)]

    y = t.while_loop(lambda i, y: i < 4, body, [0, x])[1]
    return [y], [x, w], [{"x": 0.2, "w": 0.9}]


@program
def result_of_a_loop_in_a_loop(t):
    x = real(t, "x")
    first = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [0, x])[1]
    y = t.while_loop(lambda i, y: i < 2, lambda i, y: [i + 1, t.sin(y) + first], [0, first])[1]
    return [y], [x], [{"x": 1.1}]


@program
def reads_what_was_before(t):
    x = real(t, "x", [3])
    z = t.exp(x) * 0.1
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * z + t.reduce_sum(z)], [0, z])[1]
    return [y, z], [x], [{"x": V}]


@program
def integers_and_floats(t):
    x = real(t, "x")

    def body(i, n, y):
        return [i + 1, n * 2 + i, y * t.cast(n, t.float64)]

    _, n, y = t.while_loop(lambda i, n, y: i < 4, body, [0, 1, x])
    return [n, y], [x], [{"x": 0.3}]


@program
def body_that_keeps_a_variable(t):
    x, z = real(t, "x"), real(t, "z")
    _, y, w = t.while_loop(lambda i, y, w: i < 3, lambda i, y, w: [i + 1, y * w, w], [0, x, z])
    return [y, w], [x, z], [{"x": 0.3, "z": 1.4}]


@program
def body_that_forgets(t):
    x = real(t, "x")
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, t.cast(i, t.float64) * 2.0], [0, x])[1]
    return [y], [x], [{"x": 0.3}]


@program
def reductions(t):
    x = real(t, "x", [2, 3])

    def body(i, y):
        return [i + 1, y - t.reduce_mean(y, 1, keepdims=True) + 0.1 * t.nn.softmax(y)]

    return [t.while_loop(lambda i, y: i < 3, body, [0, x])[1]], [x], [{"x": M[:2]}]


@program
def slices_by_counter(t):
    x = real(t, "x", [4, 2])

    def body(i, s):
        return [i + 1, s * 0.9 + t.gather(x, i)]

    return (
        [t.while_loop(lambda i, s: i < 4, body, [0, t.zeros([2], t.float64)])[1]],
        [x],
        [{"x": np.arange(8.0).reshape(4, 2)}],
    )


@program
def parallel_iterations_one(t):
    x = real(t, "x")
    y = t.while_loop(
        lambda i, y: i < 5,
        lambda i, y: [i + 1, t.sin(y) + x],
        [0, x],
        parallel_iterations=1,
        swap_memory=True,
    )[1]
    return [y], [x], [{"x": 0.3}]


@program
def no_back_prop(t):
    x = real(t, "x")
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [0, t.constant(np.float64(1))], back_prop=False)[
        1
    ]
    return [y], [], [{"x": 1.3}]


@program
def case_in_loop(t):
    x = real(t, "x")

    def body(i, y):
        y = t.case([(t.equal(i, 0), lambda: y * x), (t.equal(i, 2), lambda: t.sin(y))], default=lambda: y + 1.0)
        return [i + 1, y]

    return [t.while_loop(lambda i, y: i < 4, body, [0, x])[1]], [x], [{"x": 0.8}]


@program
def assignments(t):
    v = t.Variable(np.float64(1.0))
    u = t.Variable(np.int32(0))

    def body(i):
        with t.control_dependencies([t.assign_add(v, t.cast(i, t.float64)), t.assign_add(u, 2)]):
            return i + 1

    done = t.while_loop(lambda i: i < 4, body, [0])
    with t.control_dependencies([done]):
        return [done, v.read_value(), u.read_value()], [], [{}, {}]


@program
def array_of_squares(t):
    x = real(t, "x")

    def body(i, ta):
        return i + 1, ta.write(i, t.cast(i, t.float64) * x * x)

    ta = t.TensorArray(t.float64, size=4)
    ta = t.while_loop(lambda i, _: i < 4, body, [0, ta])[1]
    return [ta.stack(), ta.size()], [x], [{"x": 1.3}]


@program
def array_read_and_written(t):
    x = real(t, "x", [3, 2])
    source = t.TensorArray(t.float64, size=3).unstack(x)
    target = t.TensorArray(t.float64, size=3)

    def body(i, s, ta):
        s = t.tanh(s + source.read(i))
        return i + 1, s, ta.write(i, s * 2.0)

    _, s, ta = t.while_loop(lambda i, *_: i < 3, body, [0, t.zeros([2], t.float64), target])
    return [s, ta.stack()], [x], [{"x": np.arange(6.0).reshape(3, 2) / 5}]


@program
def array_grows(t):
    n, x = t.placeholder(np.int32, [], name="n"), real(t, "x", [2])
    ta = t.TensorArray(t.float64, size=0, dynamic_size=True, element_shape=[2])
    _, ta = t.while_loop(lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, x * t.cast(i + 1, t.float64))), [0, ta])
    return [ta.stack()], [x], [{"n": 3, "x": [1.0, 2.0]}]


@program
def array_ops(t):
    x = real(t, "x", [4, 2])
    a = t.TensorArray(t.float64, size=4, clear_after_read=False).unstack(x)
    b = t.TensorArray(t.float64, size=3, infer_shape=False).split(x, [1, 0, 3])
    c = t.TensorArray(t.float64, size=4).scatter([2, 0, 3, 1], x)
    parts = [a.gather([3, 0]), a.read(0) * 2.0, b.concat() * x, c.stack() * 3.0]
    return parts, [x], [{"x": np.arange(8.0).reshape(4, 2)}]


@program
def array_in_a_branch(t):
    p, x = t.placeholder(bool, [], name="p"), real(t, "x", [2])
    ta = t.TensorArray(t.float64, size=2).write(0, x)
    y = t.cond(p, lambda: ta.write(1, x * x).stack(), lambda: t.stack([x, x * 3.0]))
    return [y], [x], [{"p": b, "x": [1.0, 2.0]} for b in (True, False)]


@program
def array_through_branches_in_a_loop(t):
    x = real(t, "x")

    def body(i, y, ta):
        y = y * x
        ta = t.cond(t.equal(i % 2, 0), lambda: ta.write(i, y), lambda: ta.write(i, -2.0 * y))
        return i + 1, y, ta

    ta = t.TensorArray(t.float64, size=4)
    _, y, ta = t.while_loop(lambda i, *_: i < 4, body, [0, x, ta])
    return [y, ta.stack()], [x], [{"x": 1.2}]


@program
def array_per_iteration(t):
    x = real(t, "x", [3])

    def body(i, y):
        ta = t.TensorArray(t.float64, size=3).unstack(y * x)
        out = t.TensorArray(t.float64, size=3)
        _, out = t.while_loop(lambda j, _: j < 3, lambda j, o: (j + 1, o.write(j, t.sin(ta.read(j)))), [0, out])
        return i + 1, out.stack()

    y = t.while_loop(lambda i, _: i < 3, body, [0, x])[1]
    return [y], [x], [{"x": V}]


@program
def array_of_integers(t):
    x = real(t, "x")
    ids = t.TensorArray(t.int32, size=3).unstack([2, 0, 1])
    out = t.TensorArray(t.int32, size=3)

    def body(i, y, o):
        k = ids.read(i)
        return i + 1, y * x + t.cast(k, t.float64), o.write(i, k * 2)

    _, y, o = t.while_loop(lambda i, *_: i < 3, body, [0, x, out])
    return [y, o.stack()], [x], [{"x": 1.2}]


@program
def array_read_twice(t):
    x = real(t, "x", [3])
    ta = t.TensorArray(t.float64, size=3, clear_after_read=False).unstack(x)
    _, y = t.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + ta.read(i) * ta.read(0)), [0, x[0]])
    return [y], [x], [{"x": V}]


@program
def array_partly_unused(t):
    x = real(t, "x", [3])
    ta = t.TensorArray(t.float64, size=3).unstack(t.sin(x))
    return [ta.read(1) * 2.0], [x], [{"x": V}]


@program
def mapped(t):
    x, w = real(t, "x", [None, 2]), real(t, "w", [2])
    y = t.map_fn(lambda e: t.sin(e) * w, x)
    z = t.map_fn(lambda e: (e[0] + e[1], e[0] * 2.0), (x, x), dtype=(t.float64, t.float64))
    n = t.map_fn(lambda e: t.reduce_sum(t.cast(e, t.int32)), x, dtype=t.int32)
    return [y, z[0], z[1], n], [x, w], [{"x": M[:, :2], "w": V[:2]}, {"x": M[:1, :2], "w": V[:2]}]


@program
def folded(t):
    x = real(t, "x", [3, 2])
    left = t.foldl(lambda a, e: a * 0.5 + t.sin(e), x)
    right = t.foldr(lambda a, e: a * e, x, initializer=t.ones([2], t.float64))
    return [left, right], [x], [{"x": M[:, :2]}]


@program
def scanned(t):
    x = real(t, "x", [3])
    sums = t.scan(lambda a, e: a + e * e, x)
    pairs = t.scan(lambda a, e: (a[0] * e, a[1] + a[0]), x, initializer=(t.ones([], t.float64), t.zeros([], t.float64)))
    return [sums, *pairs], [x], [{"x": V}]


@program
def scanned_backwards(t):
    x = real(t, "x", [3])
    return [t.scan(lambda a, e: a * 0.5 + e, x, reverse=True)], [x], [{"x": V}]


@program
def map_in_map(t):
    x = real(t, "x", [2, 3])
    y = t.map_fn(lambda row: t.map_fn(lambda e: e * t.reduce_sum(row), row), x)
    return [y], [x], [{"x": M[:2]}]


class Cell:
    """A recurrent cell with a pair of states, for both libraries."""

    def __init__(self, t, units):
        self.t, self.units = t, units
        rng = np.random.default_rng(1)
        self.w = t.Variable(rng.uniform(-0.5, 0.5, (5, units)))

    def __call__(self, inputs, state, scope=None):
        t, (a, b) = self.t, state
        h = t.tanh(t.matmul(t.concat([inputs, a], 1), self.w))
        return h * b, (h, b + h)

    @property
    def output_size(self):
        return self.units

    @property
    def state_size(self):
        return (self.units, self.units)

    def zero_state(self, batch, dtype):
        shape = self.t.stack([batch, self.units])
        return (self.t.zeros(shape, dtype), self.t.ones(shape, dtype))


SEQUENCES = np.random.default_rng(0).uniform(-1, 1, (4, 5, 2))


@program
def recurrent(t):
    x = real(t, "x", [4, 5, 2])
    cell = Cell(t, 3)
    y, (a, b) = t.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(4, t.float64))
    return [y, a, b], [x, cell.w], [{"x": SEQUENCES}]


@program
def recurrent_with_lengths(t):
    x = real(t, "x", [None, None, 2])
    n = t.placeholder(np.int32, [None], name="n")
    cell = Cell(t, 3)
    y, (a, b) = t.nn.dynamic_rnn(
        cell, x, sequence_length=n, initial_state=cell.zero_state(t.shape(x)[0], t.float64), swap_memory=True
    )
    feeds = [{"x": SEQUENCES, "n": [5, 2, 0, 3]}, {"x": SEQUENCES[:2, :3], "n": [1, 2]}]
    return [y, a, b], [x, cell.w], feeds


@program
def recurrent_time_major(t):
    x = real(t, "x", [5, 4, 2])
    cell = Cell(t, 3)
    y, _ = t.nn.dynamic_rnn(
        cell, x, initial_state=cell.zero_state(4, t.float64), time_major=True, parallel_iterations=1
    )
    return [y[3:]], [x, cell.w], [{"x": SEQUENCES.transpose(1, 0, 2)}]


@program
def recurrent_both_ways(t):
    x = real(t, "x", [4, 5, 2])
    n = t.placeholder(np.int32, [4], name="n")
    fw, bw = Cell(t, 3), Cell(t, 3)
    (y, z), (s, r) = t.nn.bidirectional_dynamic_rnn(
        fw, bw, x, n, fw.zero_state(4, t.float64), bw.zero_state(4, t.float64)
    )
    return [y, z, *s, *r], [x, fw.w, bw.w], [{"x": SEQUENCES, "n": [5, 2, 1, 3]}]


@program
def recurrent_raw(t):
    x = real(t, "x", [5, 4, 2])
    n = t.placeholder(np.int32, [4], name="n")
    cell = Cell(t, 3)
    inputs = t.TensorArray(t.float64, size=5, clear_after_read=False).unstack(x)

    def loop_fn(time, output, state, loop_state):
        following = cell.zero_state(4, t.float64) if output is None else state
        finished = time >= n
        over = t.reduce_all(finished)
        nothing = t.zeros([4, 2], t.float64)
        value = t.cond(over, lambda: nothing, lambda: inputs.read(time))
        return finished, value, following, output, None

    if t.__name__ != "tfnb":

        class TheirCell(t.nn.rnn_cell.RNNCell):
            def __call__(self, inputs, state, scope=None):
                return cell(inputs, state)

            output_size, state_size = 3, (3, 3)

        stepped = TheirCell()
    else:
        stepped = cell
    emitted, (a, b), _ = t.nn.raw_rnn(stepped, loop_fn)
    return [emitted.stack(), a, b], [x, cell.w], [{"x": SEQUENCES.transpose(1, 0, 2), "n": [5, 2, 1, 3]}]


@program
def rows_gathered_in_a_loop(t):
    table = real(t, "table", [5, 2])
    y = t.while_loop(
        lambda i, y: i < 3,
        lambda i, y: [i + 1, t.sin(y) + t.gather(table, [i, 4])],
        [0, t.zeros([2, 2], t.float64)],
    )[1]
    return [y], [table], [{"table": np.arange(10.0).reshape(5, 2) / 7}]


@program
def rows_gathered_in_a_branch(t):
    p, table = t.placeholder(bool, [], name="p"), real(t, "table", [5, 2])
    y = t.cond(p, lambda: t.gather(table, [1, 3, 1]), lambda: t.gather(table, [0, 0, 2]) * 2.0)
    return [y], [table], [{"p": b, "table": np.arange(10.0).reshape(5, 2)} for b in (True, False)]


@program
def second_order_through_a_branch(t):
    p, x = t.placeholder(bool, [], name="p"), real(t, "x", [2])
    y = t.cond(p, lambda: t.reduce_sum(x**3), lambda: t.reduce_sum(t.sin(x)))
    return [t.gradients(y, x)[0]], [x], [{"p": b, "x": [0.5, 1.5]} for b in (True, False)]


@program
def gradient_in_a_body(t):
    x, w = real(t, "x"), real(t, "w")

    def body(i, x):
        return [i + 1, x - 0.1 * t.gradients(t.sin(x) * w, x)[0]]

    return [t.while_loop(lambda i, x: i < 3, body, [0, x])[1]], [x, w], [{"x": 0.3, "w": 1.5}]


@program
def two_gradients_of_one_loop(t):
    x, w = real(t, "x"), real(t, "w")
    y, z = t.while_loop(lambda i, y, z: i < 3, lambda i, y, z: [i + 1, t.sin(y) * w + z, y * z], [0, x, w])[1:]
    return [t.gradients(y, [x, w])[0] + t.gradients(z, x)[0]], [], [{"x": 0.3, "w": 1.5}]


@program
def matrices_in_nested_loops(t):
    x, w = real(t, "x", [2, 3]), real(t, "w", [3, 3])

    def body(i, y):
        z = t.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, t.tanh(t.matmul(z, w))], [0, y])[1]
        return [i + 1, z + t.matmul(y, w, transpose_b=True)]

    y = t.while_loop(lambda i, y: i < 3, body, [0, x])[1]
    return [y], [x, w], [{"x": M[:2], "w": M}]


@program
def a_loop_in_both_branches(t):
    p, x = t.placeholder(bool, [], name="p"), real(t, "x")

    def times(k):
        return lambda: t.while_loop(lambda i, y: i < k, lambda i, y: [i + 1, y * x], [0, x])[1]

    return [t.cond(p, times(2), times(0))], [x], [{"p": b, "x": 1.2} for b in (True, False)]


@program
def branches_without_gradient(t):
    x = real(t, "x")

    def body(i, y):
        return [i + 1, t.cond(i > 0, lambda: t.constant(np.float64(2.0)), lambda: y * x)]

    return [t.while_loop(lambda i, y: i < 2, body, [0, x])[1]], [x], [{"x": 1.2}]


@program
def stopped_gradient_in_a_body(t):
    x = real(t, "x")
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x + t.stop_gradient(y * y)], [0, x])[1]
    return [y], [x], [{"x": 0.7}]
