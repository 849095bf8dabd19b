"""The graph view's model: bundled edges against brute force, totals, series, groups, files that mean harm."""

import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DataLossError, DTypeError, InvalidArgumentError
from tfnb.notebook.graph import graph_model, tree
from tfnb.notebook.graph.extracted_nodes import ATTACHED, BOOKKEEPING, HUB
from tfnb.notebook.graph.table import graph_table
from tfnb.notebook.graph.tree import MAX_DEPTH, MOST_PARTS
from tfnb.notebook.protocol.graph import KINDS

OPS = ("Const", "Add", "MatMul", "VariableV2", "Placeholder", "NoOp", "ApplyGradientDescent", "Merge")


@st.composite
def graph_defs(draw):
    part = st.sampled_from(["a", "b", "layer_1", "layer_2", "layer_3", "w", "gradients", ""])
    names = draw(st.lists(st.lists(part, min_size=1, max_size=4).map("/".join), min_size=1, max_size=30, unique=True))
    found = tf.GraphDef()
    for name in names:
        node = found.node.add(name=name, op=draw(st.sampled_from(OPS)))
        for source in draw(st.lists(st.integers(0, len(names) - 1), max_size=3)):
            link = draw(st.sampled_from(["", "^", ":1"]))
            node.input.append(f"^{names[source]}" if link == "^" else f"{names[source]}{link}")
        node.device = draw(st.sampled_from(["", "/cpu:0"]))
    return found


def ancestors(tree, box):
    chain = [box]
    while box > 0:
        box = int(tree.parent[box])
        chain.append(box)
    return chain[::-1]


@settings(max_examples=120, deadline=None)
@given(graph_defs())
def test_bundles_are_what_brute_force_finds(message):
    model = graph_model(message)
    tree, table = model.tree, model.table
    found = {}
    inside = 0

    def meet(a, b):
        up, down = ancestors(tree, a), ancestors(tree, b)
        k = next((k for k, (x, y) in enumerate(zip(up, down, strict=False)) if x != y), None)
        return None if k is None else (up[k], down[k])

    for source, port, target in zip(table.source, table.port, table.target, strict=True):
        pair = meet(int(tree.leaf[source]), int(tree.leaf[target]))
        if pair is None:
            inside += 1
        else:
            edges, tensors, _ = found.setdefault(pair, ([], set(), []))
            edges.append(target)
            tensors.add((int(source), int(port)))
    for source, target in zip(table.before, table.after, strict=True):
        pair = meet(int(tree.leaf[source]), int(tree.leaf[target]))
        if pair is not None:
            found.setdefault(pair, ([], set(), []))[2].append(target)
    b = model.bundles
    assert {
        (int(s), int(t)): (int(e), int(n), int(c))
        for s, t, e, n, c in zip(b.start, b.stop, b.edges, b.tensors, b.controls, strict=True)
    } == {pair: (len(edges), len(tensors), len(waits)) for pair, (edges, tensors, waits) in found.items()}
    assert b.edges.sum() + inside == len(table.source)
    # Bundles connect parts of one box, and every part's sums are those of its own parts.
    assert (tree.parent[b.start] == tree.parent[b.stop]).all()
    for box in range(len(tree.parent)):
        parts = tree.parts(box)
        if parts:
            assert model.nodes[box] == model.nodes[parts].sum()
            assert len(parts) > 1 or box == 0 or tree.series[box]
            assert (model.extracted[parts] == 0).any()
    assert model.nodes[0] == len(table.names)
    # A name leads to its box and back.
    for i, leaf in enumerate(tree.leaf):
        assert tree.node[leaf] == i
        if tree.main[tree.parent[leaf]] != leaf:
            assert tree.path(leaf) == table.names[i]
        else:
            assert tree.path(int(tree.parent[leaf])) == table.names[i]


@settings(max_examples=60, deadline=None)
@given(graph_defs())
def test_borders_are_what_brute_force_finds(message):
    model = graph_model(message)
    tree, table = model.tree, model.table
    inlet, outlet = np.zeros(len(tree.parent), int), np.zeros(len(tree.parent), int)
    for source, target in zip(table.source, table.target, strict=True):
        up, down = (ancestors(tree, int(tree.leaf[i])) for i in (source, target))
        k = next((k for k, (x, y) in enumerate(zip(up, down, strict=False)) if x != y), None)
        if k is None or model.extracted[up[k]] or model.extracted[down[k]]:
            continue
        for box in up[k + 1 :]:
            outlet[box] += 1
        for box in down[k + 1 :]:
            inlet[box] += 1
    assert (model.inlet == inlet).all()
    assert (model.outlet == outlet).all()


