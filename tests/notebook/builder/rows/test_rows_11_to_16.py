"""Rows 11 to 16 as far as they are about the document: refusals, blocks, groups, clipboard, wires, gradients."""

from __future__ import annotations

import base64
import json
import random
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from builder_gestures import Editor, add, connect, renamed, setting, wire

import tfnb as tf

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def edit(kind, **values):
    return {"edit": kind, **values}


def rebuilt(source, **names):
    with tf.Graph().as_default() as graph:
        exec(source, {"__name__": "test", **names})
    return graph.as_graph_def()


def inside(e, node):
    (answer,) = e.document.apply({"type": "inside", "request": 3, "node": node})
    assert answer["request"] == 3
    return answer


def head_of(columns):
    """The head of the drawing of a graph, and its column of parents."""
    data = zlib.decompress(base64.b64decode(columns))
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length])


# ---- 11 ------------------------------------------------------------------------------------------

REFUSALS = {
    "dtype": ("y = tf.matmul(x, w)", "i", "y", "a", "int32"),
    "rank": ("y = tf.matmul(x, w)", "v", "y", "a", "rank"),
    "size": ("y = tf.matmul(x, w)", "x5", "y", "a", "5"),
    "circle": ("y = tf.nn.relu(x)\nz = tf.nn.relu(y)", "z", "y", "features", "circle"),
    "itself": ("y = tf.nn.relu(x)", "y", "y", "features", "its own input"),
    "channels": ("y = tf.nn.conv2d(im, k, [1, 1, 1, 1], 'SAME')", "im3", "y", "input", "3"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_row_11_a_refused_port_says_why(kind):
    line, source, node, port, word = REFUSALS[kind]
    head = (
        "import tfnb as tf\nx = tf.placeholder(tf.float32, [None, 4])\nw = tf.zeros([4, 2])\nv = tf.zeros([4])\n"
        "i = tf.zeros([3, 4], tf.int32)\nx5 = tf.zeros([2, 5])\nim = tf.zeros([1, 8, 8, 1])\nim3 = tf.zeros([1, 8, 8, 3])\n"
        "k = tf.zeros([5, 5, 1, 2])\n"
    )
    e = Editor(f"{head}{line}\n")
    (m,) = e.document.apply({"type": "targets", "request": 1, "wire": wire(source)})
    reasons = {(n, p): why for n, p, why in m["refused"]}
    assert word in reasons[node, port], reasons[node, port]
    assert (node, port) not in m["accepted"]


# ---- 12 ------------------------------------------------------------------------------------------


def lenet():
    """The network of example 02, built by gestures: eight blocks behind the reshaped pixels."""
    e = Editor("import tfnb as tf\n\ntf.set_random_seed(1)\n", is_trusted=True)
    same, relu = {"padding": "'same'"}, {"activation": "tf.nn.relu"}
    e.do(add("tf.placeholder", dtype="tf.int64", shape="[None]", name="'y'"), renamed("placeholder", "y"))
    e.do(add("tf.placeholder_with_default", input="1.0", shape="[]", name="'keep'"))
    e.do(renamed("placeholder_with_default", "keep"))
    e.do(add("tf.placeholder", dtype="tf.float32", shape="[None, 784]", name="'x'"), renamed("placeholder", "x"))
    e.do(add("tf.reshape", [("tensor", "x")], shape="[-1, 28, 28, 1]"))
    e.do(
        add("tf.layers.conv2d", [("inputs", "reshape")], filters="32", kernel_size="5", name="'conv1'", **same, **relu)
    )
    e.do(add("tf.layers.max_pooling2d", [("inputs", "conv2d")], pool_size="2", strides="2", name="'pool1'"))
    pooled = [("inputs", "max_pooling2d")]
    e.do(add("tf.layers.conv2d", pooled, filters="64", kernel_size="5", name="'conv2'", **same, **relu))
    e.do(add("tf.layers.max_pooling2d", [("inputs", "conv2d_1")], pool_size="2", strides="2", name="'pool2'"))
    e.do(add("tf.layers.flatten", [("inputs", "max_pooling2d_1")]))
    e.do(add("tf.layers.dense", [("inputs", "flatten")], units="1024", name="'hidden'", **relu))
    e.do(add("tf.nn.dropout", [("x", "dense"), ("keep_prob", "keep")]))
    e.do(add("tf.layers.dense", [("inputs", "dropout")], units="10", name="'scores'"), renamed("dense_1", "logits"))
    return e


def of_example_02():
    cells = [
        c for c in json.loads((EXAMPLES / "02_mnist.ipynb").read_text("utf-8"))["cells"] if c["cell_type"] == "code"
    ]
    text = "".join(cells[1]["source"])
    return text[: text.index('with tf.name_scope("loss")')]


def test_row_12_lenet_of_eight_blocks_is_the_graph_of_example_02():
    e = lenet()
    blocks = [n for n in e.nodes if n.startswith(("conv", "max", "flat", "dense", "drop", "resh", "logits"))]
    assert len(blocks) == 9 and not e.drawing["totals"]["problems"]
    graph = e.document.built.graph
    built, wanted = graph.as_graph_def(), rebuilt(of_example_02(), tf=tf)  # only the placeholders are in another order
    assert sorted(built.node, key=lambda n: n.name) == sorted(wanted.node, key=lambda n: n.name)
    counted = tf.count_parameters(graph)
    assert e.drawing["totals"]["parameters"] == counted.scopes[0][2] == 3_274_634


def test_row_12_blocks_open_to_their_operations():
    e = lenet()
    answer = inside(e, "conv2d")
    head = head_of(answer["columns"])
    assert answer["count"] == len(e.document.built.outcomes[e.document.program.by_id["conv2d"].index].operations)
    assert {"Conv2D", "BiasAdd", "Relu"} <= set(head["types"]) and "conv1" in head["labels"]


def test_row_12_flops_are_live():
    e = lenet()
    conv1 = 2 * 28 * 28 * 32 * 25 + 2 * 28 * 28 * 32  # products and sums, the bias, and relu
    assert e.nodes["conv2d"]["flops"] == conv1
    assert e.nodes["dense"]["flops"] == 2 * 3136 * 1024 + 2 * 1024 and e.nodes["logits"]["flops"] == 2 * 1024 * 10 + 10
    before = e.drawing["totals"]["flops"]
    e.do(setting("logits", "units", "20"))
    assert e.drawing["totals"]["flops"] - before == 2 * 1024 * 10 + 10
    unknown = Editor("import tfnb as tf\nx = tf.placeholder(tf.float32)\ny = tf.square(x)\n")
    assert unknown.nodes["y"]["flops"] == -1


# ---- 13 ------------------------------------------------------------------------------------------

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 4])
h = tf.layers.dense(x, 3, name='hidden')  # first
# then
g = tf.nn.relu(h)
y = tf.layers.dense(g, 2)
"""
TWICE = """import tfnb as tf


