"""What the attribute "_class" of a node in a file says, and where it says nothing."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.errors import GraphError

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def graph(inside: str, outside: str = "") -> tf.GraphDef:
    def placed(text: str) -> str:
        return f'attr {{ key: "_class" value {{ list {{ s: "{text}" }} }} }}' if text else ""

    return text_format.Parse(
        f"""
        node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} {placed(outside)} }}
        node {{ name: "y" op: "twice" input: "x" }}
        library {{ function {{
          signature {{ name: "twice" input_arg {{ name: "a" type: DT_FLOAT }} output_arg {{ name: "b" type: DT_FLOAT }} }}
          node_def {{ name: "same" op: "Identity" input: "a" {FLOAT} }}
          node_def {{ name: "sum" op: "Add" input: "same:output:0" input: "a" {FLOAT} {placed(inside)} }}
          ret {{ key: "b" value: "sum:z:0" }} }} }}
        versions {{ producer: 27 }}""",
        tf.GraphDef(),
    )


@pytest.mark.parametrize("inside", ["loc:@133", "loc:@same", "loc:@a", "loc:@x", "anything"])
def test_a_function_may_name_nodes_that_it_does_not_have(inside):
    """TensorFlow 2 writes the names of the graph in which it traced an optimizer; TensorFlow 1.15.5 loads them."""
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(graph(inside), name="", return_elements=["y:0"])
        assert sess.run(y, {"x:0": [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_a_graph_may_not():
    with tf.Graph().as_default(), pytest.raises(GraphError, match="is placed with '133'"):
        tf.import_graph_def(graph("", "loc:@133"), name="")
    with tf.Graph().as_default():
        (x,) = tf.import_graph_def(graph("", "a class of another kind"), name="", return_elements=["x"])
        assert x.colocation_groups() in ([], [b"loc:@x"])