def names_of(model, box=0):
    return [model.tree.label[b] for b in model.tree.parts(box)]


def replicated(layers=5):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        for k in range(1, layers + 1):
            with tf.name_scope(f"layer_{k}"):
                w = tf.Variable(tf.truncated_normal([8, 8]), name="w")
                x = tf.nn.relu(tf.matmul(x, w), name="out")
        loss = tf.reduce_mean(x, name="loss")
        tf.train.AdamOptimizer().minimize(loss)
        tf.global_variables_initializer()
    return graph


def test_a_real_graph():
    graph = replicated()
    model = graph_model(graph)
    names = names_of(model)
    assert "layer_[1…5]" in names and "gradients" in names
    series = model.box("layer_[1…5]")
    assert KINDS[model.kind[series]] == "series" and model.parameters[series] == 5 * 64
    groups = {int(model.group[b]) for b in model.tree.parts(series)}
    assert len(groups) == 1 and groups != {-1}
    why = {model.tree.label[b]: int(model.extracted[b]) for b in model.tree.parts(0)}
    assert why["gradients"] == why["init"] == why["Adam"] == BOOKKEEPING
    assert why["x"] == why["layer_[1…5]"] == why["loss"] == 0
    layer = model.box("layer_2")
    inside = {model.tree.label[b]: int(model.extracted[b]) for b in model.tree.parts(layer)}
    assert inside["truncated_normal"] == ATTACHED
    assert inside["w"] == inside["MatMul"] == inside["out"] == 0
    assert model.inlet[model.box("layer_2/MatMul")] == 1 and model.outlet[model.box("layer_2/out")] == 1
    b = model.bundles
    pair = (b.start == model.box("x")) & (b.stop == series)
    assert model.table.specs[int(b.spec[pair][0])] == "float32 ?×8"
    told = dict(model.card(model.box("layer_2/MatMul"))["rows"])
    assert told["transpose_a"] == "False" and "tf.matmul(x, w)" in told["source"]


def test_a_hub_is_extracted():
    with tf.Graph().as_default() as graph:
        rate = tf.placeholder(tf.float32, [], name="rate")
        y = tf.placeholder(tf.float32, [4], name="y")
        for k in range(10):
            y = (tf.tanh if k % 2 else tf.sin)(y * rate, name=f"step{chr(97 + k)}")
    model = graph_model(graph)
    assert model.extracted[model.box("rate")] == HUB
    assert model.extracted[model.box("y")] == 0


def test_stages_and_files_agree():
    graph = replicated()
    with tf.Session(graph=graph) as sess:
        stages = tf.show_passes(sess, graph.get_tensor_by_name("loss:0"), ["x:0"]).stages
    for _, stage in stages:
        model = graph_model(stage)
        assert model.nodes[0] == len(stage.nodes)
    ours = graph_model(graph)
    for message in (graph.as_graph_def(add_shapes=True), graph.as_graph_def(add_shapes=True).SerializeToString()):
        theirs = graph_model(message)
        assert names_of(ours) == names_of(theirs)
        assert (ours.bundles.tensors == theirs.bundles.tensors).all()
        assert (ours.group == theirs.group).all()
        assert (ours.parameters == theirs.parameters).all()
        rows = dict(theirs.card(theirs.box("layer_1/MatMul"))["rows"])
        assert rows["T"] == "float32" and rows["transpose_a"] == "False"


def test_times_and_memory():
    graph = replicated(3)
    with tf.Session(graph=graph) as sess:
        sess.run("init")
        run = tf.RunMetadata()
        feed = {"x:0": np.ones((4, 8), np.float32)}
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run("loss:0", feed, options=options, run_metadata=run)
    model = graph_model(graph, run)
    spent = sum(t.took_us for t in run.step_stats if t.kind in ("kernel", "host"))
    assert model.time_us is not None and model.time_us[0] == pytest.approx(spent)
    assert 0 < model.time_us[model.box("layer_1")] < spent
    assert graph_model(graph).time_us is None


def test_message():
    model = graph_model(replicated())
    raw = zlib.decompress(model.to_bytes())
    (size,) = struct.unpack_from("<I", raw)
    head = json.loads(raw[4 : 4 + size])
    total = 4 + size + 4 * sum(head["ints"].values())
    total += -total % 8 + 8 * sum(head["floats"].values())
    assert total == len(raw)
    assert head["ints"]["parent"] == len(model.tree.parent)
    column = np.frombuffer(raw, "<i4", len(model.tree.parent), 4 + size)
    assert (column == model.tree.parent).all()


