"""`tf.data.Dataset` is one class for its users, although its parts stand in several modules."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import tfnb as tf

SOURCES = (
    "from_generator",
    "from_sparse_tensor_slices",
    "from_tensor_slices",
    "from_tensors",
    "list_files",
    "range",
    "zip",
)
TRANSFORMATIONS = (
    *("apply", "batch", "cache", "concatenate", "enumerate", "filter", "filter_with_legacy_function", "flat_map"),
    *("ignore_errors", "interleave", "map", "map_with_legacy_function", "padded_batch", "prefetch", "repeat", "shard"),
    *("shuffle", "skip", "take", "unbatch", "window", "with_options"),
)
ITERATION = ("make_initializable_iterator", "make_one_shot_iterator", "options", "reduce")
PROPERTIES = ("output_classes", "output_shapes", "output_types", "skipped")
NAMES = (*SOURCES, *TRANSFORMATIONS, *ITERATION, *PROPERTIES)
CLASSES = (
    tf.data.Dataset,
    tf.data.TextLineDataset,
    tf.data.TFRecordDataset,
    tf.data.FixedLengthRecordDataset,
    tf.data.experimental.CsvDataset,
)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_class_has_every_public_method_with_its_docstring(cls):
    assert issubclass(cls, tf.data.Dataset)
    assert {name for name, member in inspect.getmembers(cls) if not name.startswith("_")} == set(NAMES)
    text = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    for name in NAMES:
        doc = inspect.getdoc(getattr(cls, name))
        assert doc and doc.splitlines()[0] in text, name
        assert name in text


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_class_is_made_by_a_metaclass(cls):
    assert type(cls) is type


def test_sources_and_transformations_of_subclasses_return_plain_data_sets(tmp_path):
    class Lines(tf.data.TextLineDataset):
        """A user's class."""

        def map(self, map_func, num_parallel_calls=None):
            return super().map(lambda line: map_func(line) + "!", num_parallel_calls)

    path = tmp_path / "lines"
    path.write_text("a\nb\n")
    lines = Lines(str(path))
    data = lines.map(lambda line: line + "?").repeat(2)
    assert type(data) is tf.data.Dataset and type(Lines.range(3)) is tf.data.Dataset
    item = data.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(item) for _ in range(4)] == [b"a?!", b"b?!", b"a?!", b"b?!"]


def test_functions_of_windows_get_data_sets():
    """Also after a structure: each component of a window is a data set."""
    data = tf.data.Dataset.range(5).map(lambda x: {"a": x, "b": x * 10}).window(2)
    item = data.flat_map(lambda w: tf.data.Dataset.zip((w["a"], w["b"]))).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(item) for _ in range(5)] == [(n, 10 * n) for n in range(5)]


def test_elements_come_after_one_that_is_an_error():
    def values():
        yield from ([1, 2], "none", [1, 2, 3], [3, 4])

    numbers = tf.constant([1.0, np.nan, 3.0])
    for data, count in (
        (tf.data.Dataset.from_generator(values, tf.int64, [2]), 4),
        (tf.data.Dataset.from_tensor_slices(numbers).map(lambda x: tf.check_numerics(x, "nan")).prefetch(1), 3),
    ):
        following = data.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            first = session.run(following)
            for _ in range(count - 2):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(following)
            assert not np.array_equal(session.run(following), first)
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)


def test_iterator_of_a_string_handle_must_have_the_shapes():
    numbers = tf.data.Dataset.from_tensors(1).make_one_shot_iterator()
    nodes = len(tf.get_default_graph().get_operations())
    handle = numbers.string_handle()
    assert handle is numbers.string_handle() and len(tf.get_default_graph().get_operations()) == nodes
    vector = tf.data.Iterator.from_string_handle(handle, tf.int32, [None]).get_next()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="of the shapes"):
        session.run(vector)


def test_types_and_shapes_of_other_structures_are_a_type_error():
    with pytest.raises(TypeError, match="as many shapes"):
        tf.data.Iterator.from_structure((tf.int64, tf.float64), [None])
