"""What a user has is his to change: buffers that are used again, functions that work in place, results that are edited."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from overwriting import overwrite
from rounds import IS_LONG, rounds

import tfnb as tf

ROOT = Path(__file__).resolve().parents[2]
TEXT, NUMBERS = "text", "numbers"
VALUES = {
    NUMBERS: np.array([1, 2, 3], np.float32),
    "integers": np.array([4, 5, 6], np.int64),
    "truths": np.array([True, False, True]),
    "complex": np.array([1 + 2j, 3, 4j], np.complex64),
    TEXT: np.array([b"one", b"two", b"three"], object),
    "a large array": np.arange(30_000, dtype=np.float32),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def sess(graph):
    with tf.Session(graph=graph) as sess:
        yield sess


@pytest.fixture(params=VALUES)
def value(request):
    return VALUES[request.param]


def placeholder(value: np.ndarray) -> tf.Tensor:
    return tf.placeholder(tf.as_dtype(value.dtype), value.shape)


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(found, wanted)


# ---- what is fed ---------------------------------------------------------------------------------


def identity(x):
    return tf.identity(x)


def branch(x):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: x, lambda: tf.identity(x))


def loop_without_turns(x):
    return tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x), [tf.constant(0), x])[1]


def loop(x):
    return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x), [tf.constant(0), x])[1]


def whole(x):
    return x


def reshaped(x):
    return tf.reshape(tf.reshape(x, [-1, 1]), [-1])


def function_of(x):
    return tf.py_func(lambda a: a, [x], x.dtype)


def array_read(x):
    return tf.TensorArray(x.dtype, 1, infer_shape=False).write(0, x).read(0)


def tensor_list(x):
    return tf.map_fn(lambda y: y, x)


PASSING = (whole, identity, branch, loop_without_turns, loop, reshaped, function_of, array_read, tensor_list)


@pytest.mark.parametrize("through", PASSING)
def test_a_buffer_that_is_used_again_leaves_earlier_results_alone(sess, value, through):
    x = placeholder(value)
    y = through(x)
    buffer, kept = value.copy(), []
    for k in range(3):
        buffer[:] = np.roll(value, k)
        kept.append(sess.run(y, {x: buffer}))
        same(buffer, np.roll(value, k))
    for k, result in enumerate(kept):
        same(result, np.roll(value, k))
    for result in kept:
        overwrite(result)
    same(buffer, np.roll(value, 2))


@pytest.mark.parametrize("through", PASSING)
def test_a_partial_run_has_the_value_that_was_fed(sess, value, through):
    x, y = placeholder(value), tf.placeholder(tf.int32, [])
    late = through(x)
    with tf.control_dependencies([y * 1]):
        late = tf.identity(late)
    early = tf.identity(x)
    handle = sess.partial_run_setup([early, late], [x, y])
    buffer = value.copy()
    first = sess.partial_run(handle, early, {x: buffer})
    overwrite(buffer)
    same(first, value)
    overwrite(first)
    same(sess.partial_run(handle, late, {y: 1}), value)


def test_a_callable_does_not_keep_its_arguments(sess, value):
    x = placeholder(value)
    call = sess.make_callable([x, tf.identity(x)], [x])
    buffer = value.copy()
    results = call(buffer)
    overwrite(buffer)
    same(results[0], value)
    overwrite(results[0])
    same(results[1], value)


@pytest.mark.parametrize("resource", [False, True])
def test_a_variable_has_the_value_that_was_assigned(sess, value, resource):
    x = placeholder(value)
    variable = tf.Variable(x, use_resource=resource)
    assigned = tf.assign(variable, x)
    for step in (variable.initializer, assigned):
        buffer = value.copy()
        result = sess.run([step, x], {x: buffer})
        overwrite(buffer)
        overwrite(result)
        read = sess.run([variable, tf.identity(variable)])
        same(read[0], value)
        overwrite(read[0])
        same(read[1], value)
        same(sess.run(variable), value)


# ---- what is kept between steps ------------------------------------------------------------------


def queue(x, feed, sess):
    queue = tf.FIFOQueue(9, [x.dtype], [x.shape])
    sess.run(queue.enqueue(x), feed)
    sess.run(queue.enqueue(x), feed)
    return queue.dequeue()


def rows_of_a_queue(x, feed, sess):
    queue = tf.FIFOQueue(9, [x.dtype], [x.shape])
    sess.run(queue.enqueue_many(tf.stack([x, x])), feed)
    return queue.dequeue()


def padding_queue(x, feed, sess):
    queue = tf.PaddingFIFOQueue(9, [x.dtype], [[None]])
    sess.run([queue.enqueue(x), queue.enqueue(x)], feed)
    return queue.dequeue()


def staging_area(x, feed, sess):
    area = tf.contrib.staging.StagingArea([x.dtype], [x.shape])
    sess.run(area.put([x]), feed)
    sess.run(area.put([x]), feed)
    return area.get()


def slices(x, feed, sess):
    return iterated(tf.data.Dataset.from_tensors(x).repeat(), feed, sess)


def cached(x, feed, sess):
    return iterated(tf.data.Dataset.from_tensor_slices(x[None]).cache().repeat(), feed, sess)


def prefetched(x, feed, sess):
    return iterated(tf.data.Dataset.from_tensors(x).repeat().prefetch(2), feed, sess)


def captured(x, feed, sess):
    return iterated(tf.data.Dataset.range(9).map(lambda i: x), feed, sess)


def iterated(rows, feed, sess):
    iterator = rows.make_initializable_iterator()
    sess.run(iterator.initializer, feed)
    return iterator.get_next()


def handle(x, feed, sess):
    kept = sess.run(tf.get_session_handle(x), feed)
    holder, tensor = tf.get_session_tensor(kept.handle, x.dtype)
    tensor.op.kept = kept, holder
    return lambda: sess.run(tensor, {holder: kept.handle})


def handle_evaluated(x, feed, sess):
    kept = sess.run(tf.get_session_handle(x), feed)
    return kept.eval


KEEPERS = (
    queue,
    rows_of_a_queue,
    padding_queue,
    staging_area,
    slices,
    cached,
    prefetched,
    captured,
    handle,
    handle_evaluated,
)


@pytest.mark.parametrize("through", [whole, identity, branch, loop_without_turns, reshaped, function_of])
@pytest.mark.parametrize("keep", KEEPERS)
def test_what_is_kept_changes_neither_with_the_feed_nor_with_a_result(sess, value, keep, through):
    x, buffer = placeholder(value), value.copy()
    y = through(x)
    y.set_shape(value.shape)
    get = keep(y, {x: buffer}, sess)
    overwrite(buffer)
    read = get if callable(get) else lambda: sess.run(get)
    for _ in range(2):
        result = read()
        same(result, value)
        overwrite(result)


def test_tables_keep_values_of_their_own(sess):
    keys, values = tf.placeholder(tf.int64, [2]), tf.placeholder(tf.float32, [2, 3])
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0, 0.0])
    given = {keys: np.array([1, 2]), values: np.arange(6, dtype=np.float32).reshape(2, 3)}
    wanted = given[values].copy()
    sess.run(table.insert(keys, values), given)
    overwrite(given)
    found, exported = table.lookup(tf.constant([1, 2], tf.int64)), table.export()[1]
    for _ in range(2):
        results = sess.run([found, exported])
        same(results[0], wanted)
        same(np.sort(results[1], 0), wanted)
        overwrite(results)


def test_constants_and_rows_are_copies_of_the_arrays_that_they_were_made_of(sess, value):
    array = value.copy()
    constant = tf.constant(array)
    rows = tf.data.Dataset.from_tensors(array).repeat().make_one_shot_iterator().get_next()
    variable = tf.Variable(array)
    overwrite(array)
    sess.run(variable.initializer)
    for _ in range(2):
        results = [*sess.run([constant, rows, variable]), tf.contrib.util.constant_value(constant)]
        for result in results:
            same(result, value)
        overwrite(results)


def test_digits_that_were_loaded_may_be_changed():
    (images, labels), _ = tf.keras.datasets.mnist.load_data()
    wanted = images.copy(), labels.copy()
    overwrite([images, labels])
    found = tf.keras.datasets.mnist.load_data()[0]
    for a, b in zip(found, wanted, strict=True):
        same(a, b)
    assert not (images == wanted[0]).all()


# ---- functions of the user's ---------------------------------------------------------------------


def spoiled(array: np.ndarray) -> np.ndarray:
    result = array.copy()
    overwrite(array)
    return result


@pytest.mark.parametrize("through", [*PASSING, lambda x: tf.concat([x], 0)])
def test_a_function_that_works_in_place_changes_nothing_but_its_own(sess, value, through):
    x = placeholder(value)
    y = through(x)
    z = tf.py_func(spoiled, [y], y.dtype)
    again = tf.py_func(spoiled, [y], y.dtype)
    buffer = value.copy()
    for result in sess.run([x, y, z, again, tf.identity(y)], {x: buffer}):
        same(result, value)
    same(sess.run(z, {x: buffer}), value)
    same(buffer, value)


def test_a_function_may_change_later_what_it_returned(sess, value):
    kept = value.copy()
    x = tf.py_func(lambda: kept, [], tf.as_dtype(value.dtype))
    queue = tf.FIFOQueue(2, [x.dtype], [value.shape])
    x.set_shape(value.shape)
    result = sess.run([x, queue.enqueue(x)])[0]
    overwrite(result)
    same(kept, value)
    overwrite(kept)
    same(sess.run(queue.dequeue()), value)


def test_a_function_may_keep_what_it_was_given(sess, value):
    x, kept = placeholder(value), []
    y = tf.py_func(lambda a: kept.append(a) or a, [x], x.dtype)
    buffer = value.copy()
    result = sess.run(y, {x: buffer})
    overwrite(buffer)
    overwrite(result)
    same(kept[0], value)


def test_the_kernel_of_ones_own_op_works_in_place(sess):
    def spoil_in_place(x: np.ndarray) -> np.ndarray:
        x += 1
        return x

    op = tf.register_op("x: float32", "y: float32", stateful=True)(spoil_in_place)
    x, value = tf.placeholder(tf.float32, [3]), np.zeros(3, np.float32)
    doubled = x * 2
    results = sess.run([op(x), op(doubled), doubled, op(tf.constant(value))], {x: value})
    for result, wanted in zip(results, (1, 1, 0, 1), strict=True):
        same(result, np.full(3, wanted))
    same(value, np.zeros(3))


@pytest.mark.parametrize("size", [4, 3000])
def test_rows_that_a_function_augments_in_place_are_read_again_unchanged(sess, size):
    def augmented(row: np.ndarray) -> np.ndarray:
        row += 100
        return row

    data = np.arange(3, dtype=np.float32)[:, None] * np.ones((1, size), np.float32)
    rows = tf.data.Dataset.from_tensor_slices(data)
    for source in (rows, rows.cache(), rows.map(tf.identity).cache(), rows.batch(1).cache().map(lambda r: r[0])):
        both = source.map(lambda r: (r, tf.py_func(augmented, [r], tf.float32))).repeat(2)
        get = both.make_one_shot_iterator().get_next()
        for k in (0, 1, 2, 0, 1, 2):
            row, new_row = sess.run(get)
            assert (row[0], new_row[0], new_row[-1]) == (k, k + 100, k + 100)
            overwrite([row, new_row])
    same(data[:, 0], [0, 1, 2])


def test_a_generator_may_yield_one_buffer_again_and_again(sess):
    def rows():
        buffer = np.empty(3, np.float32)
        for k in range(6):
            buffer[:] = k
            yield buffer

    source = tf.data.Dataset.from_generator(rows, tf.float32, [3])
    for ahead in (source, source.prefetch(4), source.shuffle(1), source.cache()):
        get = ahead.batch(2).make_one_shot_iterator().get_next()
        same([sess.run(get)[:, 0] for _ in range(3)], [[0, 1], [2, 3], [4, 5]])


def test_a_generator_function_may_change_its_arguments(sess, value):
    def rows(array: np.ndarray):
        yield array
        overwrite(array)

    x = placeholder(value)
    source = tf.data.Dataset.from_generator(rows, x.dtype, x.shape, args=[x]).repeat(3)
    iterator, buffer = source.make_initializable_iterator(), value.copy()
    sess.run(iterator.initializer, {x: buffer})
    overwrite(buffer)
    get = iterator.get_next()
    for _ in range(3):
        same(sess.run(get), value)


def test_a_generator_of_batches_for_a_model_may_use_its_arrays_again():
    def batches():
        buffer = np.empty(2, np.float32)
        for k in range(5):
            buffer[:] = k
            yield buffer, [buffer]

    enqueuer = tf.keras.utils.GeneratorEnqueuer(batches())
    enqueuer.start()
    found = [(x[0], y[0][1]) for x, y in enqueuer.get()]
    enqueuer.stop()
    assert found == [(k, k) for k in range(5)]


# ---- random programs -----------------------------------------------------------------------------


class RandomProgram:
    """A graph of nodes that pass values on, change them in functions, or compute, with what NumPy gives for each."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.kept = rng, []
        self.x = tf.placeholder(tf.float32, [4])
        self.nodes: list[tuple[tf.Tensor, Callable[[np.ndarray], np.ndarray]]] = [(self.x, lambda x: x)]
        for _ in range(rng.integers(3, 12)):
            self._grow()

    def _grow(self) -> None:
        tensor, value = self.nodes[self.rng.integers(len(self.nodes))]
        number = float(self.rng.integers(1, 5))
        makers = (*PASSING[1:7], self._sum, self._product, self._in_place, self._stored, self._through_queue)
        maker = makers[self.rng.integers(len(makers))]
        made, change = maker(tensor, number) if maker.__name__.startswith("_") else (maker(tensor), lambda v: v)
        made.set_shape([4])
        self.nodes.append((made, lambda x: change(value(x))))

    def _sum(self, tensor, number):
        return tensor + number, lambda v: v + np.float32(number)

    def _product(self, tensor, number):
        return tensor * number, lambda v: v * np.float32(number)

    def _in_place(self, tensor, number):
        def function(array):
            array += np.float32(number)
            self.kept.append(array)
            return array

        return tf.py_func(function, [tensor], tf.float32), lambda v: v + np.float32(number)

    def _stored(self, tensor, number):
        store = np.empty(4, np.float32)

        def function(array):
            store[:] = array * np.float32(number)
            self.kept += [array, store]
            return store

        return tf.py_func(function, [tensor], tf.float32), lambda v: v * np.float32(number)

    def _through_queue(self, tensor, number):
        queue = tf.FIFOQueue(9, tf.float32, [[4]])
        with tf.control_dependencies([queue.enqueue(tensor)]):
            return queue.dequeue(), lambda v: v

    def check(self, sess: tf.Session) -> None:
        buffer = np.empty(4, np.float32)
        for _ in range(3):
            buffer[:] = value = self.rng.integers(0, 9, 4)
            order = self.rng.permutation(len(self.nodes))
            results = sess.run([self.nodes[k][0] for k in (*order, *order)], {self.x: buffer})
            overwrite([buffer, *self.kept])
            for k, result in zip((*order, *order), results, strict=True):
                same(result, self.nodes[k][1](value.astype(np.float32)))
                overwrite(result)
            self.kept.clear()


@pytest.mark.parametrize("seed", range(rounds(6, 200)))
def test_random_programs_compute_the_same_however_arrays_are_used_again(seed, sess):
    RandomProgram(np.random.default_rng(seed)).check(sess)


# ---- the tests of others -------------------------------------------------------------------------

SHORT = ("tests/session/test_partial_run.py", "tests/client/control_flow/test_cond.py", "tests/client/sync")
LONG = ("tests/session", "tests/client", "tests/train", "tests/programs", "tests/v1/keras", "tests/ops/dataset")


def test_other_tests_pass_while_everything_is_overwritten():
    """`pytest --overwrite` (tests/support/overwriting.py), in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--overwrite"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    chosen = LONG if IS_LONG else SHORT
    run = subprocess.run([*command, *chosen], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