def test_hostile_names():
    message = tf.GraphDef()
    deep = "/".join(["s"] * 10_000)
    for name in (deep, f"{deep}/x", "<script>alert(1)</script>", "a//b", "/", "", "x" * 100_000, "same", "same"):
        message.node.add(name=name, op="<img onerror=alert(1)>")
    message.node[1].input.extend([deep, "nobody", f"{deep}:99999999999", "^", ":", "^^a"])
    model = graph_model(message)
    assert model.nodes[0] == 9 and model.table.missing >= 2
    assert model.tree.depth.max() <= MAX_DEPTH + 2
    assert len(zlib.decompress(model.to_bytes())) < 20_000
    model.card(int(model.tree.leaf[1]))
    with pytest.raises(InvalidArgumentError, match="needed a box"):
        model.card(10_000)
    with pytest.raises(InvalidArgumentError, match="no scope"):
        model.box("nowhere")
    with pytest.raises(DTypeError):
        graph_model(3)
    with pytest.raises(DataLossError):
        graph_model(b"\xff\xff\xff")
    assert graph_model(tf.GraphDef()).nodes[0] == 0


def test_hostile_attributes():
    message = tf.GraphDef()
    node = message.node.add(name="c", op="Const")
    node.attr["dtype"].type = 9999
    node.attr["value"].tensor.dtype = 1
    for _ in range(2):
        node.attr["value"].tensor.tensor_shape.dim.add(size=2**40)
    node.attr["_output_shapes"].list.shape.add().dim.add(size=-7)
    node.attr["text"].s = b"<svg onload=alert(1)>\xff"
    rows = dict(graph_model(message).card(1)["rows"])
    assert rows["text"].startswith("<svg") and "values" in rows["value"]


def test_a_flat_graph_of_many_nodes_is_folded():
    message = tf.GraphDef()
    for i in range(5_000):
        node = message.node.add(name=f"n{i * 7919 % 5000:x}q", op=f"Op{i % 700}")
        if i:
            node.input.append(message.node[i - 1].name)
    model = graph_model(message)
    assert max(len(model.tree.parts(b)) for b in range(len(model.tree.parent))) <= MOST_PARTS
    assert model.nodes[0] == 5_000


def test_a_constant_stands_beside_the_only_node_that_reads_it():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        tf.add(x, 1.0, name="sum")
        tf.multiply(x, 2.0, name="shared") + graph.get_tensor_by_name("shared/y:0")
        tf.clip_by_value(x, -1.0, 1.0, name="clip")
    model = graph_model(graph)
    assert names_of(model) == ["x", "sum/y", "sum", "shared", "add", "clip"]
    assert names_of(model, model.box("shared")) == ["shared", "y"]  # `add` reads it, too
    assert names_of(model, model.box("clip")) == ["clip", "Minimum/y", "Minimum", "y"]  # the scope holds more than it
    assert model.extracted[model.box("sum/y")] == ATTACHED


def test_the_constants_of_a_series_are_a_series():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        for _ in range(8):
            tf.sin(x * 2.0)
    assert names_of(graph_model(graph)) == ["x", "mul_[0…7]/y", "mul_[0…7]", "Sin_[0…7]"]


@pytest.mark.parametrize("name", ["{:06d}", "scope{:06d}/only"])
def test_many_nodes_beside_each_other_are_folded_in_one_pass(name, monkeypatch):
    """A scope's parts are rebuilt a few times, not once for each of the hundreds of series that they become."""
    rebuilt = 0

    class Parts(list):
        def __setitem__(self, key, value):
            nonlocal rebuilt
            rebuilt += len(value) if isinstance(value, list) and len(value) > 1000 else 0
            super().__setitem__(key, value)

    count = 20_000
    found = tree.draft([name.format(i) for i in range(count)])
    found.parts = Parts(found.parts)
    tree.fold(found, [0] * len(found.parent), [[] for _ in found.parent])
    assert rebuilt < 4 * count
    assert max(map(len, found.parts)) <= MOST_PARTS
    made, _ = tree.number(found)
    assert sorted(made.node[made.leaf]) == list(range(count))


def test_lists_of_a_file_are_shown_as_lists():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="pool")
        tf.FIFOQueue(3, [tf.float32, tf.int32], [[2, 3], []], name="queue")
    table = graph_table(graph.as_graph_def())
    rows = {name: dict(table.details(k)) for k, name in enumerate(table.names)}
    assert rows["pool"]["ksize"] == "[1, 2, 2, 1]" and rows["pool"]["padding"] == "SAME"
    assert rows["queue"]["component_types"] == "[float32, int32]"
    assert rows["queue"]["shapes"].startswith("[(2, 3), ")
    assert "None" in rows["x"]["shape"] or "?" in rows["x"]["shape"]
    assert not any(text.startswith(("i:", "dim", "size:")) for found in rows.values() for text in found.values())
