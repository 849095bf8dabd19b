"""Malformed and hostile GraphDefs: refused with what and where, and the graph stays as it was.

The property tests change bytes and structure of good files; whatever comes out, import ends soon, with one of our errors
or a graph, and takes no more memory than its limit.
"""

from __future__ import annotations

import copy
import re
import tracemalloc

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import OpError

MEMORY = 64 << 20  # bytes that reading a file of a few kilobytes may take

NODE = 'node {{ name: "{name}" op: "{op}" {inputs} {more} }}\n'
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def node(name, op, *inputs, more=""):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return NODE.format(name=name, op=op, inputs=listed, more=more)


def const(name, shape="", values="float_val: 1", dtype="DT_FLOAT"):
    dims = "".join(f"dim {{ size: {d} }} " for d in shape.split())
    value = f"tensor {{ dtype: {dtype} tensor_shape {{ {dims} }} {values} }}"
    return node(
        name,
        "Const",
        more=f'attr {{ key: "dtype" value {{ type: {dtype} }} }} attr {{ key: "value" value {{ {value} }} }}',
    )


A = const("a")
RANKS = "dim { size: 1 } " * 300

REFUSED = {
    "unknown op": (node("x", "Frobnicate"), "x.*no op is named 'Frobnicate'"),
    "missing input": (node("x", "Neg", "gone", more=FLOAT), "x.*'gone:0' is not in the graph"),
    "missing control": (A + node("x", "Neg", "a", "^gone", more=FLOAT), "x.*'.gone' is not in the graph"),
    "wrong port": (A + node("x", "Neg", "a:1", more=FLOAT), "x.*'a' .Const. has 1 outputs"),
    "huge port": (A + node("x", "Neg", "a:99999999999", more=FLOAT), "x.*99999999999"),
    "too few inputs": (A + node("x", "Add", "a", more=FLOAT), "x.*Add needs 1 inputs"),
    "too many inputs": (A + node("x", "Neg", "a", "a", more=FLOAT), "x.*takes 1 inputs, has 2"),
    "cycle": (node("x", "Neg", "y", more=FLOAT) + node("y", "Neg", "x", more=FLOAT), "cycle that is no loop"),
    "cycle on itself": (node("x", "Neg", "x", more=FLOAT), "x.*cycle that is no loop"),
    "cycle of control": (node("x", "NoOp", "^y") + node("y", "NoOp", "^x"), "cycle"),
    "loop without entrance": (
        node("n", "NextIteration", "m", more=FLOAT)
        + node("m", "Merge", "n", more=FLOAT + 'attr { key: "N" value { i: 1 } }'),
        "m.*no value can enter",
    ),
    "two of one name": (A + A, "a.*two nodes of this name"),
    "wrong kind of attribute": (A + node("x", "Neg", "a", more='attr { key: "T" value { i: 1 } }'), "x.*'T'.*'type'"),
    "list for one": (A + node("x", "Neg", "a", more='attr { key: "T" value { list { i: 1 } } }'), "x.*'T'"),
    "unknown attribute": (A + node("x", "Neg", "a", more=FLOAT + 'attr { key: "U" value { i: 1 } }'), "x.*'U'"),
    "unknown dtype": (A + node("x", "Neg", "a", more='attr { key: "T" value { type: 77 } }'), "x.*77 is not served"),
    "other dtype": (
        const("i", dtype="DT_INT32", values="int_val: 1") + node("x", "Neg", "i", more=FLOAT),
        "x.*int32.*needed float32",
    ),
    "dtype not allowed": (
        const("s", dtype="DT_STRING", values='string_val: "a"')
        + node("x", "Neg", "s", more='attr { key: "T" value { type: DT_STRING } }'),
        "x.*string",
    ),
    "needs a variable": (A + node("x", "Assign", "a", "a", more=FLOAT), "x.*must be a variable"),
    "shapes": (const("v", "2") + const("w", "3") + node("x", "Add", "v", "w", more=FLOAT), "x.*broadcast"),
    "no value": (node("x", "Const", more='attr { key: "dtype" value { type: DT_FLOAT } }'), "x.*value"),
    "huge constant": (const("x", "1000000 1000000"), "x.*more than"),
    "overflowing constant": (const("x", "4611686018427387904 8 0"), "x.*more than"),
    "negative dimension": (const("x", "-5"), "x.*-5"),
    "open dimension": (const("x", "-1"), "x.*not fully defined"),
    "ranks": (
        node(
            "x",
            "Placeholder",
            more='attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" '
            f"value {{ shape {{ {RANKS} }} }} }}",
        ),
        "x.*300 dimensions",
    ),
    "short content": (const("x", "4", 'tensor_content: "abc"'), "x.*content of 3 bytes"),
    "bad bool": (const("x", "2", 'tensor_content: "\\002\\000"', "DT_BOOL"), "x.*bool"),
    "content of strings": (const("x", "2", 'tensor_content: "ab"', "DT_STRING"), "x.*content"),
    "content of handles": (const("x", "1", f'tensor_content: "{"0" * 8}"', "DT_RESOURCE"), "x.*object of a process"),
    "too many values": (const("x", "2", "float_val: [1, 2, 3]"), "x.*3 values"),
    "pieces without end": (
        A
        + const("d", dtype="DT_INT32", values="int_val: 0")
        + node("x", "Split", "d", "a", more=FLOAT + 'attr { key: "num_split" value { i: 2000000000 } }'),
        "x.*num_split is 2000000000",
    ),
    "negative number": (A + node("x", "AddN", "a", more=FLOAT + 'attr { key: "N" value { i: -1 } }'), "x.*N is -1"),
    "wrong number": (A + node("x", "AddN", "a", more=FLOAT + 'attr { key: "N" value { i: 3 } }'), "x.*needs 3 inputs"),
    "empty name": (node("", "NoOp"), "not a valid name"),
    "odd name": (node("a b", "NoOp"), "not a valid name"),
    "name of a tensor": (node("a:0", "NoOp"), "not a valid name"),
    "odd input": (node("x", "NoOp", "^^y"), "x.*needed 'name'"),
    "data after control": (A + node("b", "NoOp") + node("x", "Neg", "^b", "a", more=FLOAT), "x.*after a control"),
    "device": (node("x", "NoOp", more='device: "/gpu:many"'), "x.*not a device"),
    "colocation": (node("x", "NoOp", more='attr { key: "_class" value { list { s: "loc:@gone" } } }'), "x.*'gone'"),
    "value of another dtype": (
        const("c").replace("{ type: DT_FLOAT", "{ type: DT_INT32"),
        "c.*int32 whose value is of float32",
    ),
    "value of another kind": (
        const("c", dtype="DT_UINT8", values="int_val: 1").replace("{ type: DT_UINT8", "{ type: DT_QUINT8"),
        "c.*quint8 whose value is of uint8",
    ),
    "bytes for text": (
        A + node("x", "CheckNumerics", "a", more=FLOAT + 'attr { key: "message" value { s: "\\377" } }'),
        "x.*UTF-8",
    ),
}


