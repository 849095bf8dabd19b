"""Lookup tables: static and mutable ones, files, buckets, and tables in data sets. Numbers are TensorFlow 1.15.5's."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf

lookup = tf.contrib.lookup
WORDS = ["emerson", "lake", "palmer"]


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return str(path)


def test_words_to_numbers_and_back(sess, vocabulary):
    tables = [
        lookup.index_table_from_file(vocabulary, num_oov_buckets=2),
        lookup.index_table_from_tensor(WORDS, num_oov_buckets=2),
        lookup.index_table_from_tensor(WORDS, num_oov_buckets=2, hasher_spec=lookup.StrongHashSpec([1, 2])),
        lookup.index_table_from_file(vocabulary, vocab_size=2, default_value=7),
    ]
    back = [
        lookup.index_to_string_table_from_file(vocabulary),
        lookup.index_to_string_table_from_tensor(WORDS, default_value="?"),
    ]
    words = tf.constant([["lake", "palmer"], ["and", "with"]])
    numbers = [t.lookup(words) for t in tables]
    assert numbers[0].shape.as_list() == [2, 2] and numbers[0].dtype is tf.int64
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
        sess.run(numbers[3])
    sess.run(tf.tables_initializer())
    sess.run(tf.tables_initializer())  # the same entries once more
    fast, same, strong, short = sess.run(numbers)
    np.testing.assert_array_equal(fast, [[1, 2], [4, 4]])
    np.testing.assert_array_equal(same, fast)
    np.testing.assert_array_equal(strong, [[1, 2], [4, 3]])
    np.testing.assert_array_equal(short, [[1, 7], [7, 7]])
    assert sess.run([t.size() for t in tables]) == [5, 5, 5, 2]
    assert [list(v) for v in sess.run([t.lookup(tf.constant([2, 9], tf.int64)) for t in back])] == [
        [b"palmer", b"UNK"],
        [b"palmer", b"?"],
    ]


def test_integers_columns_and_sparse_keys(sess, tmp_path):
    path = tmp_path / "prices"
    path.write_bytes(b"ham,2.5,7\r\neggs,1.5,8\r\n")
    init = tf.lookup.TextFileInitializer(str(path), tf.string, 0, tf.float32, 1, delimiter=",")
    prices = tf.lookup.StaticHashTable(init, 0.0)
    numbers = lookup.index_table_from_tensor(np.int64([10, 20]), num_oov_buckets=1, dtype=tf.int64)
    sparse = tf.SparseTensor([[0, 1], [2, 0]], ["eggs", "spam"], [3, 2])
    sess.run(tf.tables_initializer())
    value = sess.run(prices.lookup(sparse))
    assert list(value.values) == [1.5, 0.0] and list(value.dense_shape) == [3, 2]
    assert list(sess.run(numbers.lookup(tf.constant([20, 10, 33], tf.int64)))) == [1, 0, 2]
    keys, values = sess.run(prices.export())
    assert dict(zip(keys, values, strict=True)) == {b"ham": 2.5, b"eggs": 1.5}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid number of columns"):
        sess.run(tf.lookup.StaticHashTable(lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, 3), 0).init)


def test_different_values_for_a_key(sess):
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
        sess.run(table.init)
    first = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1, shared_name="t")
    other = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [2]), -1, shared_name="t")
    sess.run(first.init)
    with pytest.raises(tf.errors.FailedPreconditionError, match="already initialized"):
        sess.run(other.init)
    with pytest.raises(TypeError, match="string"):
        first.lookup(tf.constant([1]))


def test_mutable_tables(sess):
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    rows = lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    dense = lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=9)
    sess.run([table.insert(["a", "b"], [1, 2]), rows.insert([3], [[1.0, 2.0]]), dense.insert([5], [6])])
    sess.run(table.remove(["a", "x"]))
    assert list(sess.run(table.lookup(["a", "b"]))) == [-1, 2]
    np.testing.assert_array_equal(sess.run(rows.lookup([[3, 4]])), [[[1, 2], [0, 0]]])
    assert list(sess.run(dense.lookup([5, 6]))) == [6, -1]
    assert sess.run([table.size(), rows.size(), dense.size()]) == [1, 1, 1]
    keys, values = sess.run(rows.export())
    assert list(keys) == [3] and values.tolist() == [[1, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        sess.run(dense.insert([0], [1]))


def test_in_a_data_set_and_a_monitored_session(vocabulary):
    with tf.Graph().as_default():
        table = lookup.index_table_from_file(vocabulary)
        data = tf.data.Dataset.from_tensor_slices(["lake", "who", "emerson"]).map(table.lookup).batch(3)
        iterator = data.make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        batch = iterator.get_next()
        with tf.train.MonitoredSession() as session:
            assert list(session.run(batch)) == [1, -1, 0]


def test_initialisations_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="must have the same shape"):
        lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "b"], np.int64([1, 2, 3])), -1)
    line, number = lookup.TextFileIndex.WHOLE_LINE, lookup.TextFileIndex.LINE_NUMBER
    with pytest.raises(ValueError, match="Filename required"):
        lookup.TextFileInitializer("", tf.string, line, tf.int64, number)
    two = lookup.TextFileInitializer(tf.constant(["a", "b"]), tf.string, line, tf.int64, number)
    with pytest.raises(ValueError, match="rank 0 but is rank 1"):
        lookup.HashTable(two, -1)
    with pytest.raises(ValueError, match=r"vocab_size must be greater than 0, got 0. vocabulary_file: b'words"):
        lookup.index_table_from_file(tf.constant("words.txt"), vocab_size=0)
    empty = lookup.index_table_from_tensor(np.array([], np.str_), num_oov_buckets=1)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="keys and values cannot be empty"):
        sess.run(empty.init)


def test_a_hash_function_is_looked_up_when_it_is_needed():
    table = lookup.index_table_from_tensor(
        ["a"], num_oov_buckets=1, hasher_spec=lookup.HasherSpec("mine", None), name="words"
    )
    with pytest.raises(TypeError, match="two integers"):
        lookup.StrongHashSpec([None, 2])
    with pytest.raises(ValueError, match="Unknown hasher 'mine'"):
        table.lookup(tf.constant(["b"]))
    table = lookup.index_table_from_tensor(["a"], num_oov_buckets=1, name="more")
    table.lookup(tf.constant(["b"]))
    assert tf.get_default_graph().get_operation_by_name("more_Lookup/hash_bucket").type == "StringToHashBucketFast"


def test_a_filename_that_is_fed_is_no_asset(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    filename = tf.placeholder(tf.string, [])
    table = lookup.index_table_from_file(filename)
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) == []
    with tf.Session() as sess:
        sess.run(table.init, {filename: str(tmp_path / "words.txt")})
        assert sess.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [1, -1]


def test_tables_of_two_files_in_one_container(tmp_path):
    """The name of a table of a file holds that of the file, as in TensorFlow 1.15.5; NMT's tests depend on it."""
    found = []
    for words in (WORDS, ["yes", "genesis"]):
        path = tmp_path / f"{words[0]}.txt"
        path.write_text("\n".join(words) + "\n")
        with tf.Graph().as_default(), tf.container("two_vocabularies"), tf.Session() as sess:
            table, back = lookup.index_table_from_file(str(path)), lookup.index_to_string_table_from_file(str(path))
            assert table.resource_handle.op.get_attr("shared_name") == f"hash_table_{path}_-2_-1".encode()
            sess.run(tf.tables_initializer())
            found.append(
                sess.run([table.lookup(tf.constant(["genesis", "lake"])), back.lookup(tf.constant(0, tf.int64))])
            )
    tf.Session.reset("", ["two_vocabularies"])
    assert [(ids.tolist(), word) for ids, word in found] == [([-1, 1], b"emerson"), ([1, -1], b"yes")]


