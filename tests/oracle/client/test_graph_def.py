"""Graphs cross over: TensorFlow's GraphDefs run here, ours run in TensorFlow, with equal fetches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (4, 3)).astype(np.float32)
IMAGES = RNG.uniform(-1, 1, (2, 8, 8, 3)).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def as_in_version_1():
    """Reference variables and loops of Switch and Merge, as programs of that time wrote them."""
    resources, loops = tf1.resource_variables_enabled(), tf1.control_flow_v2_enabled()
    tf1.disable_resource_variables()
    tf1.disable_control_flow_v2()
    yield
    if resources:
        tf1.enable_resource_variables()
    if loops:
        tf1.enable_control_flow_v2()


def regression(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable(np.full((3, 1), 0.5, np.float32), name="w")
    b = tf.Variable(np.zeros(1, np.float32), name="b")
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0), name="loss")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    return ["loss:0"], "train", {"x:0": X}


def perceptron(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    h = tf.nn.relu(tf.nn.xw_plus_b(x, tf.Variable(X[:3]), tf.Variable(np.ones(3, np.float32))))
    labels = tf.constant([0, 2, 1, 1])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h)
    loss = tf.reduce_mean(each, name="loss")
    tf.train.AdamOptimizer(0.05).minimize(loss, name="train")
    tf.argmax(h, 1, name="classes")
    return ["loss:0", "classes:0"], "train", {"x:0": X}


def conv_net(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    w = tf.Variable(np.linspace(-1, 1, 3 * 3 * 3 * 4, dtype=np.float32).reshape(3, 3, 3, 4))
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), np.ones(4, np.float32)))
    p = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="pooled")
    loss = tf.reduce_mean(tf.nn.l2_loss(tf.reshape(p, [-1, 64])), name="loss")
    tf.train.MomentumOptimizer(0.001, 0.9).minimize(loss, name="train")
    return ["pooled:0", "loss:0"], "train", {"x:0": IMAGES}


def branches(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: [x - 1.0][0])
    tf.identity(y, name="y")
    tf.identity(tf.gradients(y, x)[0], name="dx")
    return ["y:0", "dx:0"], None, {"x:0": X}


def slices(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    a, b, c = tf.split(x, 3, axis=1)
    s = tf.stack([a, b, c], axis=0)
    tf.concat([s[0], s[-1], tf.expand_dims(x[:, 1], 1)], 1, name="joined")
    tf.transpose(tf.pad(x, [[1, 0], [0, 2]]), [1, 0], name="turned")
    tf.gather(x, [3, 0], name="rows")
    tf.one_hot([1, 0, 2], 3, name="hot")
    tf.unstack(x, axis=1, name="columns")
    return ["joined:0", "turned:0", "rows:0", "hot:0", "columns:2"], None, {"x:0": X}


def numbers(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    tf.cast(x * 10, tf.int32, name="ints")
    tf.nn.top_k(x, 2, name="top")
    tf.where(x > 0, x, tf.zeros_like(x), name="kept")
    tf.add_n([x, x, tf.exp(x)], name="sum")
    tf.cumsum(x, axis=1, reverse=True, name="running")
    tf.constant(np.array([1 + 2j, 3], np.complex64), name="complex")
    tf.constant([b"a", b"\xff"], name="texts")
    tf.constant(np.array([1.5, 2.5], np.float16), name="halves")
    names = ["ints", "top", "kept", "sum", "running", "complex", "texts", "halves"]
    return [f"{n}:0" for n in names] + ["top:1"], None, {"x:0": X}


def counter(tf):
    v = tf.Variable(0, name="v", trainable=False)
    with tf.control_dependencies([tf.assign_add(v, 2)]):
        tf.identity(v.read_value(), name="read")
    return ["read:0"], None, {}


def embedding(tf):
    ids = tf.placeholder(tf.int32, [4], name="ids")
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(6, 2))
    rows = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_sum(rows * rows, name="loss")
    tf.train.AdagradOptimizer(0.1).minimize(loss, name="train")
    return ["loss:0"], "train", {"ids:0": np.array([1, 1, 5, 0], np.int32)}


def normalised(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    y = tf.nn.batch_normalization(x, mean, variance, np.ones(3, np.float32), None, 1e-3)
    tf.nn.avg_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="pooled")
    tf.nn.lrn(y, 2, 1.0, 0.1, 0.75, name="lrn")
    return ["pooled:0", "lrn:0"], None, {"x:0": IMAGES}


def shapes(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    n = tf.shape(x, name="n")
    tf.reshape(x, [n[0] * 3], name="flat")
    tf.tile(x, [1, 2], name="tiled")
    tf.fill([2, 2], 7, name="filled")
    tf.range(3, 9, 2, name="range")
    tf.size(x, name="size")
    tf.random_uniform([1000], 2.0, 3.0, name="random")
    return ["n:0", "flat:0", "tiled:0", "filled:0", "range:0", "size:0"], None, {"x:0": X}


def autoencoder(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable(X[:3, :2])
    code = tf.sigmoid(tf.matmul(x, w))
    back = tf.tanh(tf.matmul(code, w, transpose_b=True), name="back")
    loss = tf.reduce_sum(tf.squared_difference(back, x), name="loss")
    tf.train.RMSPropOptimizer(0.01).minimize(loss, name="train")
    return ["back:0", "loss:0"], "train", {"x:0": X}


def distances(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    d = tf.reduce_sum(tf.square(tf.expand_dims(x, 0) - tf.expand_dims(x, 1)), 2)
    tf.argmin(d + tf.constant(np.diag(np.full(4, 9.0, np.float32))), 0, name="nearest")
    tf.segment_sum(x, [0, 0, 1, 1], name="sums")
    tf.unsorted_segment_sum(x, tf.constant([2, 0, 2, 1]), 3, name="groups")
    return ["nearest:0", "sums:0", "groups:0"], None, {"x:0": X}


PROGRAMS = [
    regression,
    perceptron,
    conv_net,
    branches,
    slices,
    numbers,
    counter,
    embedding,
    normalised,
    shapes,
    autoencoder,
    distances,
]


def build(tf, program):
    graph = tf.Graph()
    with graph.as_default():
        wanted = program(tf)
        init = tf.global_variables_initializer()
    return graph, wanted, init.name


def fetch(tf, graph, wanted, init):
    """Three steps: the fetches, with the training step before the second and third."""
    names, train, feeds = wanted
    found = []
    with tf.Session(graph=graph) as sess:
        sess.run(graph.get_operation_by_name(init))
        for step in range(3):
            if train and step:
                sess.run(graph.get_operation_by_name(train), feeds)
            found.append(sess.run(names, feeds))
    return found


def loaded(tf, graph_def):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph


def compare(ours, theirs):
    for mine, its in zip(ours, theirs, strict=True):
        for a, b in zip(mine, its, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            if np.asarray(b).dtype == object:
                assert a.tolist() == b.tolist()
            else:
                np.testing.assert_allclose(a, b, 2e-4, 2e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_their_graphs_run_here(program):
    graph, wanted, init = build(tf1, program)
    ours = loaded(tfnb, graph.as_graph_def(add_shapes=True))
    compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_our_graphs_run_there(program):
    graph, wanted, init = build(tfnb, program)
    message = tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    theirs = loaded(tf1, message)
    compare(fetch(tfnb, graph, wanted, init), fetch(tf1, theirs, wanted, init))


@pytest.mark.parametrize("program", [regression, perceptron, conv_net, embedding], ids=lambda p: p.__name__)
def test_their_resource_variables_run_here(program):
    tf1.enable_resource_variables()
    try:
        graph, wanted, init = build(tf1, program)
        with graph.as_default():
            tf1.train.Saver()
    finally:
        tf1.disable_resource_variables()
    assert "VarHandleOp" in {op.type for op in graph.get_operations()}
    ours = loaded(tfnb, graph.as_graph_def())
    compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))


def test_their_loops_run_here():
    graph = tf1.Graph()
    with graph.as_default():
        i = tf1.constant(0, name="i")
        x = tf1.placeholder(tf1.float32, [2], name="x")
        grown = tf1.constant(np.zeros((1, 2), np.float32))
        n, y, rows = tf1.while_loop(
            lambda i, y, r: i < 4,
            lambda i, y, r: (i + 1, y * 2.0, tf1.concat([r, [y]], 0)),
            [i, x, grown],
            [i.shape, x.shape, tf1.TensorShape([None, 2])],
        )
        names = [tf1.identity(t, name=k).name for t, k in ((n, "n"), (y, "y"), (rows, "rows"))]
    wanted = (names, None, {"x:0": np.array([1, 3], np.float32)})
    with graph.as_default():
        init = tf1.no_op(name="init").name
    ours = loaded(tfnb, graph.as_graph_def())
    assert ours.get_tensor_by_name("rows:0").shape.as_list() == [None, 2]
    assert ours.get_tensor_by_name("y:0").shape.as_list() == [2]
    compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))
    back = loaded(tf1, tf1.GraphDef.FromString(ours.as_graph_def().SerializeToString()))
    compare(fetch(tf1, back, wanted, init), fetch(tf1, graph, wanted, init))


def test_tensor_protos_are_theirs():
    for value in (
        3,
        [1.5, 2.5],
        [[True], [False]],
        ["a", "b"],
        np.arange(6, dtype=np.int64),
        2 + 3j,
        np.ones((2, 3), np.float16),
        np.zeros((0, 2), np.float32),
    ):
        message = tfnb.make_tensor_proto(value)
        theirs = tensorflow.make_ndarray(tf1.make_tensor_proto(0).__class__.FromString(message.SerializeToString()))
        np.testing.assert_array_equal(tfnb.make_ndarray(message), theirs)
        mine = tfnb.make_ndarray(tfnb.TensorProto.FromString(tf1.make_tensor_proto(value).SerializeToString()))
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_their_functions_run_here():
    from tensorflow.python.framework import function

    @function.Defun(tf1.float32, tf1.float32, func_name="Inner")
    def inner(x, y):
        a, b = tf1.split(x, 2)
        return a * y, b + y

    @function.Defun(tf1.float32, func_name="Outer")
    def outer(x):
        first, second = inner(x, tf1.reduce_sum(x))
        return tf1.concat([first, second], 0)

    @function.Defun(tf1.float32, tf1.float32, func_name="SquareGrad")
    def square_grad(x, dy):
        return dy * x * 7.0

    @function.Defun(tf1.float32, func_name="MySquare", grad_func=square_grad)
    def square(x):
        return x * x

    graph = tf1.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf1.float32, [4], name="x")
        y = tf1.identity(outer(x), name="y")
        z = tf1.identity(square(x), name="z")
        tf1.identity(tf1.gradients(y, x)[0], name="dy")
        tf1.identity(tf1.gradients(z, x)[0], name="dz")
        init = tf1.no_op(name="init").name
    wanted = (["y:0", "z:0", "dy:0", "dz:0"], None, {"x:0": np.array([1, 2, 3, 4], np.float32)})
    ours = loaded(tfnb, graph.as_graph_def())
    compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))
    with ours.as_default(), tfnb.Session() as sess:  # gradients of functions that a file brought
        more = [tfnb.gradients(ours.get_tensor_by_name(n), ours.get_tensor_by_name("x:0"))[0] for n in ("y:0", "z:0")]
        np.testing.assert_allclose(sess.run(more, wanted[2]), fetch(tf1, graph, wanted, init)[0][2:])


def test_their_later_function_calls_run_here():
    graph = tf1.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf1.float32, [3], name="x")
        f = tensorflow.function(lambda v: (v * 2.0, tf1.reduce_sum(v)))
        a, b = f(x)
        names = [tf1.identity(a, name="a").name, tf1.identity(b, name="b").name]
        init = tf1.no_op(name="init").name
    assert {"PartitionedCall", "StatefulPartitionedCall"} & {op.type for op in graph.get_operations()}
    wanted = (names, None, {"x:0": np.array([1, 2, 3], np.float32)})
    ours = loaded(tfnb, graph.as_graph_def())
    compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))


def test_our_functions_run_there():
    @tfnb.function_op
    def layer(x, w):
        a, b = tfnb.split(tfnb.tanh(tfnb.matmul(x, w)), 2, axis=1)
        return tfnb.nn.relu(a) + b

    graph = tfnb.Graph()
    with graph.as_default():
        x = tfnb.placeholder(tfnb.float32, [4, 3], name="x")
        w = tfnb.Variable(X[:3, :2])
        y = tfnb.identity(layer(x, w), name="y")
        tfnb.identity(tfnb.gradients(y, w)[0], name="dw")
        init = tfnb.global_variables_initializer().name
    wanted = (["y:0", "dw:0"], None, {"x:0": X})
    theirs = loaded(tf1, tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString()))
    compare(fetch(tfnb, graph, wanted, init), fetch(tf1, theirs, wanted, init))


def test_their_meta_graph_comes_with_its_variables(tmp_path):
    graph, wanted, init = build(tf1, perceptron)
    with graph.as_default():
        message = tf1.train.export_meta_graph(str(tmp_path / "theirs.meta"))
        count, trainable = len(tf1.global_variables()), [v.name for v in tf1.trainable_variables()]
    assert message.collection_def
    with tfnb.Graph().as_default() as ours:
        tfnb.train.import_meta_graph(str(tmp_path / "theirs.meta"))
        assert [v.name for v in tfnb.trainable_variables()] == trainable
        assert len(tfnb.global_variables()) == count
        compare(fetch(tfnb, ours, wanted, init), fetch(tf1, graph, wanted, init))
    mine, wanted, init = build(tfnb, perceptron)
    tfnb.train.export_meta_graph(str(tmp_path / "ours.meta"), graph=mine)
    with tf1.Graph().as_default() as theirs:
        tf1.train.import_meta_graph(str(tmp_path / "ours.meta"))
        assert [v.name for v in tf1.trainable_variables()] == [
            v.name for v in mine.get_collection("trainable_variables")
        ]
        compare(fetch(tfnb, mine, wanted, init), fetch(tf1, theirs, wanted, init))


def test_queue_runners_cross_over():
    """The messages of queue runners are TensorFlow's, both ways."""
    found = []
    for tf in (tf1, tfnb):
        with tf.Graph().as_default():
            names = tf.train.string_input_producer(["a", "b"], shuffle=False)
            tf.train.batch([names.dequeue()], 2, name="batch")
            found.append(list(tf.train.export_meta_graph().collection_def["queue_runners"].bytes_list.value))
    for messages, tf in ((found[1], tf1), (found[0], tfnb)):
        with tf.Graph().as_default():
            tf.train.batch([tf.train.string_input_producer(["a", "b"], shuffle=False).dequeue()], 2, name="batch")
            for content in messages:
                if tf is tf1:
                    message = type(tf.get_collection("queue_runners")[0].to_proto()).FromString(content)
                    runner = tf.train.QueueRunner.from_proto(message)
                else:
                    runner = tf.train.QueueRunner.from_proto(content)
                assert len(runner.enqueue_ops) == 1
                assert [t.__name__ for t in runner.queue_closed_exception_types] == ["OutOfRangeError"]
    assert [m[:10] for m in found[0]] == [m[:10] for m in found[1]]