def parse(text):
    return text_format.Parse(text, tf.GraphDef())


def attempt(message):
    """Imports into a graph of one node; the error, or None. The graph is as before after an error."""
    with tf.Graph().as_default() as graph:
        first = tf.constant(2.0, name="mine")
        tracemalloc.start()
        try:
            tf.import_graph_def(message, name="")
        except OpError as e:
            assert graph.get_operations() == [first.op] and not first.consumers()
            assert tf.constant(1.0, name="x").op.name == "x"
            return e
        finally:
            assert tracemalloc.get_traced_memory()[1] < MEMORY
            tracemalloc.stop()
    return None


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_what_and_where(what):
    text, message = REFUSED[what]
    error = attempt(parse(text))
    assert error is not None, "was taken"
    assert re.search(message, str(error), re.DOTALL), str(error)


def test_bytes_that_are_no_graph():
    with pytest.raises(OpError, match="no GraphDef"):
        tf.import_graph_def(b"\xff\xfe\x00nonsense")
    with pytest.raises(OpError, match="GraphDef"):
        tf.import_graph_def("a text")


def test_a_repeated_element_takes_no_memory():
    error = attempt(parse(const("big", "20000 20000")))
    assert error is None


def test_long_chains_and_wide_nodes():
    chain = A + "".join(node(f"n{i}", "Neg", f"n{i - 1}" if i else "a", more=FLOAT) for i in range(3000))
    assert attempt(parse(chain)) is None
    assert attempt(parse(chain + node("x", "NoOp", *(f"^n{i}" for i in range(3000))))) is None
    backwards = "".join(reversed(chain.splitlines(keepends=True)))
    assert attempt(parse(backwards)) is None


