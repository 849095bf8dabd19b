"""A program whose variables, arrays, queues, tables and iterators hold values of another shape at each step.

`Program(tf)` builds it with tfnb or with TensorFlow 1.x, `run` makes steps that are drawn from a seed, and
`python changing_shapes.py FILE` writes what TensorFlow 1.15.5 returns, as checksums, for `test_changing_shapes.py`.
All numbers are small integers, so results are exact. A model of NumPy says what each step should return.
"""

import collections
import json
import os
import sys
import tempfile
import zlib

import numpy as np

SHAPES = ((1, 1), (3, 2), (2, 3), (7, 5), (50, 40), (64, 3), (130, 17), (1, 200))
MOST_ROWS = 300
VARIABLES = ("a", "r", "n")  # a reference, a resource, and one of integers
SEEDS, STEPS = 8, 48


class Program:
    """The graph: for each way to write a variable an operation, and everything that reads."""

    def __init__(self, tf, device=None):
        self.tf = tf
        with tf.device(device):
            self.x = tf.placeholder(tf.float32, [None, None])
            self.keys = tf.placeholder(tf.int64, [None])
            x, whole = self.x, tf.cast(self.x, tf.int32)
            with tf.variable_scope("v"):
                a = tf.Variable(x, validate_shape=False, name="a")
                r = tf.get_variable("r", initializer=x, validate_shape=False, use_resource=True)
                n = tf.Variable(whole, validate_shape=False, name="n", trainable=False)
            self.writes, self.reads = {}, {}
            for name, v, value in (("a", a, x), ("r", r, x), ("n", n, whole)):
                self._write(name, v, value)
            self._others(r)
        self.saver = tf.train.Saver([a, r, n], max_to_keep=None)

    def _write(self, name, v, value):
        tf = self.tf
        now = v.read_value()

        def becomes(new):
            return tf.assign(v, new, validate_shape=False)

        self.writes[name] = {
            "first": v.initializer,
            "set": becomes(value),
            "computed": becomes(tf.nn.relu(value) * 2 + 1),
            "above": becomes(tf.concat([value, now], 0)),
            "below": becomes(tf.concat([now, value], 0)),
            "cut": becomes(now[1:]),
            "thin": becomes(now[::2] + 1),
            "turn": becomes(tf.transpose(now)),
            "add": tf.assign_add(v, value),
            "row": tf.scatter_update(v, [0], value),
        }
        if name != "n":
            optimizer = tf.train.GradientDescentOptimizer(1.0)
            self.writes[name]["descend"] = optimizer.minimize(tf.reduce_sum(v * value), var_list=[v])
        with tf.control_dependencies([now]):
            self.reads[name] = [
                tf.identity(now),
                tf.reduce_sum(now, 0),
                tf.shape(now),
                tf.matmul(tf.sign(now), tf.sign(now), transpose_b=True)[:3],
            ]

    def _others(self, r):
        tf, x = self.tf, self.x

        def grown(i):
            longer = tf.concat([r.read_value(), x], 0)
            with tf.control_dependencies([tf.assign(r, longer, validate_shape=False)]):
                return i + 1

        self.writes["r"]["loop"] = tf.while_loop(lambda i: i < 2, grown, [0], parallel_iterations=1)
        size = tf.minimum(tf.shape(x)[0], 9)
        array = tf.TensorArray(tf.float32, size, infer_shape=False, element_shape=[None, None])
        _, array = tf.while_loop(
            lambda i, _: i < size, lambda i, array: (i + 1, array.write(i, x[: i + 1] * 2)), [0, array]
        )
        self.array = array.concat()
        self.queue = tf.FIFOQueue(1000, [tf.float32])
        self.enqueue, self.dequeue = self.queue.enqueue([x]), self.queue.dequeue()
        self.table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, -1.0)
        self.insert, self.find = self.table.insert(self.keys, x[0]), self.table.lookup(self.keys)
        self.iterator = tf.data.Dataset.from_tensor_slices(x).map(lambda row: row + 1).make_initializable_iterator()
        self.next = self.iterator.get_next()


class Model:
    """What NumPy says that everything holds, and what has been saved under which name."""

    def __init__(self):
        self.values, self.queued, self.table, self.saved = {}, collections.deque(), {}, []

    def after(self, way, old, x):
        """The value of a variable that was written."""
        return {
            "first": lambda: x,
            "set": lambda: x,
            "computed": lambda: np.maximum(x, 0) * 2 + 1,
            "above": lambda: np.concatenate([x, old]),
            "below": lambda: np.concatenate([old, x]),
            "cut": lambda: old[1:],
            "thin": lambda: old[::2] + 1,
            "turn": lambda: old.T,
            "add": lambda: old + x,
            "row": lambda: np.concatenate([x, old[1:]]),
            "descend": lambda: old - x,
            "loop": lambda: np.concatenate([old, x, x]),
        }[way]()