def block(v, scale=2.0):
    # the one place of it
    w = tf.multiply(v, scale)   # spaced
    text = '''a
  b'''
    return tf.nn.relu(w)


x = tf.placeholder(tf.float32, [None, 4])
a = block(x)
b = block(a, scale=3.0)
"""


@pytest.mark.parametrize("seed", range(30))
def test_row_13_group_and_unpack_are_the_identity(seed):
    """Random adjacent nodes of a chain: the graph stays, and unpacking gives the former text."""
    r = random.Random(seed)
    lines = ["import tfnb as tf", "x0 = tf.placeholder(tf.float32, [None, 4])"]
    for k in range(1, 9):
        other = r.randrange(k)
        lines.append(
            r.choice(
                [f"x{k} = tf.nn.relu(x{other})  # {k}", f"x{k} = x{other} + x{k - 1}", f"x{k} = tf.square( x{k - 1} )"]
            )
        )
    source = "\n".join(lines) + "\n"
    first = r.randrange(1, 7)
    nodes = [f"x{k}" for k in range(first, r.randint(first + 1, 8) + 1)]
    e = Editor(source, is_trusted=True)
    before = e.document.built.graph.as_graph_def()
    e.do(edit("group", nodes=nodes, name="part"))
    assert e.document.built.graph.as_graph_def() == before and "def part(" in e.source
    call = next(n for n, node in e.nodes.items() if "= part(" in node["source"] or node["source"].startswith("part("))
    e.do(edit("ungroup", node=call))
    assert e.source == source


@pytest.mark.opencl
def test_row_13_results_are_equal_to_the_bit():
    e = Editor(NET, is_trusted=True)
    values = []
    for grouped in (False, True):
        if grouped:
            e.do(edit("group", nodes=["h", "g"], name="encoder"))
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.set_random_seed(3)
            names = {}
            exec(e.source, names)
            session.run(tf.global_variables_initializer())
            values.append(session.run(names["y"], {names["x"]: np.arange(8.0).reshape(2, 4) / 7.0}))
        assert graph.get_operations()
    assert values[0].tobytes() == values[1].tobytes()


def test_row_13_a_function_opens_in_its_place():
    e = Editor(TWICE, is_trusted=True)
    answer = inside(e, "b")
    assert answer["parameters"] == ["v", "scale"] and answer["calls"] == ["a", "b"] and answer["count"] == 3
    nodes = {n["id"]: n for n in answer["nodes"]}
    assert list(nodes) == ["v", "w", "text", "line:6"] or list(nodes)[:2] == ["v", "w"]
    assert nodes["w"]["outputs"][0]["shape"] == [None, 4]
    assert nodes["w"]["inputs"][0]["wire"] == {"node": "v", "output": 0}


def test_row_13_an_edit_inside_is_for_all_calls():
    e = Editor(TWICE, is_trusted=True)
    e.do(edit("inside", node="b", edits=[setting("w", "name", "'scaled'"), renamed("w", "product")]))
    changed = TWICE.replace("w = tf.multiply(v, scale)", "product = tf.multiply(v, scale, name='scaled')")
    assert e.source == changed.replace("relu(w)", "relu(product)")
    assert "scaled_1" in [op.name for op in e.document.built.graph.get_operations()]
    e.do(edit("inside", node="a", edits=[add("tf.tanh", [("x", "product")])]))
    assert "    tanh = tf.tanh(product)\n    text" in e.source
    e.undo()
    e.undo()
    assert e.source == TWICE
    refused = e.attempt(edit("inside", node="x", edits=[setting("w", "name", "'s'")]))
    assert refused["is_refused"] and "no call of a function" in refused["message"]


def test_row_13_one_call_gets_a_function_of_its_own():
    e = Editor(TWICE, is_trusted=True)
    before = e.document.built.graph.as_graph_def()
    e.do(edit("own", node="b"))
    assert "b = block_1(a, scale=3.0)" in e.source and "a = block(x)" in e.source
    assert e.document.built.graph.as_graph_def() == before
    e.do(edit("inside", node="b", edits=[edit("replace", node="w", call="tf.add")]))
    assert e.source.count("tf.multiply(v, scale)") == 1 and e.source.count("tf.add(v, scale)") == 1
    types = [op.type for op in e.document.built.graph.get_operations()]
    assert types.count("Mul") == 1 and types.count("Add") == 1


def test_row_13_reuse_many_times():
    e = Editor(NET, is_trusted=True)
    e.do(edit("group", nodes=["g"], name="act"))
    for k in range(3):
        e.do(edit("paste", text=f"r{k} = act(y)\n", position=None))
    assert [e.nodes[f"r{k}"]["kind"] for k in range(3)] == ["function"] * 3
    assert [e.shape(f"r{k}") for k in range(3)] == [[None, 2]] * 3


# ---- 14 ------------------------------------------------------------------------------------------


def snippets():
    """Stretches of three statements of the examples that stand by themselves once their names are known."""
    found = []
    for path in sorted(EXAMPLES.glob("0[1-8]*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                text = "".join(cell["source"])
                parts = re.split(r"\n(?=\S)", text)
                found += ["\n".join(parts[k : k + 3]) for k in range(0, len(parts), 2)]
    return [s for s in found if "tf." in s and "\n" in s][:50]


SNIPPETS = snippets()


def test_row_14_there_are_fifty_snippets():
    assert len(SNIPPETS) == 50


@pytest.mark.parametrize("text", SNIPPETS)
def test_row_14_a_pasted_snippet_is_in_the_code_with_its_own_words(text):
    e = Editor("import tfnb as tf\nfirst = tf.zeros([2])\n")
    drawing = e.attempt(edit("paste", text=text, position=None))
    if drawing["is_refused"]:  # not a piece of Python by itself
        with pytest.raises(SyntaxError):
            compile(text, "snippet", "exec")
        return
    pasted = e.source.replace("import tfnb as tf\nfirst = tf.zeros([2])\n", "")
    wanted = re.sub(r"^import tfnb as tf\n?", "", text, flags=re.M).strip()
    assert pasted.strip() == wanted


def test_row_14_copy_and_paste_are_isomorphic():
    e = Editor(NET)
    (m,) = e.document.apply({"type": "copy", "request": 1, "nodes": list(e.nodes)})
    copy = Editor()
    copy.do(edit("paste", text=m["text"], position=None))
    assert copy.document.built.graph.as_graph_def() == e.document.built.graph.as_graph_def()
    e.do(edit("paste", text=m["text"], position=None))  # beside the first ones
    types = [op.type for op in e.document.built.graph.get_operations()]
    assert all(types.count(t) % 2 == 0 for t in set(types)) and not e.drawing["totals"]["problems"]


def test_row_14_a_graph_as_text_is_pasted_and_copied():
    e = Editor(NET)
    (m,) = e.document.apply({"type": "copy graph", "request": 1, "nodes": list(e.nodes)})
    assert m["text"].startswith("node {")
    copy = Editor()
    copy.do(edit("paste", text=m["text"], position=[1, 2]))
    assert copy.document.built.graph.as_graph_def().node == e.document.built.graph.as_graph_def().node
    (m,) = e.document.apply({"type": "copy graph", "request": 1, "nodes": ["g"]})  # what it reads is a placeholder
    part = Editor()
    part.do(edit("paste", text=m["text"], position=None))
    assert [op.type for op in part.document.built.graph.get_operations()] == ["Placeholder", "Relu"]
    for text, word in (("node { name: 3 }", "no graph"), ("node { name: 'a' op: 'Nothing' }", "Nothing")):
        refused = part.attempt(edit("paste", text=text, position=None))
        assert refused["is_refused"] and word in refused["message"]


# ---- 15 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (
            edit("insert", call="tf.tanh", node="y", port="inputs", position=None),
            "tanh = tf.tanh(g)\ny = tf.layers.dense(tanh, 2)",
        ),
        (edit("delete", nodes=["g"], heal=True), "# then\ny = tf.layers.dense(h, 2)"),
        (edit("bypass", nodes=["g"]), "g = tf.nn.relu(h)\ny = tf.layers.dense(h, 2)"),
        (edit("replace", node="g", call="tf.nn.elu"), "g = tf.nn.elu(h)"),
        (connect("x", "g"), None),
    ],
)
def test_row_15_wire_edits_are_one_step_and_keep_the_wires(change, wanted):
    e = Editor(NET)
    drawing = e.attempt(change)
    if wanted is None:
        assert drawing["is_refused"] and "no free input" in drawing["message"] and e.source == NET
        return
    assert wanted in e.source and not e.drawing["totals"]["problems"]
    e.undo()
    assert e.source == NET and not e.drawing["can_undo"]


def test_row_15_what_reads_nothing_or_is_read_by_nothing_is_not_bypassed():
    e = Editor("import tfnb as tf\nx = tf.zeros([2, 2])\nh = tf.exp(x)\ny = tf.tanh(h)\nz = tf.add(y, h)\n")
    for nodes, word in ((["x"], "x has no input"), (["z"], "nothing reads z")):
        drawing = e.attempt(edit("bypass", nodes=nodes))
        assert drawing["is_refused"] and word in drawing["message"]
    e.do(edit("bypass", nodes=["h", "y"]))
    assert e.source.endswith("y = tf.tanh(h)\nz = tf.add(x, x)\n")


def test_row_15_a_lazy_connection_takes_the_first_free_input():
    e = Editor("import tfnb as tf\nx = tf.zeros([2, 2])\nw = tf.ones([2, 2])\ny = tf.matmul(x)\n")
    e.do(connect("w", "y"))
    assert e.source.endswith("y = tf.matmul(x, w)\n") and e.shape("y") == [2, 2]


# ---- 16 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "optimizer", ["GradientDescentOptimizer", "AdamOptimizer", "MomentumOptimizer", "RMSPropOptimizer"]
)
def test_row_16_one_move_is_minimize_node_by_node(optimizer):
    e = Editor(NET + "loss = tf.reduce_mean(y)\n")
    parameters = {"learning_rate": "0.1"} | ({"momentum": "0.9"} if optimizer.startswith("Mom") else {})
    e.do(edit("minimize", node="loss", optimizer=f"tf.train.{optimizer}", parameters=parameters))
    with tf.Graph().as_default() as graph:
        names = {}
        exec(NET + "loss = tf.reduce_mean(y)\n", names)
        getattr(tf.train, optimizer)(**{k: float(v) for k, v in parameters.items()}).minimize(names["loss"])
    built = e.document.built.graph
    assert [op.node_def for op in built.get_operations()] == [op.node_def for op in graph.get_operations()]
    gradients = {g["operation"]: g for g in inside(e, "train")["gradients"]}
    assert gradients["gradients/Relu_grad/ReluGrad"]["forward"] == "Relu"
    assert {g["node"] for g in gradients.values()} >= {"h", "g", "y", "loss"}


def test_row_16_the_inside_of_gradients_leads_to_the_forward_nodes():
    e = Editor(NET + "dx = tf.gradients(y, x)\nmore = tf.gradients(g, [h, x])\n")
    for node, makers in (("dx", {"h", "g", "y"}), ("more", {"h", "g"})):
        found = inside(e, node)["gradients"]
        graph = e.document.built.graph
        assert {g["node"] for g in found} == makers
        for g in found:
            assert graph.get_operation_by_name(g["forward"]).type in ("MatMul", "BiasAdd", "Relu", "Identity")
