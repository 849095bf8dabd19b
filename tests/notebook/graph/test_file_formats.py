"""Graphs in files of every kind, and files that hold none."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DataLossError, NotFoundError, ResourceExhaustedError
from tfnb.ir.protos import proto
from tfnb.notebook.graph import file_formats
from tfnb.notebook.graph.file_formats import read_graph


@pytest.fixture(scope="module")
def graph():
    made = tf.Graph()
    with made.as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.matmul(x, tf.Variable(tf.zeros([3, 2]), name="w"), name="y")
        tf.train.Saver()
    return made


def names(message):
    return [node.name for node in message.node]


def test_every_kind(graph, tmp_path):
    wanted = names(graph.as_graph_def())
    tf.train.write_graph(graph, str(tmp_path), "a.pb", as_text=False)
    tf.train.write_graph(graph, str(tmp_path), "b.pbtxt")
    with graph.as_default():
        tf.train.export_meta_graph(str(tmp_path / "c.ckpt.meta"))
    saved = proto("saved_model").SavedModel(saved_model_schema_version=1)
    saved.meta_graphs.add().graph_def.CopyFrom(graph.as_graph_def())
    (tmp_path / "saved_model.pb").write_bytes(saved.SerializeToString())
    (tmp_path / "saved_model.pbtxt").write_text(str(saved))
    (tmp_path / "renamed.pb").write_bytes(saved.SerializeToString())
    for name in ("a.pb", "b.pbtxt", "c.ckpt.meta", "saved_model.pb", "saved_model.pbtxt", "renamed.pb"):
        assert names(read_graph(str(tmp_path / name))) == wanted, name


def test_ops_that_nobody_knows_are_read(tmp_path):
    (tmp_path / "a.pbtxt").write_text('node { name: "a" op: "SomebodysOwn" input: "b" }')
    assert names(read_graph(str(tmp_path / "a.pbtxt"))) == ["a"]


def test_files_without_a_graph(tmp_path, monkeypatch):
    for name, content in (
        ("a.pb", b""),
        ("b.pb", b"\x00\x01no graph"),
        ("c.pbtxt", b"node { nam"),
        ("d.pbtxt", b"\xff\xfe"),
        ("e.pbtxt", b"node {" * 5000),
        ("f.meta", b"just a text about something else"),
        ("g.pbtxt", b"versions { producer: 7 }"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataLossError, match="no GraphDef"):
            read_graph(str(tmp_path / name))
    with pytest.raises(NotFoundError):
        read_graph(str(tmp_path / "none.pb"))
    monkeypatch.setattr(file_formats, "MOST_TEXT", 10)
    (tmp_path / "h.pbtxt").write_text('node { name: "a" op: "NoOp" }')
    with pytest.raises(ResourceExhaustedError, match="at most 10"):
        read_graph(str(tmp_path / "h.pbtxt"))
    monkeypatch.setattr(file_formats, "MOST_TEXT", 1000)
    monkeypatch.setattr(file_formats, "MOST_NODES", 0)
    with pytest.raises(ResourceExhaustedError, match="1 nodes"):
        read_graph(str(tmp_path / "h.pbtxt"))


@pytest.mark.parametrize(
    "text",
    [
        'node{name:"a" op:"b" attr{key:"k" value{list{i:[' + "1," * 250_000 + "1]}}}}",
        "node{}" * 250_000,
        "node<>" * 250_000,
        'node{name:"a"}' * 110_000,
    ],
)
def test_the_values_of_a_text_are_counted_before_it_is_parsed(tmp_path, text):
    (tmp_path / "a.pbtxt").write_text(text)
    with pytest.raises(ResourceExhaustedError, match="values: at most 200,000"):
        read_graph(str(tmp_path / "a.pbtxt"))


def test_empty_nodes_without_end_are_refused_unread(tmp_path):
    (tmp_path / "a.pb").write_bytes(b"\x0a\x00" * (2 << 20))
    with pytest.raises(ResourceExhaustedError, match="bytes of memory"):
        read_graph(str(tmp_path / "a.pb"))


@given(content=st.binary(max_size=60), name=st.sampled_from(["a.pb", "b.meta", "saved_model.pb", "c.pbtxt"]))
def test_any_bytes_give_a_graph_or_an_error(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    with contextlib.suppress(DataLossError):
        assert names(read_graph(str(path)))