def fits(way, old):
    """The shape of what must be fed; None: any of `SHAPES`."""
    if way in ("above", "below", "loop"):
        return (5, old.shape[1])
    if way in ("add", "descend"):
        return old.shape
    return (1, old.shape[1]) if way == "row" else None


def drawn(random, shape=None):
    shape = SHAPES[random.randint(len(SHAPES))] if shape is None else shape
    return random.randint(-8, 9, shape).astype(np.float32)


def reads_of(value):
    signs = np.sign(value)
    return [value, value.sum(0, value.dtype), np.array(value.shape, np.int32), np.dot(signs, signs.T)[:3]]


def run(program, session, seed, n_steps, folder, beside=None):
    """Yields for each step what was done, what the session returned and what the model says.

    `beside(written, state, operation, feed)` is called before each write of a variable, and returns the value that
    another session with the same state gets, or None.
    """
    random, model = np.random.RandomState(seed), Model()
    for name in VARIABLES:
        x = drawn(random)
        session.run(program.writes[name]["first"], {program.x: x})
        model.values[name] = x if name != "n" else x.astype(np.int32)
    others = ("array", "queue", "table", "iterator", "save", "restore")
    for _ in range(n_steps):
        if random.randint(4) == 0:
            yield other_step(program, session, random, model, folder, others[random.randint(len(others))])
            continue
        name = VARIABLES[random.randint(len(VARIABLES))]
        old, ways = model.values[name], sorted(program.writes[name])
        way = ways[random.randint(len(ways))]
        if old.shape[0] > MOST_ROWS or old.shape[1] > MOST_ROWS or (way in ("cut", "thin") and old.shape[0] < 2):
            way = "set"
        x = drawn(random, fits(way, old))
        new = model.after(way, old, x).astype(old.dtype)
        feed = {program.x: x}
        also = [] if beside is None else beside(name, model.values, way, feed)
        session.run(program.writes[name][way], feed)
        model.values[name] = new
        found = session.run(program.reads[name])
        yield (way, name), list(found) + also, reads_of(new) + [new] * len(also)


def other_step(program, session, random, model, folder, kind):
    """A step that writes no variable, or all of them."""
    x = drawn(random)
    feed = {program.x: x}
    if kind == "array":
        parts = [x[: i + 1] * 2 for i in range(min(len(x), 9))]
        return (kind, ""), [session.run(program.array, feed)], [np.concatenate(parts)]
    if kind == "queue":
        session.run(program.enqueue, feed)
        model.queued.append(x)
        if random.randint(2):
            return (kind, "dequeue"), [session.run(program.dequeue)], [model.queued.popleft()]
        return (kind, "enqueue"), [session.run(program.queue.size())], [np.int32(len(model.queued))]
    if kind == "table":
        keys = random.randint(0, 300, x.shape[1])
        keys = np.unique(keys)
        x = x[:1, : len(keys)]
        session.run(program.insert, {program.x: x, program.keys: keys})
        model.table.update({key: float(x[0, i]) for i, key in enumerate(keys.tolist())})
        asked = np.arange(random.randint(1, 300))
        right = np.array([model.table.get(k, -1.0) for k in asked.tolist()], np.float32)
        return (kind, ""), [session.run(program.find, {program.keys: asked})], [right]
    if kind == "iterator":
        session.run(program.iterator.initializer, feed)
        n = min(len(x), 3)
        return (kind, ""), [session.run(program.next) for _ in range(n)], [row + 1 for row in x[:n]]
    if kind == "save" or not model.saved:
        path = program.saver.save(session, os.path.join(folder, "m"), global_step=len(model.saved))
        model.saved.append((path, dict(model.values)))
        return ("save", ""), [], []
    path, values = model.saved[random.randint(len(model.saved))]
    program.saver.restore(session, path)
    model.values = dict(values)
    found = [session.run(program.reads[name][0]) for name in VARIABLES]
    return ("restore", ""), found, [model.values[name] for name in VARIABLES]


def checksum(values):
    """Of the shapes, dtypes and bytes of values."""
    number = 0
    for v in map(np.asarray, values):
        v = v + v.dtype.type(0)  # -0.0 and 0.0 are the same number
        number = zlib.crc32(repr((v.dtype.name, v.shape)).encode(), number)
        number = zlib.crc32(np.ascontiguousarray(v).tobytes(), number)
    return number & 0xFFFFFFFF


def main(path):
    import tensorflow as tf

    found = {}
    for seed in range(SEEDS):
        tf.reset_default_graph()
        program = Program(tf)
        with tf.Session() as session:
            steps = list(run(program, session, seed, STEPS, tempfile.mkdtemp()))
        wrong = [done for done, values, right in steps if checksum(values) != checksum(right)]
        sys.stdout.write(f"seed {seed} differs from the model in {wrong}\n")
        found[seed] = [checksum(values) for _, values, _ in steps]
    with open(path, "w") as f:
        json.dump({"made with": "TensorFlow " + tf.__version__, "checksums": found}, f)


if __name__ == "__main__":
    main(sys.argv[1])
