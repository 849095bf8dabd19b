"""Data sets in written graphs: the functions of map, filter and the like stand in the library, as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfnb as tf

D, E = tf.data.Dataset, tf.data.experimental


def captured(added: Any) -> Any:
    return D.range(3).map(lambda x: x + added)


SETS: dict[str, Callable[[], Any]] = {
    "captured": lambda: captured(tf.constant(10, tf.int64)),
    "filter": lambda: D.range(6).filter(lambda x: x > 3).batch(2),
    "nested": lambda: D.range(3).flat_map(lambda x: D.range(3).map(lambda y: x * y)),
    "loop": lambda: D.range(3).map(lambda x: tf.while_loop(lambda i: i < 9, lambda i: i + x + 1, [x])),
    "cond": lambda: D.range(4).map(lambda x: tf.cond(x > 2, lambda: x * 2, lambda: x)),
    "groups": lambda: D.range(6).apply(E.group_by_window(lambda x: x % 2, lambda _, d: d.batch(3), 3)),
    "scan": lambda: D.range(4).apply(E.scan(tf.constant(1, tf.int64), lambda s, x: (s + x, s * x))),
    "take_while": lambda: D.range(9).apply(E.take_while(lambda x: x < 4)),
    "reduce": lambda: D.range(4).map(lambda x: D.range(3).reduce(x, lambda a, b: a + b)),
    "interleave": lambda: D.range(3).apply(E.parallel_interleave(lambda x: D.range(x), cycle_length=2)),
}


def elements(sess: tf.Session, following: Any) -> list[Any]:
    found = []
    try:
        while True:
            found.append(sess.run(following))
    except tf.errors.OutOfRangeError:
        return [x.tolist() for x in found]


@pytest.mark.parametrize("name", SETS)
def test_another_session_reads_what_was_written(name: str) -> None:
    with tf.Graph().as_default() as graph:
        once = SETS[name]().make_one_shot_iterator().get_next(name="once")
        iterator = SETS[name]().make_initializable_iterator()
        following, start = iterator.get_next(name="following"), iterator.initializer.name
        with tf.Session() as sess:
            wanted = elements(sess, once)
        written = graph.as_graph_def().SerializeToString()
        names = once.name, following.name
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.FromString(written), name="")
        with tf.Session() as sess:
            sess.run(start)
            assert wanted
            assert [elements(sess, name) for name in names] == [wanted, wanted]


def test_equal_functions_are_written_once() -> None:
    with tf.Graph().as_default() as graph:
        numbers = D.range(3).map(lambda x: x + 1)
        numbers.make_one_shot_iterator()
        numbers.make_one_shot_iterator()
        numbers.map(lambda x: x + 2)
        message = graph.as_graph_def()
    factories = {n.attr["dataset_factory"].func.name for n in message.node if n.op == "OneShotIterator"}
    mapped = [n.attr["f"].func.name for n in message.node if n.op == "MapDataset"]
    assert (len(factories), len(set(mapped))) == (1, 2)
    assert sorted(f.signature.name for f in message.library.function) == sorted({*mapped, *factories})


def test_attributes_have_the_names_of_tensorflow() -> None:
    with tf.Graph().as_default() as graph:
        D.range(3).apply(E.take_while(lambda x: x < 2))
        (node,) = [n for n in graph.as_graph_def().node if n.op.endswith("TakeWhileDataset")]
    assert node.attr["predicate"].func.name.startswith("function_")
    assert "f" not in node.attr
