"""The first feature columns, of `tf.contrib.layers`: names, order and values are TensorFlow 1.15.5's."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

L = tf.contrib.layers


def features():
    words = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [2, 2])
    return {"age": tf.constant([[20.0], [45.0]]), "pair": tf.constant([[1.0, 2.0], [3.0, 4.0]]), "word": words}


def columns():
    age, pair = L.real_valued_column("age"), L.real_valued_column("pair", dimension=2)
    word = L.sparse_column_with_keys("word", ["a", "b", "c"], combiner="sqrtn")
    return age, pair, word, L.bucketized_column(age, [30.0, 40.0])


def ones(shape, dtype=None, partition_info=None):
    return tf.ones(shape)


def test_dense_columns_side_by_side():
    age, pair, word, bucket = columns()
    table = L.embedding_column(word, 2, initializer=ones)
    outputs = {}
    chosen = [pair, table, age, bucket, L.one_hot_column(word)]
    x = L.input_from_feature_columns(features(), chosen, cols_to_outs=outputs)
    assert [v.op.name for v in tf.global_variables()] == ["input_from_feature_columns/word_embedding/weights"]
    assert set(outputs) == set(chosen)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        value = sess.run(x)
    # bucketized, embedding, one hot, real-valued: by the kinds of the columns
    expected = [[1, 0, 0, 1, 1, 1, 0, 0, 20, 1, 2], [0, 0, 1, 1, 1, 0, 1, 1, 45, 3, 4]]
    np.testing.assert_allclose(value, expected)
    with pytest.raises(errors.InvalidArgumentError, match="sparse column"):
        L.input_from_feature_columns(features(), [word])


def test_linear_models():
    age, _, word, bucket = columns()
    crossed = L.crossed_column([word, bucket], 5)
    weighted = L.weighted_sparse_column(L.sparse_column_with_hash_bucket("word", 4), "weight")
    given = {**features(), "weight": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2.0, 1.0, 3.0], [2, 2])}
    logits, variables, bias = L.weighted_sum_from_feature_columns(given, [age, word, bucket, crossed, weighted], 1)
    names = sorted(v.op.name.removeprefix("weighted_sum_from_feature_columns/") for v in tf.global_variables())
    assert names == [
        "age/weight",
        "age_bucketized/weights",
        "age_bucketized_X_word/weights",
        "bias_weight",
        "word/weights",
        "word_weighted_by_weight/weights",
    ]
    ten = [variables[age][0].assign([[0.1]]), variables[word][0].assign([[1.0], [2.0], [3.0]]), bias.assign([10.0])]
    ten.append(variables[weighted][0].assign(np.ones([4, 1])))
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(ten)
        value = sess.run(logits)
    np.testing.assert_allclose(value, [[2 + 1 + 10 + 2], [4.5 + 5 / np.sqrt(2) + 10 + 4]], rtol=1e-5)


def test_one_variable_for_all_sparse_columns():
    _, _, word, bucket = columns()
    word = L.sparse_column_with_keys("word", ["a", "b", "c"])
    logits, (weights,), bias = L.joint_weighted_sum_from_feature_columns(features(), [word, bucket], 2)
    assert weights.shape.as_list() == [6, 2] and bias.shape.as_list() == [2]
    assert weights.op.name == "joint_weighted_sum_from_feature_columns/linear_weights/weights"
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(weights.assign(np.arange(12).reshape(6, 2)))
        value = sess.run(logits)
    np.testing.assert_array_equal(value, [[0 + 6, 1 + 7], [4 + 8 + 10, 5 + 9 + 11]])
    with pytest.raises(errors.InvalidArgumentError, match="joint sum"):
        L.joint_weighted_sum_from_feature_columns(features(), [L.real_valued_column("age")], 1)


def test_what_columns_read(tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    number = L.sparse_column_with_integerized_feature("number", 3)
    file = L.sparse_column_with_vocabulary_file("word", str(tmp_path / "words"), 1, 2)
    age = L.real_valued_column("age", default_value=7.0)
    assert (number.length, file.length) == (3, 3)
    spec = L.create_feature_spec_for_parsing([number, file, age])
    assert sorted(spec) == ["age", "number", "word"]
    places = L.make_place_holder_tensors_for_base_features([number, age])
    assert places["age"].shape.as_list() == [None, 1] and isinstance(places["number"], tf.SparseTensor)
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[2]))
    example = tf.train.Example(features=tf.train.Features(feature={"number": feature})).SerializeToString()
    parsed = L.parse_feature_columns_from_examples(tf.constant([example]), [number, age])
    with tf.Session() as sess:
        assert sess.run(parsed["age"]) == [[7]] and sess.run(parsed[number]).values.tolist() == [2]
    inferred = L.infer_real_valued_columns({"a": tf.zeros([2, 3]), "b": tf.zeros([2], tf.int32)})
    assert [(c.name, c.num_elements) for c in inferred] == [("a", 3), ("b", 1)]


def test_shared_tables():
    one = L.sparse_column_with_integerized_feature("one", 3)
    two = L.sparse_column_with_integerized_feature("two", 3)
    shared = L.shared_embedding_columns([one, two], 2, initializer=ones)
    ids = tf.constant([[1], [2]], tf.int64)
    x = L.input_from_feature_columns({"one": ids, "two": ids}, shared)
    assert x.shape.as_list()[1] == 4 and len(tf.global_variables()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: L.check_feature_columns({}),
        lambda: L.check_feature_columns([L.real_valued_column("a"), L.real_valued_column("a")]),
        lambda: L.sparse_column_with_hash_bucket("a", 3, combiner="max"),
        lambda: L.sparse_column_with_hash_bucket("a", 3, hash_keys=[1, 2]),
        lambda: L.sparse_column_with_vocabulary_file("a", "b"),
        lambda: L.sparse_column_with_integerized_feature("a", 3, dtype=tf.float32),
        lambda: L.shared_embedding_columns([], 3),
        lambda: L.infer_real_valued_columns(tf.constant(["a"])),
        lambda: L.infer_real_valued_columns(tf.zeros([1, 2, 3])),
    ],
)
def test_wrong_columns_are_refused(wrong):
    with pytest.raises((errors.InvalidArgumentError, errors.DTypeError, errors.ShapeError)):
        wrong()