def test_many_paths_to_a_shape():
    """Each of 40 sums reads the one before twice: 2**40 paths, each looked at once."""
    int_t = FLOAT.replace("DT_FLOAT", "DT_INT32")
    text = A + const("s", "1", "int_val: 0", "DT_INT32")
    text += "".join(node(f"n{i}", "Add", *[f"n{i - 1}" if i else "s"] * 2, more=int_t) for i in range(40))
    assert attempt(parse(text + node("x", "Reshape", "a", "n39", more=FLOAT))) is None


def test_a_shape_of_many_dimensions_from_a_constant():
    text = A + const("s", "100000000", "int_val: 1", "DT_INT32")
    error = attempt(parse(text + node("x", "Reshape", "a", "s", more=FLOAT)))
    assert "100000000 dimensions" in str(error)


INT = FLOAT.replace("DT_FLOAT", "DT_INT32")
VECTOR = node(
    "v",
    "Placeholder",
    more='attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" '
    "value { shape { dim { size: 200000000 } } } }",
)


@pytest.mark.parametrize("op", ["Fill", "Reshape", "Transpose", "Tile"])
def test_a_shape_of_many_dimensions_that_are_not_known(op):
    inputs = ("v", "a") if op == "Fill" else ("u", "v")
    unknown = node("u", "Placeholder", more='attr { key: "dtype" value { type: DT_FLOAT } }')
    error = attempt(parse(A + VECTOR + unknown + node("x", op, *inputs, more=FLOAT)))
    assert "200000000 dimensions" in str(error)


def test_long_vectors_stay_data():
    """What is known of a shape is looked for through a long vector, which is data and no shape."""
    places = const("p", "3", "int_val: [5, 7, 9]", "DT_INT32")
    rows = 'attr { key: "Tparams" value { type: DT_INT32 } } attr { key: "Tindices" value { type: DT_INT32 } }'
    text = A + VECTOR + places + node("g", "Gather", "v", "p", more=rows) + node("x", "Fill", "g", "a", more=FLOAT)
    assert attempt(parse(text)) is None


def test_long_axes_are_not_listed():
    axes = const("d", "200000000", "int_val: 0", "DT_INT32")
    unknown = node("u", "Placeholder", more='attr { key: "dtype" value { type: DT_FLOAT } }')
    text = A + axes + unknown
    for op, x in (("Sum", "a"), ("Mean", "u"), ("Transpose", "u"), ("Reverse", "a"), ("Tile", "a")):
        attempt(parse(text + node("x", op, x, "d", more=FLOAT)))


def test_elements_that_are_repeated_behind_others_are_limited():
    """Values that end in equal ones may be listed in short, as TensorFlow does; the sum of them all is limited."""
    short = const("c", "1000 1000", "float_val: [1, 2]")
    with tf.Graph().as_default():
        tf.import_graph_def(parse(short), name="")
        found = tf.Session().run("c:0")
    assert found.shape == (1000, 1000) and found[0, 0] == 1 and (found.reshape(-1)[1:] == 2).all()
    error = attempt(parse(const("c", "268435456", "float_val: [1, 2]")))
    assert "'c'" in str(error) and "repeats the last one to 1073741824 bytes" in str(error)
    error = attempt(parse("".join(const(f"c{i}", "1000000", "float_val: [1, 2]") for i in range(20))))
    assert "'c8'" in str(error) and "at most 33554432" in str(error)
    assert attempt(parse(const("c", "268435456", "float_val: 1"))) is None


def test_outputs_of_all_nodes_together_are_limited():
    zero, vector = const("d", values="int_val: 0", dtype="DT_INT32"), const("v", "65536", "float_val: 1")
    split = FLOAT + 'attr { key: "num_split" value { i: 65536 } }'
    text = zero + vector + "".join(node(f"s{i}", "Split", "d", "v", more=split) for i in range(60))
    assert "'s4'" in str(attempt(parse(text)))


def test_many_paths_to_a_joined_shape():
    """Each of 24 concatenations reads the one before twice, which has no elements and so is as short as can be."""
    empty = node(
        "e",
        "Placeholder",
        more='attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { dim { size: 0 } } } }',
    )
    text = A + const("z", values="int_val: 0", dtype="DT_INT32") + empty
    two = INT + 'attr { key: "N" value { i: 2 } }'
    text += "".join(node(f"n{i}", "Concat", "z", *[f"n{i - 1}" if i else "e"] * 2, more=two) for i in range(24))
    assert attempt(parse(text + node("x", "Fill", "n23", "a", more=FLOAT))) is None


