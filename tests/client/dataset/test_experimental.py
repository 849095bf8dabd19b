"""`tf.data.experimental`: counters, mixtures, unique elements, early ends, examples in batches."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

X = tf.data.experimental


def values(dataset, limit=100):
    found = []
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        while len(found) < limit:
            try:
                found.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                break
    return found


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_counters_and_numbers():
    assert values(X.Counter(5, -2), 4) == [5, 3, 1, -1]
    pairs = tf.data.Dataset.from_tensor_slices(["a", "b"]).apply(X.enumerate_dataset(3))
    assert values(pairs) == [(3, b"a"), (4, b"b")]


def test_random_numbers_differ():
    numbers = values(X.RandomDataset(1), 5)
    assert len(set(numbers)) == 5
    assert all(0 <= n < 2**32 for n in numbers)


def test_an_early_end():
    limit = tf.constant(3, tf.int64)
    assert values(tf.data.Dataset.range(9).apply(X.take_while(lambda x: x < limit))) == [0, 1, 2]
    with pytest.raises(tf.errors.DTypeError, match="scalar boolean"):
        tf.data.Dataset.range(9).apply(X.take_while(lambda x: x))


def test_unique_elements():
    data = tf.data.Dataset.from_tensor_slices(["b", "a", "b", "c", "a"])
    assert values(data.apply(X.unique())) == [b"b", b"a", b"c"]
    with pytest.raises(tf.errors.DTypeError, match="scalars"):
        tf.data.Dataset.from_tensors([1.0]).apply(X.unique())


def test_chosen_elements():
    sets = [tf.data.Dataset.range(0, 2), tf.data.Dataset.range(10, 20)]
    choice = tf.data.Dataset.from_tensor_slices(np.int64([1, 0, 0, 0, 1, 1]))
    assert values(X.choose_from_datasets(sets, choice)) == [10, 0, 1, 11, 12]
    wrong = tf.data.Dataset.from_tensor_slices(np.int64([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        values(X.choose_from_datasets(sets, wrong))


def test_drawn_elements_come_until_all_have_ended():
    sets = [tf.data.Dataset.range(0, 50), tf.data.Dataset.range(100, 150)]
    found = values(X.sample_from_datasets(sets, seed=3), 200)
    assert sorted(found) == [*range(50), *range(100, 150)]
    assert found != sorted(found)
    only = values(X.sample_from_datasets(sets, [0.0, 1.0], seed=1), 10)
    assert only == list(range(100, 110))
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many weights"):
        X.sample_from_datasets(sets, [1.0])


def test_batches_of_features(tmp_path):
    path = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(5):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            writer.write(
                tf.train.Example(features=tf.train.Features(feature={"x": value, "y": value})).SerializeToString()
            )
    features = {"x": tf.FixedLenFeature([], tf.int64), "y": tf.FixedLenFeature([], tf.int64)}
    data = X.make_batched_features_dataset(path, 2, features, label_key="y", num_epochs=1, shuffle=False)
    found = values(data)
    assert [(d["x"].tolist(), label.tolist()) for d, label in found] == [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4], [4])]
    with pytest.raises(tf.errors.InvalidArgumentError, match="label_key"):
        X.make_batched_features_dataset(path, 2, features, label_key="z")


def test_autotune_means_a_number_of_its_own():
    data = tf.data.Dataset.range(5).map(lambda x: x * 2, num_parallel_calls=X.AUTOTUNE).prefetch(X.AUTOTUNE)
    assert values(data) == [0, 2, 4, 6, 8]
