"""Graphs with data sets and tables that TensorFlow wrote: their functions stand in the library of the file.

The files hold the graphs of `scripts/real_files/write_meta_graphs.py`, run by TensorFlow 1.15.5 and by 2.21 as v1; the
values are those that 1.15.5 gives for both, where it knows the ops.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import GraphError, OpError
from tfnb.ir.protos import proto

FOLDER = Path(__file__).parents[2] / "data" / "meta_graphs"
BATCHES = [
    [0.0, 1.0, 2.0],
    [3.0, 4.0, 5.0],
    [6.0, 7.0, 8.0],
    [9.0, 0.0, 1.0],
    [2.0, 3.0, 4.0],
    [5.0, 6.0, 7.0],
    [8.0, 9.0],
]
ELEMENTS = {
    "batch_1_15": [[b] for b in BATCHES],
    "capture_1_15": [[2.0], [4.0], [6.0]],
    "conc_1_15": [[0], [1], [7], [8]],
    "filter_1_15": [[1], [4], [7]],
    "flat_1_15": [[5], [5], [6], [6], [7], [7]],
    "handle_1_15": [[4], [5], [6]],
    "init_1_15": [[[1.0, 2.0], [b"a", b"b"]], [[3.0, 4.0], [b"c", b"d"]]],
    "init_2_21": [[[1.0, 2.0], [b"a", b"b"]], [[3.0, 4.0], [b"c", b"d"]]],
    "inter_1_15": [[5], [6], [5], [6], [7], [7]],
    "inter_2_21": [[5], [6], [5], [6], [7], [7]],
    "map_1_15": [[2 * k] for k in range(10)],
    "mb_1_15": [[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[9]]],
    "mb_2_21": [[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[9]]],
    "pad_1_15": [[[[1, 0], [2, 2]]], [[[3, 3, 3, 0], [4, 4, 4, 4]]]],
    "pmap_1_15": [[2 * k] for k in range(10)],
    "pmap_2_21": [[2 * k] for k in range(10)],
    "scan_1_15": [[0], [1], [3], [6], [10]],
    "scan_2_21": [[0], [1], [3], [6], [10]],
    "zip_1_15": [[0, 1], [1, 2], [2, 3], [3, 4]],
}
TABLES = {
    "contrib_1_15": [[0, 3]],
    "contrib2_1_15": [[b"b", b"unk"]],
    "static_1_15": [[1, 7, 0], 2],
    "static_2_21": [[1, 7, 0], 2],
    "vocab_1_15": [[1, 3, 0]],
}


def started(sess, name):
    """Imports the file, and returns its outputs and what to feed."""
    tf.train.import_meta_graph(FOLDER / f"{name}.meta")
    operations = {op.name for op in sess.graph.get_operations()}
    sess.run([tf.tables_initializer(), tf.global_variables_initializer()])
    feeds = {"x:0": [1.0, 2.0, 3.0]} if "x" in operations else {}
    if "init" in operations:
        sess.run("init", feeds)
    if "h" in operations:
        feeds = {"h:0": sess.run("sh:0")}
    return [f"out{k}:0" for k in range(9) if f"out{k}" in operations], feeds


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name):
    with tf.Graph().as_default(), tf.Session() as sess:
        outputs, feeds = started(sess, name)
        for wanted in ELEMENTS[name]:
            assert [np.asarray(v).tolist() for v in sess.run(outputs, feeds)] == wanted
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(outputs, feeds)


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    with tf.Graph().as_default(), tf.Session() as sess:
        outputs, _ = started(sess, name)
        assert [np.asarray(v).tolist() for v in sess.run(outputs)] == TABLES[name]


def test_every_file_is_read_by_a_test():
    assert {path.stem for path in FOLDER.iterdir()} == {*ELEMENTS, *TABLES}


def graph(name):
    return proto("meta_graph").MetaGraphDef.FromString((FOLDER / f"{name}.meta").read_bytes()).graph_def


@pytest.mark.parametrize(("called", "error"), [("nothing", "no op is named 'nothing'"), ("Add", "needed a function")])
def test_a_function_that_is_not_in_the_library_is_refused(called, error):
    message = graph("init_1_15")
    (node,) = [n for n in message.node if n.op == "MapDataset"]
    node.attr["f"].func.name = called
    with tf.Graph().as_default() as g, pytest.raises(OpError, match=f"MapDataset.*{error}"):
        tf.import_graph_def(message, name="")
    assert not g.get_operations()


def test_a_function_that_needs_the_node_that_applies_it_is_refused():
    message = graph("flat_1_15")
    inner = next(f for f in message.library.function if any(n.op == "RepeatDataset" for n in f.node_def))
    node = inner.node_def.add(name="again", op="MapDataset")
    node.attr["f"].func.name = inner.signature.name
    with tf.Graph().as_default(), pytest.raises(GraphError, match="calls itself"):
        tf.import_graph_def(message, name="")
