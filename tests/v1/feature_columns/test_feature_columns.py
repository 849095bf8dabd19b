"""tf.feature_column: values, hashes and names of variables are those of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

fc = tf.feature_column


def counting(shape, dtype=None, partition_info=None):
    return tf.constant(np.arange(np.prod(shape)).reshape(shape).astype("f") / 10)


def features():
    return {
        "price": tf.constant([[-1.0], [5.0], [200.0]]),
        "h": tf.constant([["x"], ["yy"], ["zzz"]]),
        "i": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 5], tf.int64), [3, 2]),
        "j": tf.constant([[0, -1], [2, 2], [4, 1]], tf.int64),
        "wt": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.5, 0.5, 2.0], [3, 2]),
        "w": tf.constant([["a", "b"], ["zz", ""], ["c", "q"]]),
    }


def run(*fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def ids(i, n=6):
    return fc.categorical_column_with_identity(i, n)


def test_dense_columns_side_by_side():
    price = fc.numeric_column("price")
    words = fc.categorical_column_with_vocabulary_list("w", ["a", "b", "c"])
    made: dict = {}
    columns = [
        fc.embedding_column(fc.categorical_column_with_hash_bucket("h", 10), 2, initializer=counting),
        fc.embedding_column(fc.weighted_categorical_column(ids("i"), "wt"), 2, initializer=counting),
        fc.indicator_column(words),
        fc.bucketized_column(price, [0.0, 10.0]),
        *fc.shared_embedding_columns([ids("i"), ids("j")], 1, initializer=counting),
    ]
    (got,) = run(fc.input_layer(features(), columns, cols_to_vars=made))
    wanted = [
        [0.2, 0.3, 0.4, 0, 1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0.2, 0, 1, 0, 0, 0, 0],
        [0.5, 1.0, 1.1, 0.25, 0, 0, 1, 0, 0, 1],
    ]
    np.testing.assert_allclose(got[:, 2:], wanted, atol=1e-6)
    assert sorted(v.name for vs in made.values() for v in vs) == [
        "input_layer/h_embedding/embedding_weights:0",
        "input_layer/i_j_shared_embedding/embedding_weights:0",
        "input_layer/i_weighted_by_wt_embedding/embedding_weights:0",
    ]


def test_crosses_hash_as_in_tensorflow():
    text = {"a": tf.constant([["a"], ["b"]]), "b": tf.constant([[1, 2], [3, 4]], tf.int64)}
    column = fc.crossed_column(["a", "b"], 1000)
    (got,) = run(fc.input_layer(text, [fc.indicator_column(column)]))
    np.testing.assert_array_equal(np.argwhere(got)[:, 1], [485, 987, 690, 964])
    assert column.name == "a_X_b"


def test_a_linear_model():
    price = fc.numeric_column("price")
    columns = [
        price,
        fc.bucketized_column(price, [0.0, 10.0]),
        ids("i"),
        fc.weighted_categorical_column(ids("i"), "wt"),
    ]
    model = fc.linear_model(features(), columns, units=2, sparse_combiner="mean")
    variables = {v.op.name: v for v in tf.global_variables()}
    assert sorted(variables) == [
        "linear_model/bias_weights",
        "linear_model/i/weights",
        "linear_model/i_weighted_by_wt/weights",
        "linear_model/price/weights",
        "linear_model/price_bucketized/weights",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for name in ("i", "i_weighted_by_wt"):
            session.run(tf.assign(variables[f"linear_model/{name}/weights"], np.arange(12.0).reshape(6, 2)))
        session.run(tf.assign(variables["linear_model/bias_weights"], [0.5, 0.25]))
        got = session.run(model)
    np.testing.assert_allclose(got, [[4 + 3 + 0.5, 5 + 4 + 0.25], [0.5, 0.25], [20.5, 22.25]])


def test_sequences():
    steps = [[0, 0], [0, 1], [1, 0]]
    given = {
        "s": tf.SparseTensor(steps, ["a", "b", "c"], [2, 2]),
        "n": tf.SparseTensor(steps, [1.0, 2.0, 3.0], [2, 2]),
    }
    words = fc.sequence_categorical_column_with_vocabulary_list("s", ["a", "b", "c"])
    columns = [fc.embedding_column(words, 2, initializer=counting), fc.sequence_numeric_column("n")]
    inputs, lengths = run(*tf.contrib.feature_column.sequence_input_layer(given, columns))
    np.testing.assert_allclose(inputs, [[[1, 0, 0.1], [2, 0.2, 0.3]], [[3, 0.4, 0.5], [0, 0, 0]]], atol=1e-6)
    assert lengths.tolist() == [2, 1]


def test_a_vocabulary_in_a_file_and_specs(tmp_path):
    path = tmp_path / "words"
    path.write_text("a\nb\nc\n")
    column = fc.categorical_column_with_vocabulary_file("w", str(path), num_oov_buckets=1)
    (got,) = run(fc.input_layer(features(), [fc.indicator_column(column)]))
    np.testing.assert_array_equal(got, [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]])
    spec = tf.estimator.classifier_parse_example_spec([fc.indicator_column(column)], "y", weight_column="k")
    assert spec["w"] == tf.VarLenFeature(tf.string) and spec["k"].shape == (1,) and spec["y"].dtype is tf.int64


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fc.input_layer(features(), [ids("i")]), "must be a _DenseColumn"),
        (lambda: fc.input_layer(features(), "a"), r"must be a _FeatureColumn.*\(type <class 'str'>\): a"),
        (lambda: fc.input_layer(features(), []), "must not be empty"),
        (
            lambda: fc.crossed_column([fc.categorical_column_with_hash_bucket("h", 3), "a"], 3),
            "not supported for crossing",
        ),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a", "a"]), "Duplicate"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a"], default_value=0, num_oov_buckets=1), "both"),
        (lambda: fc.embedding_column(ids("i"), 0), "dimension"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), [2.0, 1.0]), "boundaries must be a sorted list"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), None), "boundaries must be a sorted list"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), 1.0), "boundaries must be a sorted list"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), ["x"]), "boundaries must be a sorted list"),
        (lambda: fc.categorical_column_with_hash_bucket("h", None), "hash_bucket_size must be set."),
        (
            lambda: fc.categorical_column_with_vocabulary_list("w", [1.0, 2.0], tf.string),
            "vocabulary dtype must be string or integer",
        ),
        (lambda: fc.weighted_categorical_column(ids("i"), "w", None), "None is not convertible to float"),
        (
            lambda: fc.make_parse_example_spec([fc.weighted_categorical_column(ids("i"), "i")]),
            "Parse config VarLenFeature.* already exists for i",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        make()


LAYERS = {"dense": (fc.input_layer, "Dimensions of inputs should match"), "linear": (fc.linear_model, "same size and")}


@pytest.mark.parametrize("layer", LAYERS)
def test_features_have_one_batch_size(layer):
    make, words = LAYERS[layer]
    columns = [fc.numeric_column(key) for key in "abc"]
    three, two, fed = tf.ones([3, 1]), tf.ones([2, 1]), tf.placeholder(tf.float32, [None, 1])
    with pytest.raises(
        errors.ShapeError, match=r"Batch size \(first dimension\) of each feature must be same.*a: 3, c: 2"
    ):
        make({"a": three, "b": fed, "c": two}, columns)
    result = make({"a": two, "b": fed, "c": two}, columns)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match=words):
            sess.run(result, {fed: [[1], [5], [7]]})
        assert sess.run(result, {fed: [[1], [5]]}).shape == result.shape


def test_ids_have_as_many_weights():
    column = fc.weighted_categorical_column(ids("i"), "w")
    given = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.int64([0, 2, 1]), [2, 2])
    four = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], [0.5, 11.0, 1.0, 0.1], [2, 2])
    with pytest.raises(errors.ShapeError, match="Dimensions 3 and 4 are not compatible"):
        fc.linear_model({"i": given, "w": four}, [column])
    result = fc.linear_model({"i": given, "w": [[0.5], [1.0]]}, [column])
    with pytest.raises(errors.InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs. \[2\]"):
        run(result)


def test_an_embedding_has_the_arguments_that_it_was_given():
    column = fc.embedding_column(ids("i"), 2, "sum", counting, "folder/model", "table", 3.0, False)
    assert column.initializer is counting and column.max_norm == 3 and not column.trainable
    assert (column.ckpt_to_load_from, column.tensor_name_in_ckpt) == ("folder/model", "table")
    assert fc.embedding_column(ids("i"), 2).ckpt_to_load_from is None
    with pytest.raises(errors.InvalidArgumentError, match="both"):
        fc.embedding_column(ids("i"), 2, ckpt_to_load_from="folder/model")


def test_an_id_out_of_range_fails_the_step():
    layer = fc.input_layer({"i": tf.constant([7], tf.int64)}, [fc.indicator_column(ids("i"))])
    with pytest.raises(errors.InvalidArgumentError, match="is not in"):
        run(layer)


def test_features_of_one_dimension_are_columns():
    styles = fc.categorical_column_with_vocabulary_list("style", ["hardtop", "wagon", "sedan"])
    columns = [fc.numeric_column("price"), fc.indicator_column(styles)]
    one = tf.SparseTensor([[0], [1]], ["sedan", "hardtop"], [2])
    fed = tf.SparseTensor(tf.placeholder(tf.int64), tf.placeholder(tf.string), tf.placeholder(tf.int64))
    price = tf.placeholder(tf.float32)
    inputs = [
        fc.input_layer({"price": p, "style": s}, columns) for p, s in ((tf.constant([5.0, 7.0]), one), (price, fed))
    ]
    feeds = {price: [5, 7], fed: (np.array([[0], [1]]), np.array([b"sedan", b"hardtop"]), np.array([2]))}
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for result in sess.run(inputs, feeds):
            assert result.tolist() == [[5, 0, 0, 1], [7, 1, 0, 0]]


def test_a_feature_is_no_scalar_and_has_as_many_numbers_as_its_column():
    price, pair = fc.numeric_column("price"), fc.numeric_column("price", shape=2)
    scalar, fed = tf.constant(0.0), tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match=r"Feature .* cannot have rank 0"):
        fc.linear_model({"price": scalar}, [price])
    with pytest.raises(ValueError, match="4 elements"):  # not one row of two numbers
        fc.linear_model({"price": [[1.0], [5.0]]}, [pair])
    one, two = fc.linear_model({"price": fed}, [price]), fc.linear_model({"price": fed}, [pair])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Feature .* cannot have rank 0"):
            sess.run(one, {fed: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="4 elements"):
            sess.run(two, {fed: [[1.0], [5.0]]})
        assert sess.run(two, {fed: [[1.0, 2.0]]}).shape == (1, 1)


def test_defaults_have_the_shape_of_the_numbers():
    assert fc.numeric_column("a", [2, 3], 2.0).default_value == ((2, 2, 2), (2, 2, 2))
    assert fc.numeric_column("a", [1, 2], [[3.0, 2.0]]).default_value == ((3, 2),)
    assert fc.numeric_column("a", default_value=4.0).default_value == (4,)
    with pytest.raises(ValueError, match="shape of default_value"):
        fc.numeric_column("a", [2, 3], [1.0, 2, 3])
    with pytest.raises(TypeError, match="compatible with dtype"):
        fc.numeric_column("a", default_value=["text"])