@pytest.mark.parametrize("op", ["LookupTableImportV2", "InitializeTableV2"])
def test_either_op_initialises_a_static_table(op):
    """Graphs of TensorFlow 1.13 and later fill static tables by LookupTableImportV2, earlier ones by InitializeTableV2."""
    names = {"LookupTableImportV2": ("Tin", "Tout"), "InitializeTableV2": ("Tkey", "Tval")}[op]
    kinds = f"""attr {{ key: "{names[0]}" value {{ type: DT_STRING }} }} attr {{ key: "{names[1]}" value {{ type: DT_INT64 }} }}"""
    text = f"""
        node {{ name: "table" op: "HashTableV2" attr {{ key: "key_dtype" value {{ type: DT_STRING }} }}
          attr {{ key: "value_dtype" value {{ type: DT_INT64 }} }} attr {{ key: "shared_name" value {{ s: "a table" }} }} }}
        node {{ name: "keys" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_STRING }} }} }}
        node {{ name: "values" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_INT64 }} }} }}
        node {{ name: "fill" op: "{op}" input: "table" input: "keys" input: "values" {kinds} }}
        node {{ name: "find" op: "LookupTableFindV2" input: "table" input: "keys" input: "default"
          attr {{ key: "Tin" value {{ type: DT_STRING }} }} attr {{ key: "Tout" value {{ type: DT_INT64 }} }} }}
        node {{ name: "default" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT64 }} }}
          attr {{ key: "value" value {{ tensor {{ dtype: DT_INT64 tensor_shape {{ }} int64_val: -1 }} }} }} }}
        versions {{ producer: 134 }}"""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
        feeds = {"keys:0": ["a", "b"], "values:0": [4, 5]}
        with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
            sess.run("find:0", feeds)
        sess.run("fill", feeds)
        assert sess.run("find:0", {"keys:0": ["b", "no", "a"]}).tolist() == [5, -1, 4]
        sess.run("fill", feeds)  # the same once more
        with pytest.raises(tf.errors.FailedPreconditionError, match="different data"):
            sess.run("fill", {"keys:0": ["a"], "values:0": [7]})