def loops(tf):
    """Constants of a loop and from outside of it, in a nested loop, a branch and a function's loop."""
    x = tf.placeholder(tf.float32, [2], name="x")
    bound, factor = tf.constant(4), tf.constant([0.5, 2.0])

    def body(i, y):
        one = tf.constant(1)
        z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + one, z + x * factor), [0, y])[1]
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.reshape(z, [2]) * 2.0, lambda: z - factor)

    tf.identity(tf.while_loop(lambda i, y: i < bound, body, [0, x])[1], name="y")
    return ["y:0"], {"x:0": np.array([1.0, 2.0], np.float32)}


def recurrent(tf):
    x = tf.placeholder(tf.float32, [2, 5, 3], name="x")
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    y, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=tf.constant([3, 5]), dtype=tf.float32)
    found = tf.scan(lambda a, b: a * 0.5 + b, tf.map_fn(lambda e: tf.tanh(e) + tf.reduce_sum(x), y[0]))
    tf.identity(found, name="y")
    return ["y:0"], {"x:0": np.linspace(-1, 1, 30, dtype=np.float32).reshape(2, 5, 3)}


def reads_in_iterations(tf):
    x, v = tf.placeholder(tf.float32, [], name="x"), tf.Variable(2.0)
    tf.identity(tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v.read_value() + v), [0, x])[1], name="y")
    return ["y:0"], {"x:0": np.float32(2.0)}


