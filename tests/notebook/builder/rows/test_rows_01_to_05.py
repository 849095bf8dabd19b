"""Rows 1 to 5 of the builder's features, as far as they are about the document: palette, shapes, mends, code.

Those about gestures in a browser are in tests/browser, mends (row 4) in ../test_fixes.py.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from builder_gestures import Editor, add, palette, wire
from random_sources import random_graph

import tfnb as tf
from tfnb.errors import DTypeError, ShapeError
from tfnb.notebook.builder.catalogue import search
from tfnb.notebook.builder.files.imports import opened
from tfnb.ops import CATALOG

ROOT = Path(__file__).resolve().parents[4]
SPEC = importlib.util.spec_from_file_location("loading", ROOT / "tests" / "programs" / "loading.py")
loading = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(loading)


def test_row_1_matmul_takes_at_most_eight_keys():
    typed = next(n for n in range(1, 7) if search("MatMul"[:n])[0].call == "tf.matmul")
    assert 1 + typed + 1 <= 8  # the slash, the letters, Enter


VALUES = {
    "floats": "tf.placeholder(tf.float32, [None, 3])",
    "images": "tf.placeholder(tf.float32, [None, 8, 8, 3])",
    "scalar": "tf.placeholder(tf.int32, [])",
    "texts": "tf.placeholder(tf.string, [4])",
    "flags": "tf.placeholder(tf.bool, [2, 2])",
    "complex": "tf.placeholder(tf.complex64, [5])",
}


def is_refused(op, arg, value):
    """Does the OpDef refuse the value as this input, beside placeholders of unknown shape? None: it cannot be told."""
    types = {}
    for a in op.input_args:
        if a.name == arg.name:
            if a.type in op.types:
                if value.dtype not in op.types[a.type]:
                    return True
                types[a.type] = value.dtype
            elif tf.as_dtype(a.type) is not value.dtype:
                return True
    attrs = {t: ds[0] for t, ds in op.types.items() if t not in {a.type for a in op.input_args} and ds}
    with tf.Graph().as_default():
        values = []
        for a in op.input_args:
            if a.name == arg.name:
                values.append(tf.placeholder(value.dtype, value.get_shape()))
            else:
                dtype = types.setdefault(a.type, op.types[a.type][0]) if a.type in op.types else tf.as_dtype(a.type)
                values.append(tf.placeholder(dtype, None))
        try:
            op(*values, **attrs)
        except (DTypeError, ShapeError) as error:
            return None if "is not given by an input" in str(error) else True
        except Exception:
            return None
        return False


def test_row_2_the_palette_of_a_wire_is_what_the_ops_do_not_refuse():
    """200 pairs of an output and an op with one or several inputs: an op is offered if one of its inputs takes the wire."""
    e = Editor("import tfnb as tf\n" + "".join(f"{n} = {t}\n" for n, t in VALUES.items()))
    ops = [op for op in CATALOG.values() if op.input_args and op.name != "LoopProductsSum"]
    ops = [op for op in ops if not any(a.number or a.type_list or a.ref for a in op.input_args)]
    pairs = list(itertools.product(VALUES, ops))
    random.Random(2).shuffle(pairs)
    compared, offered_count = 0, 0
    for name, op in pairs:
        if compared == 200:
            break
        value = e.document.built.outcomes[e.document.program.by_id[name].index].values[name]
        refusals = [is_refused(op, a, value) for a in op.input_args]
        if None in refusals:
            continue
        entries = palette(e, f"raw_ops.{op.name}", wire=wire(name), count=200)
        is_offered = any(p["call"] == f"tf.raw_ops.{op.name}" for p in entries)
        compared += 1
        offered_count += is_offered
        assert is_offered == (not all(refusals)), (name, op.name, refusals)
    assert compared == 200 and 40 < offered_count < 160


CALLS = {
    "tf.nn.relu": "features",
    "tf.square": "x",
    "tf.transpose": "a",
    "tf.expand_dims": "input",
    "tf.argmax": "input",
}


def random_valid_edit(r, e):
    """An edit that is usually accepted: a new call on a node, an argument, a wire, a rename, or a deletion."""
    nodes = [n for n, node in e.nodes.items() if node["outputs"] and node["outputs"][0]["dtype"]]
    if len(nodes) < 2:
        return add("tf.ones", shape="[3, 3]")
    node, other = r.choice(nodes), r.choice(nodes)
    kind = r.randrange(8)
    if kind < 3:
        call = r.choice(list(CALLS))
        return add(call, [(CALLS[call], node)])
    if kind < 5:
        return add(
            r.choice(["tf.add", "tf.multiply", "tf.matmul"]), [("a" if r.random() < 0.2 else "x", node), ("y", other)]
        )
    if kind == 5:
        port = r.choice([p["name"] for p in e.nodes[node]["inputs"]] or ["x"])
        return {"edit": "connect", "wire": wire(other), "node": node, "port": port}
    if kind == 6:
        return {"edit": "rename", "node": node, "name": f"n{r.randrange(10**6)}"}
    return {"edit": "delete", "nodes": [node], "heal": r.random() < 0.7}


def test_row_3_shapes_are_those_of_the_graph_that_python_builds():
    """500 edits in five documents; after each, every drawn dtype and shape is that of `get_shape()` of a new build."""
    done = 0
    for seed in range(5):
        r = random.Random(seed)
        e = Editor(
            "import tfnb as tf\na = tf.placeholder(tf.float32, [None, 3])\nb = tf.ones([3, 3])\nc = tf.zeros([3])\n"
        )
        for _ in range(100):
            if len(e.nodes) > 14:
                e.do({"edit": "delete", "nodes": list(e.nodes)[-6:], "heal": False})
                e.do(add("tf.ones", shape="[3, 3]"))
            e.attempt(random_valid_edit(r, e))
            done += 1
            names = {"tf": tf}
            with tf.Graph().as_default():
                for s in e.document.program.statements:
                    try:
                        exec(s.text, names)
                    except Exception:
                        for name in s.names:
                            names.pop(name, None)
            for name, node in e.nodes.items():
                value = names.get(node["outputs"][0]["name"])
                came = [(o["dtype"], o["shape"]) for o in node["outputs"][:1]]
                if value is None:
                    assert came == [("", None)], (name, came)
                else:
                    dims = value.get_shape().sizes
                    needed = (value.dtype.base_dtype.name, None if dims is None else value.get_shape().as_list())
                    assert came == [needed], node["source"]
    assert done == 500


def calls_of_an_edit(nodes):
    """Returns how many functions are called for one added node in a chain of so many: the median of some edits."""
    lines = ["import tfnb as tf", "x0 = tf.placeholder(tf.float32, [None, 8])"]
    lines += [f"x{k} = tf.nn.relu(x{k - 1})" for k in range(1, nodes)]
    e = Editor("\n".join(lines) + "\n")
    counts = []
    for k in range(5):
        count = 0

        def called(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            e.do(add("tf.square", [("x", f"x{(nodes // 6) * k}")]))
        finally:
            sys.setprofile(None)
        counts.append(count)
    assert len(e.nodes) == nodes + 5
    return sorted(counts)[2]


def test_row_3_an_answer_costs_no_more_than_in_proportion_to_the_graph():
    few, many = calls_of_an_edit(100), calls_of_an_edit(300)
    assert many < 4 * few, (few, many)


def rebuilt(source):
    with tf.Graph().as_default() as graph:
        exec(source, {"__name__": "test"})
    return graph.as_graph_def()


def test_row_5_the_code_of_200_random_graphs_builds_the_same_graph(tmp_path):
    for seed in range(200):
        graph = random_graph(seed)
        given = opened(graph.as_graph_def())
        assert not given.known and list(rebuilt(given.source).node) == list(graph.as_graph_def().node), seed
        (tmp_path / f"graph_{seed}.py").write_text(given.source, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "320", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("name", loading.NAMES)
def test_row_5_the_code_of_the_test_programs_builds_the_same_graph(name):
    program = loading.load(name)
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        program.build(tf, loading.Data(), program.RATE)
    given = opened(graph.as_graph_def())
    e = Editor(given.source, known=given.known, is_trusted=True, original=given.graph)
    assert list(e.document.built.graph.as_graph_def().node) == list(graph.as_graph_def().node)
    assert {o.state for o in e.document.built.outcomes} <= ({"built", "not run"} if given.known else {"built"})


def test_row_5_each_edit_is_echoed_as_the_line_that_it_wrote():
    e = Editor("import tfnb as tf\nx = tf.placeholder(tf.float32, [None, 3])\n")
    assert e.do(add("tf.nn.relu", [("features", "x")]))["echo"] == "relu = tf.nn.relu(x)"
    assert re.fullmatch(r"h = tf\.nn\.relu\(x\)", e.do({"edit": "rename", "node": "relu", "name": "h"})["echo"])
    assert e.do({"edit": "move", "positions": {"h": [1, 2]}})["echo"] == ""
