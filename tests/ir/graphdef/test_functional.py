"""If, While and Case of a GraphDef's library, with variables' handles among their arguments; and malformed ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.errors import OpError, UnimplementedError

KINDS = {"f": "DT_FLOAT", "i": "DT_INT32", "b": "DT_BOOL", "h": "DT_RESOURCE"}


def attr(name, value):
    return f'attr {{ key: "{name}" value {{ {value} }} }} '


def node(name, op, inputs="", more="", key="node_def"):
    listed = " ".join(f'input: "{i}"' for i in inputs.split())
    return f'{key} {{ name: "{name}" op: "{op}" {listed} {more} }} '


def function(name, args, outs, nodes, rets):
    """args, outs: "x:f y:i"; rets: what stands behind each output."""
    listed = "".join(
        f'{kind} {{ name: "{a.split(":")[0]}" type: {KINDS[a.split(":")[1]]} }} '
        for kind, names in (("input_arg", args), ("output_arg", outs))
        for a in names.split()
    )
    returned = "".join(
        f'ret {{ key: "{o.split(":")[0]}" value: "{r}" }} ' for o, r in zip(outs.split(), rets.split(), strict=True)
    )
    return f'function {{ signature {{ name: "{name}" {listed} }} {nodes} {returned} }}\n'


FLOAT, INT = attr("T", "type: DT_FLOAT"), attr("T", "type: DT_INT32")
OF_FLOAT = attr("dtype", "type: DT_FLOAT")
READ = node("r", "ReadVariableOp", "v", OF_FLOAT)
ONE = node("one", "Const", "", attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 int_val: 1 }"))
FIVE = node(
    "one", "Const", "", attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 int_val: 5 }")
)
LIBRARY = (
    function("read", "x:f v:h", "o:f", READ + node("y", "Mul", "x r:value:0", FLOAT), "y:z:0")
    + function("twice", "x:f v:h", "o:f", node("y", "Add", "x x", FLOAT), "y:z:0")
    + function(
        "kept",
        "x:f v:h",
        "o:f",
        node("a", "AssignAddVariableOp", "v x", OF_FLOAT) + node("y", "Identity", "x ^a", FLOAT),
        "y:output:0",
    )
    + function("below", "i:i x:f v:h", "o:b", FIVE + node("y", "Less", "i one:output:0", INT), "y:z:0")
    + function(
        "step",
        "i:i x:f v:h",
        "j:i y:f w:h",
        ONE + READ + node("n", "Add", "i one:output:0", INT) + node("m", "Mul", "x r:value:0", FLOAT),
        "n:z:0 m:z:0 v",
    )
    + function("other", "x:f", "o:f", node("y", "Neg", "x", FLOAT), "y:y:0")
    + function("lost", "i:i x:f v:h", "j:i y:f w:f", "", "i x x")
)
START = (
    node("p", "Placeholder", "", attr("dtype", "type: DT_BOOL"), "node")
    + node("n", "Placeholder", "", attr("dtype", "type: DT_INT32"), "node")
    + node("x", "Placeholder", "", OF_FLOAT, "node")
    + node("v", "VarHandleOp", "", OF_FLOAT + attr("shape", "shape { }"), "node")
    + node("set", "AssignVariableOp", "v x", OF_FLOAT, "node")
    + node("now", "ReadVariableOp", "v", OF_FLOAT, "node")
)


def functions(**names):
    return "".join(attr(k, f'func {{ name: "{v}" }}') for k, v in names.items())


def listed(*names):
    return attr("branches", "list { " + " ".join(f'func {{ name: "{n}" }}' for n in names) + " }")


IF = functions(then_branch="read", else_branch="twice") + attr("Tcond", "type: DT_BOOL")
HANDLES = attr("T", "list { type: DT_INT32 type: DT_FLOAT type: DT_RESOURCE }")
WHILE = functions(cond="below", body="step") + HANDLES


def loaded(*nodes):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(
            text_format.Parse(f"{START}{''.join(nodes)} library {{ {LIBRARY} }}", tf.GraphDef()), name=""
        )
    return graph


def results(graph, fetches, feeds, start=3.0):
    with tf.Session(graph=graph) as sess:
        sess.run("set", {"x:0": start})
        return sess.run(fetches, feeds)


def test_if_takes_one_branch_and_reads_a_variable():
    graph = loaded(node("y", "If", "p x v", IF, "node"))
    assert results(graph, "y:0", {"p:0": True, "x:0": 2.0}) == 6.0
    assert results(graph, "y:0", {"p:0": False, "x:0": 2.0}) == 4.0
    with graph.as_default():
        dx, dv = tf.gradients(graph.get_tensor_by_name("y:0"), ["x:0", "v:0"])
    assert results(graph, [dx, dv], {"p:0": True, "x:0": 2.0}) == [3.0, 2.0]
    assert results(graph, [dx, dv], {"p:0": False, "x:0": 2.0}) == [2.0, 0.0]


def test_a_number_is_a_condition():
    numeric = IF.replace("DT_BOOL", "DT_INT32")
    graph = loaded(node("y", "If", "n x v", numeric, "node"))
    assert [results(graph, "y:0", {"n:0": n, "x:0": 2.0}) for n in (0, -1, 7)] == [4.0, 6.0, 6.0]


def test_only_the_branch_taken_changes_a_variable():
    graph = loaded(
        node("y", "If", "p x v", IF.replace('"read"', '"kept"'), "node"),
        node("after", "ReadVariableOp", "v ^y", OF_FLOAT, "node"),
    )
    assert results(graph, ["y:0", "after:0"], {"p:0": True, "x:0": 2.0}) == [2.0, 5.0]
    assert results(graph, ["y:0", "after:0"], {"p:0": False, "x:0": 2.0}) == [4.0, 3.0]
    with graph.as_default(), pytest.raises(UnimplementedError, match="changes a variable"):
        tf.gradients(graph.get_tensor_by_name("y:0"), "x:0")


def test_case_takes_the_last_for_numbers_outside():
    graph = loaded(node("y", "Case", "n x v", listed("read", "twice", "kept"), "node"))
    found = {n: float(results(graph, "y:0", {"n:0": n, "x:0": 2.0})) for n in (0, 1, 2, 3, -1)}
    assert found == {0: 6.0, 1: 4.0, 2: 2.0, 3: 2.0, -1: 2.0}


def test_while_hands_its_variable_on():
    graph = loaded(
        node("y", "While", "n x v", WHILE, "node"),
        node("h", "Identity", "y:2", attr("T", "type: DT_RESOURCE"), "node"),
        node("after", "ReadVariableOp", "h", OF_FLOAT, "node"),
    )
    assert results(graph, ["y:0", "y:1", "after:0"], {"n:0": 2, "x:0": 2.0}) == [5, 54.0, 3.0]
    with graph.as_default():
        slopes = tf.gradients(graph.get_tensor_by_name("y:1"), ["x:0", "v:0"])
    assert results(graph, slopes, {"n:0": 2, "x:0": 2.0}) == [27.0, 54.0]


def test_calls_come_back_from_our_own_file():
    graph = loaded(node("y", "While", "n x v", WHILE, "node"), node("z", "If", "p y:1 v", IF, "node"))
    again = tf.Graph()
    with again.as_default():
        tf.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    feeds = {"n:0": 4, "p:0": True, "x:0": 2.0}
    assert results(graph, "z:0", feeds) == results(again, "z:0", feeds) == 18.0


def test_handles_pass_switches_and_loops_of_primitives():
    handle = attr("T", "type: DT_RESOURCE")
    graph = loaded(
        node("s", "Switch", "v p", handle, "node"),
        node("a", "AssignAddVariableOp", "s:1 x", OF_FLOAT, "node"),
        node("b", "ReadVariableOp", "s:1 ^a", OF_FLOAT, "node"),
        node("c", "ReadVariableOp", "s", OF_FLOAT, "node"),
        node("y", "Merge", "b c", FLOAT + attr("N", "i: 2"), "node"),
    )
    assert results(graph, "y:0", {"p:0": True, "x:0": 2.0}) == 5.0
    assert results(graph, "y:0", {"p:0": False, "x:0": 2.0}) == 3.0


REFUSED = {
    "no function": (node("y", "If", "p x v", "", "node"), "names no function"),
    "unknown function": (node("y", "While", "n x v", functions(cond="below", body="gone") + HANDLES, "node"), "'body'"),
    "no branches": (node("y", "Case", "n x v", "", "node"), "names no function"),
    "too few arguments": (node("y", "If", "p v", IF, "node"), "takes 2 arguments, called with 1"),
    "unlike branches": (
        node("y", "If", "p x v", functions(then_branch="read", else_branch="other"), "node"),
        "takes 1 arguments",
    ),
    "condition that is text": (node("y", "If", "p x v", IF.replace("DT_BOOL", "DT_STRING"), "node"), "string"),
    "loop that loses its variable": (
        node("y", "While", "n x v", functions(cond="below", body="lost") + HANDLES, "node"),
        "must return the variable",
    ),
    "loop of two functions that do not fit": (
        node("y", "While", "x v", functions(cond="below", body="read"), "node"),
        "takes 3 arguments|condition and body",
    ),
    "condition and body exchanged": (
        node("y", "While", "n x v", functions(cond="step", body="below") + HANDLES, "node"),
        "condition and body",
    ),
    "handle that goes around": (
        node("h", "Identity", "g", attr("T", "type: DT_RESOURCE"), "node")
        + node("g", "Identity", "h", attr("T", "type: DT_RESOURCE"), "node")
        + node("y", "ReadVariableOp", "h", OF_FLOAT, "node"),
        "cycle",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    text, message = REFUSED[what]
    with pytest.raises(OpError) as error:
        loaded(text)
    assert re.search(message, str(error.value)), str(error.value)


def test_a_loop_that_waits_for_itself_is_refused():
    """An Enter behind an Exit of its own loop cannot be computed."""
    enter = attr("frame_name", 's: "f"') + INT
    graph = loaded(
        node("e", "Enter", "n", enter, "node"),
        node("m", "Merge", "e k", INT + attr("N", "i: 2"), "node"),
        node(
            "five",
            "Const",
            "^m",
            attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 int_val: 5 }"),
            "node",
        ),
        node("l", "Less", "m five", INT, "node"),
        node("c", "LoopCond", "l", "", "node"),
        node("s", "Switch", "m c", INT, "node"),
        node("b", "Add", "s:1 s:1", INT, "node"),
        node("k", "NextIteration", "b", INT, "node"),
        node("out", "Exit", "s", INT, "node"),
        node("again", "Neg", "out", INT, "node"),
        node("e2", "Enter", "again", enter, "node"),
        node("m2", "Merge", "e2 k2", INT + attr("N", "i: 2"), "node"),
        node("s2", "Switch", "m2 c", INT, "node"),
        node("k2", "NextIteration", "s2:1", INT, "node"),
        node("out2", "Exit", "s2", INT, "node"),
    )
    with pytest.raises(OpError, match="waits for what leaves it"), tf.Session(graph=graph) as sess:
        sess.run("out2:0", {"n:0": np.int32(1)})


def test_a_hint_about_saving_is_no_operation():
    message = tf.GraphDef()
    handle = message.node.add(name="v", op="VarHandleOp")
    handle.attr["dtype"].type = tf.float32.as_datatype_enum
    handle.attr["shape"].shape.SetInParent()
    message.node.add(name="first", op="NoOp")
    message.node.add(name="hint", op="DisableCopyOnRead", input=["v", "^first"])
    tf.import_graph_def(message, name="")
    hint = tf.get_default_graph().get_operation_by_name("hint")
    assert hint.type == "NoOp" and [op.name for op in hint.control_inputs] == ["first"]
    with tf.Session() as session:
        session.run(hint)


def test_arguments_and_results_outside_of_a_function():
    """A graph made of a function's body: TensorFlow imports it, an argument can be fed, a result cannot run."""
    message = tf.GraphDef()
    for name, op, sources in (("a", "_Arg", ()), ("n", "Neg", ("a",)), ("r", "_Retval", ("n",))):
        node = message.node.add(name=name, op=op, input=sources)
        node.attr["T"].type = 1
        if op != "Neg":
            node.attr["index"].i = 0
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(message, name="")
        assert sess.run("n:0", {"a:0": 2.0}) == -2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="a:0"):
            sess.run("n:0")
        with pytest.raises(tf.errors.InvalidArgumentError, match="SetRetval 0"):
            sess.run("r", {"a:0": 2.0})
        assert [sorted(n.attr) for n in graph.as_graph_def().node] == [["T", "index"], ["T"], ["T", "index"]]
