"""Hostile function libraries: recursion, deep nesting, explosion, wrong bodies; and what a library may leave out."""

from __future__ import annotations

import re

import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.errors import OpError

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def function(name, nodes, ret="y:z:0", args="x", out="o", extra=""):
    listed = " ".join(f'input_arg {{ name: "{a}" type: DT_FLOAT }}' for a in args.split())
    return (
        f'function {{ signature {{ name: "{name}" {listed} output_arg {{ name: "{out}" type: DT_FLOAT }} }} '
        f'{nodes} ret {{ key: "{out}" value: "{ret}" }} {extra} }}\n'
    )


def inner(name, op, *inputs, more=""):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node_def {{ name: "{name}" op: "{op}" {listed} {more} }}'


def parse(library, call):
    start = (
        'node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        f'node {{ name: "c" op: "{call}" input: "a" }}'
    )
    return text_format.Parse(f"{start} library {{ {library} }}", tf.GraphDef())


def attempt(message):
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(message, name="")
        except OpError as e:
            assert graph.version == 0
            return str(e)
    return None


def chain(n, twice=False):
    """f0 is an Add; each next calls the one before, once or twice."""
    text = function("f0", inner("y", "Add", "x", "x", more=FLOAT))
    for i in range(1, n):
        nodes = inner("m", f"f{i - 1}", "x") if twice else ""
        nodes += inner("y", f"f{i - 1}", "m:o:0" if twice else "x")
        text += function(f"f{i}", nodes, ret="y:o:0")
    return text


ADD = inner("y", "Add", "x", "x", more=FLOAT)
REFUSED = {
    "itself": (function("f", inner("y", "f", "x"), "y:o:0"), "'f'.*calls itself"),
    "each other": (
        function("f", inner("y", "g", "x"), "y:o:0") + function("g", inner("y", "f", "x"), "y:o:0"),
        "calls itself",
    ),
    "itself by attribute": (
        function(
            "f", inner("y", "PartitionedCall", "x", more='attr { key: "f" value { func { name: "f" } } }'), "y:o:0"
        ),
        "calls itself",
    ),
    "two of one name": (function("f", ADD) + function("f", ADD), "two functions 'f'"),
    "unknown op": (function("f", inner("y", "Nope", "x")), "'f'.*'y'.*no op is named 'Nope'"),
    "unknown input": (function("f", inner("y", "Add", "x", "gone:z:0", more=FLOAT)), "'y'.*'gone:z:0' is no output"),
    "unknown output": (function("f", inner("y", "Add", "x", "x", more=FLOAT), "y:wrong:0"), "'y:wrong:0' is no output"),
    "number of an output": (function("f", ADD, "y:z:1"), "'y:z:1' is no output"),
    "graph's way": (function("f", ADD + inner("w", "Neg", "y", more=FLOAT), "w:y:0"), "'y' is no output"),
    "nothing returned": (function("f", ADD).replace('ret { key: "o"', 'ret { key: "p"'), "nothing is returned"),
    "other dtype": (function("f", ADD).replace('"o" type: DT_FLOAT', '"o" type: DT_INT32'), "'o' is float32"),
    "argument twice": (function("f", ADD, args="x x"), "taken twice"),
    "argument and node": (function("f", ADD, args="x y"), "taken twice"),
    "open dtype": (function("f", ADD).replace('name: "x" type: DT_FLOAT', 'name: "x" type_attr: "T"'), "fixed dtype"),
    "reference": (
        function("f", ADD).replace('name: "x" type: DT_FLOAT', 'name: "x" type: DT_FLOAT is_ref: true'),
        "input x must be a variable",
    ),
    "variable": (
        function(
            "f",
            inner(
                "v",
                "VariableV2",
                more='attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } }',
            )
            + ADD,
        ),
        "'v'.*cannot hold a variable",
    ),
    "cycle": (
        function("f", inner("y", "Neg", "w:y:0", more=FLOAT) + inner("w", "Neg", "y:y:0", more=FLOAT), "y:y:0"),
        "cycle",
    ),
    "name of an op": (function("Neg", ADD) + function("f", inner("y", "Neg", "x"), "y:o:0"), "name of an op"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_what_and_where(what):
    text, message = REFUSED[what]
    error = attempt(parse(text, "f"))
    assert error is not None, "was taken"
    assert re.search(message, error, re.DOTALL), error


def test_nesting_has_a_limit():
    assert attempt(parse(chain(60), "f59")) is None
    assert "more than 64 deep" in attempt(parse(chain(5000), "f4999"))


def test_explosion_is_seen_before_it_happens():
    assert "nodes with all it calls" in attempt(parse(chain(40, twice=True), "f39"))


def test_calls_name_a_function_of_the_library():
    for attr in ("", 'attr { key: "f" value { func { name: "gone" } } }', 'attr { key: "f" value { i: 1 } }'):
        message = parse(function("f", ADD), "PartitionedCall")
        message.node[1].MergeFrom(text_format.Parse(attr, tf.NodeDef()))
        assert re.search(r"'c'.*names no function", attempt(message))


def test_functions_that_nothing_calls_may_be_anything():
    assert attempt(parse(function("f", ADD) + function("g", inner("y", "Nope", "x")), "f")) is None
