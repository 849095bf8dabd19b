"""Seldom used data sets and functions of `tf.data`: single elements, variants, resampling, earlier operations."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

X = tf.data.experimental
R = tf.raw_ops
_INT = {"output_types": [tf.int64], "output_shapes": [[]]}


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


def numbers(variant, limit=100, shape=()):
    return values(X.from_variant(variant, tf.TensorSpec(shape, tf.int64)), limit)


def count_to(n):
    return R.RangeDataset(start=0, stop=n, step=1, **_INT)


def test_a_single_element():
    value = X.get_single_element(tf.data.Dataset.range(5).batch(5))
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(value), np.arange(5))
        for n, words in ((0, "was empty"), (2, "more than one element")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                sess.run(X.get_single_element(tf.data.Dataset.range(n)))


def test_a_data_set_goes_through_a_variant():
    dataset = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], ["a", "b"]))
    spec = (tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.string))
    assert values(X.from_variant(X.to_variant(dataset), spec)) == [(1.0, b"a"), (2.0, b"b")]
    with pytest.raises(tf.errors.InvalidArgumentError.__mro__[1], match="variant scalar"):
        X.from_variant(tf.constant(1), spec)
    assert X.DatasetStructure(spec).is_compatible_with(X.DatasetStructure(spec))
    assert tf.data.get_output_classes(dataset) == (tf.Tensor, tf.Tensor)


@pytest.mark.parametrize("initial", [[0.9, 0.1], None])
def test_resampling_by_class(initial):
    classes = np.array([1] + [0] * 9)
    dataset = tf.data.Dataset.from_tensor_slices(classes).repeat(200).shuffle(2000, seed=3)
    resampled = dataset.apply(X.rejection_resample(lambda c: tf.cast(c, tf.int32), [0.5, 0.5], initial, seed=5))
    found = values(resampled, 300)
    assert all(number == element for number, element in found)
    assert 0.4 < np.mean([element for _, element in found]) < 0.6


def test_batches_and_windows():
    batches = R.BatchDataset(input_dataset=count_to(7), batch_size=3, output_types=[tf.int64], output_shapes=[[None]])
    assert [v.tolist() for v in numbers(batches, shape=[None])] == [[0, 1, 2], [3, 4, 5], [6]]
    sizes = {"window_size": 2, "window_shift": 3, "window_stride": 2}
    windows = R.SlidingWindowDataset(input_dataset=count_to(9), output_types=[tf.int64], output_shapes=[[2]], **sizes)
    assert [v.tolist() for v in numbers(windows, shape=[2])] == [[0, 2], [3, 5], [6, 8]]
    padded = R.PaddedBatchDataset(
        input_dataset=count_to(3), batch_size=2, padded_shapes=[np.zeros(0, np.int64)],
        padding_values=[np.int64(0)], output_types=[tf.int64], output_shapes=[[None]],
    )  # fmt: skip
    assert [v.tolist() for v in numbers(padded, shape=[None])] == [[0, 1], [2]]


def test_random_data_sets_repeat_with_their_seeds():
    for make in (R.RandomDataset, R.ExperimentalRandomDataset):
        assert numbers(make(seed=1, seed2=2, **_INT), 4) == numbers(make(seed=1, seed2=2, **_INT), 4)
    sampled = [
        numbers(R.SamplingDataset(input_dataset=count_to(99), rate=0.5, seed=s, seed2=0, **_INT)) for s in (1, 1, 2)
    ]
    assert sampled[0] == sampled[1] != sampled[2] and 25 < len(sampled[0]) < 75
    mixed = R.ShuffleAndRepeatDataset(input_dataset=count_to(5), buffer_size=5, seed=1, seed2=2, count=2, **_INT)
    assert sorted(numbers(mixed)) == sorted([*range(5)] * 2)


def test_files_by_patterns(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(f"{name} 1\n{name} 2\n")
    found = R.MatchingFilesDataset(patterns=[f"{tmp_path}/*.txt"], output_types=[tf.string], output_shapes=[[]])
    names = values(X.from_variant(found, tf.TensorSpec([], tf.string)))
    assert [n.decode() for n in names] == [f"{tmp_path}/a.txt", f"{tmp_path}/b.txt"]
    lines = values(tf.data.TextLineDataset(names, num_parallel_reads=2))
    assert lines == [b"a.txt 1", b"b.txt 1", b"a.txt 2", b"b.txt 2"]
    records = values(tf.data.FixedLengthRecordDataset(names, 8, num_parallel_reads=2))
    assert records == [b"a.txt 1\n", b"b.txt 1\n", b"a.txt 2\n", b"b.txt 2\n"]
    with pytest.raises(tf.errors.UnimplementedError, match="compressed"):
        tf.data.FixedLengthRecordDataset(names, 8, compression_type="GZIP")


def test_a_last_component_that_selects():
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(4), [True, False, True, False]))
    kept = R.FilterByLastComponentDataset(input_dataset=dataset.variant, **_INT)
    assert numbers(kept) == [0, 2]


def test_attributes_that_only_one_value_is_served_of():
    two = R.ShardDataset(input_dataset=count_to(4), num_shards=2, index=1, require_non_empty=False, **_INT)
    assert numbers(two) == [1, 3]
    with pytest.raises(tf.errors.UnimplementedError, match="require_non_empty=True is not served"):
        R.ShardDataset(input_dataset=count_to(4), num_shards=2, index=1, require_non_empty=True, **_INT)


LENGTHS = (1, 3, 2, 2, 4, 1)


def _bucketed(**options):
    dataset = tf.data.Dataset.from_generator(lambda: (np.full(n, n) for n in LENGTHS), tf.int64, tf.TensorShape([None]))
    return dataset.apply(X.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2], **options))


def test_buckets_padded_to_their_limit_or_without_their_last_batch():
    padded = values(_bucketed(pad_to_bucket_boundary=True))
    assert [v.shape for v in padded] == [(2, 2), (2, 4), (2, 2)]
    assert len(values(_bucketed(drop_remainder=True))) == 3
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(_bucketed(no_padding=True).make_one_shot_iterator().get_next())


def test_padded_batches_without_a_smaller_last_one():
    rows = tf.data.Dataset.range(7).map(lambda x: tf.fill([x % 3], x))
    batches = rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))
    assert [v.tolist() for v in values(batches)] == [[[0], [1]], [[2, 2], [0, 0]], [[4, 0], [5, 5]]]
    assert batches.output_shapes.as_list() == [2, None]
    functions = tf.python.data.ops.dataset_ops
    assert functions.get_legacy_output_shapes(batches).as_list() == [2, None]
    assert functions.get_legacy_output_types(batches) == tf.int64
    assert functions.get_legacy_output_classes(batches) is tf.Tensor


def test_batches_of_sliding_windows():
    windows, numbers = tf.contrib.data.sliding_window_batch, tf.data.Dataset.range(6)
    assert [v.tolist() for v in values(numbers.apply(windows(4)))] == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert [v.tolist() for v in values(numbers.apply(windows(3, stride=2)))] == [[0, 1, 2], [2, 3, 4]]
    apart = windows(2, window_shift=3, window_stride=2)
    assert [v.tolist() for v in values(numbers.apply(apart))] == [[0, 2], [3, 5]]
    pairs = numbers.map(lambda x: {"a": x, "b": (x, tf.fill([2], x))}).apply(windows(5))
    last = values(pairs)[-1]
    assert last["a"].tolist() == [1, 2, 3, 4, 5] and last["b"][1].shape == (5, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot specify both `stride` and `window_shift`"):
        windows(2, 1, 1)