def good():
    """A file with most kinds of things in it."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(np.ones((3, 4), np.float32), name="w")
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w), lambda: tf.zeros([1, 4]))
        tf.split(tf.reshape(y, [-1, 2, 2]), 2, axis=1)
        tf.strided_slice(y, [0, 0], [1, 1], shrink_axis_mask=1)
        tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")
        tf.concat([y, tf.tile(y, [1, 2])], 1)
        tf.constant([b"a", b"bc"])
        tf.fill([2, 3], 1.0)
        tf.one_hot([1, 2], 4)
        tf.transpose(y, [1, 0])
        tf.random_uniform([3])
        loop = graph.as_graph_def()
    loop.MergeFrom(
        parse(
            node("enter", "Enter", "x", more=FLOAT + 'attr { key: "frame_name" value { s: "f" } }')
            + node("merge", "Merge", "enter", "next", more=FLOAT + 'attr { key: "N" value { i: 2 } }')
            + node("next", "NextIteration", "merge", more=FLOAT)
        )
    )
    return loop


GOOD = good()
CONTENT = GOOD.SerializeToString()
ODD = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**62, -(2**63), 1000, 40000]


def test_the_good_file_is_good():
    assert attempt(GOOD) is None


@settings(max_examples=60)
@given(st.data())
def test_changed_bytes(data):
    content = bytearray(CONTENT)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.integers(0, 3))
        if how == 0:
            content[at] = data.draw(st.integers(0, 255))
        elif how == 1:
            del content[at : at + data.draw(st.integers(1, 20))]
        elif how == 2:
            content[at:at] = data.draw(st.binary(max_size=10))
        else:
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        if not content:
            break
    attempt(bytes(content))


@settings(max_examples=120)
@given(st.data())
def test_changed_structure(data):
    message = copy.deepcopy(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        target = message.node[data.draw(st.integers(0, len(message.node) - 1))]
        CHANGES[data.draw(st.integers(0, len(CHANGES) - 1))](data, message, target)
        if not message.node:
            break
    attempt(message)


def other_name(data, message):
    return message.node[data.draw(st.integers(0, len(message.node) - 1))].name


def change_input(data, message, target):
    prefix = data.draw(st.sampled_from(["", "^", "^^"]))
    port = data.draw(st.sampled_from(["", ":0", ":1", ":7", ":-1"]))
    text = prefix + other_name(data, message) + port
    if target.input and data.draw(st.booleans()):
        target.input[data.draw(st.integers(0, len(target.input) - 1))] = text
    else:
        target.input.append(text)


def change_op(data, message, target):
    names = sorted({n.op for n in message.node}) + ["Bincount", "Pack", "Merge", "Cast", "VariableV2"]
    target.op = data.draw(st.sampled_from(names))


def change_name(data, message, target):
    target.name = data.draw(st.one_of(st.text(max_size=8), st.just(other_name(data, message))))


def change_attribute(data, message, target):
    if not target.attr:
        return
    value = target.attr[data.draw(st.sampled_from(sorted(target.attr)))]
    number = data.draw(st.sampled_from(ODD))
    kind = data.draw(st.sampled_from(["i", "type", "f", "b", "s", "shape", "list", "tensor", "none", "dims"]))
    if kind == "dims" and value.HasField("tensor"):
        value.tensor.tensor_shape.dim.add(size=number)
    elif kind == "tensor" and value.HasField("tensor"):
        value.tensor.int_val.append(number % 1000)
    elif kind == "shape":
        value.shape.dim.add(size=number)
    elif kind == "list":
        value.list.i.append(number)
    elif kind == "i":
        value.i = number
    elif kind == "type":
        value.type = number % 130
    elif kind == "f":
        value.f = float(number)
    elif kind == "b":
        value.b = bool(number % 2)
    elif kind == "s":
        value.s = data.draw(st.binary(max_size=6))
    elif kind == "none":
        value.Clear()


def drop_attribute(data, message, target):
    if target.attr:
        del target.attr[data.draw(st.sampled_from(sorted(target.attr)))]


def drop_node(data, message, target):
    message.node.remove(target)


CHANGES = (change_input, change_op, change_name, change_attribute, change_attribute, drop_attribute, drop_node)