def function_with_loop(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    @tf.Defun(tf.float32)
    def power(a):
        bound = tf.constant(3)
        return tf.while_loop(lambda i, y: i < bound, lambda i, y: (i + 1, y * 1.5), [0, a])[1]

    tf.identity(power(x), name="y")
    return ["y:0"], {"x:0": np.float32(2.0)}


@pytest.mark.parametrize("program", [loops, recurrent, reads_in_iterations, function_with_loop])
def test_our_loops_run_frozen_in_tensorflow(program):
    with tfnb.Graph().as_default() as graph, tfnb.Session(graph=graph) as session:
        fetches, feeds = program(tfnb)
        session.run(tfnb.global_variables_initializer())
        ours = session.run(fetches, feeds)
        names = [name.partition(":")[0] for name in fetches]
        frozen = tfnb.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names)
    with tf1.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        message = tf1.GraphDef.FromString(frozen.SerializeToString())
        tf1.import_graph_def(message, name="")
        theirs = session.run(fetches, feeds)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def assigning(tf):
    x, v = tf.placeholder(tf.float32, [], name="x"), tf.Variable(1.0)

    def body(i, y):
        with tf.control_dependencies([v.assign(v * 2.0 + y)]):
            return i + 1, v + 0.0

    tf.identity(tf.while_loop(lambda i, y: v < 50.0, body, [0, x])[1], name="y")
    return ["y:0"], {"x:0": np.float32(0.5)}


def test_our_loop_that_assigns_runs_in_tensorflow():
    with tfnb.Graph().as_default() as graph, tfnb.Session(graph=graph) as session:
        fetches, feeds = assigning(tfnb)
        init = tfnb.global_variables_initializer().name
        session.run(init)
        ours = session.run(fetches, feeds)
        message = tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf1.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        tf1.import_graph_def(message, name="")
        session.run(init)
        np.testing.assert_allclose(session.run(fetches, feeds), ours)
