"""Input of slim: records in parallel, prefetching, decoders of tf.Example."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

slim = tf.contrib.slim
D = slim.tfexample_decoder


def write(path, count, first=0):
    with tf.Session() as sess:
        for_one = tf.image.encode_png(tf.constant(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)))
        png = sess.run(for_one)
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for i in range(first, first + count):
            features = {
                "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                "image/format": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"png"])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "xmin": tf.train.Feature(float_list=tf.train.FloatList(value=[0.25, 0.5])),
                "ymin": tf.train.Feature(float_list=tf.train.FloatList(value=[0.0, 0.125])),
                "indices": tf.train.Feature(int64_list=tf.train.Int64List(value=[0, 2])),
                "values": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 3.0])),
                "shape": tf.train.Feature(int64_list=tf.train.Int64List(value=[2, 1])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def decoder():
    floats, ints = tf.VarLenFeature(tf.float32), tf.VarLenFeature(tf.int64)
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "png"),
        "label": tf.FixedLenFeature([1], tf.int64),
        **dict.fromkeys(("xmin", "ymin", "values", "absent"), floats),
        **dict.fromkeys(("indices", "shape"), ints),
    }
    items = {
        "image": D.Image(shape=[2, 2, 3]),
        "label": D.Tensor("label", shape=[]),
        "box": D.BoundingBox(["ymin", "xmin", "ymin", "xmin"]),
        "sparse": D.SparseTensor(shape=[4], densify=True),
        "shaped": D.Tensor("values", shape_keys="shape"),
        "backup": D.BackupHandler(D.Tensor("absent"), D.Tensor("values")),
        "doubled": D.ItemHandlerCallback(["label"], lambda tensors: tensors["label"] * 2),
    }
    return D.TFExampleDecoder(features, items)


@pytest.mark.not_compared("two readers fill the queue")
def test_a_data_set_is_read_and_decoded(tmp_path):
    write(tmp_path / "a.tfrecord", 3)
    write(tmp_path / "b.tfrecord", 3, first=3)
    data = slim.dataset.Dataset(
        [str(tmp_path / "*.tfrecord")], tf.TFRecordReader, decoder(), 6, {"image": "a picture"}, num_classes=2
    )
    assert data.num_classes == 2 and data.items_to_descriptions == {"image": "a picture"}
    provider = slim.dataset_data_provider.DatasetDataProvider(data, num_readers=2, num_epochs=1, common_queue_min=1)
    names = ["label", "image", "box", "sparse", "shaped", "backup", "doubled", "record_key"]
    assert set(names) == set(provider.list_items()) and provider.num_samples() == 6
    tensors = provider.get(names)
    with pytest.raises(errors.InvalidArgumentError, match="not valid"):
        provider.get(["other"])
    labels = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(sess):
            with pytest.raises(slim.queues.NestedQueueRunnerError), slim.queues.QueueRunners(sess):
                pass
            for _ in range(6):
                label, image, box, sparse, shaped, backup, doubled, key = sess.run(tensors)
                labels.append(int(label))
                assert doubled == [2 * label] and b"tfrecord" in key
    assert sorted(labels) == list(range(6))
    np.testing.assert_array_equal(image, np.arange(12).reshape(2, 2, 3))
    np.testing.assert_array_equal(box, [[0, 0.25, 0, 0.25], [0.125, 0.5, 0.125, 0.5]])
    np.testing.assert_array_equal(sparse, [1, 0, 3, 0])
    np.testing.assert_array_equal(shaped, [[1], [3]])
    np.testing.assert_array_equal(backup, [1, 3])


def test_prefetched_batches_keep_their_names():
    x = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    queue = slim.prefetch_queue.prefetch_queue({"x": x, "double": 2 * x}, capacity=2)
    taken = queue.dequeue()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(sess):
            assert [sess.run(taken) for _ in range(3)] == [{"x": i, "double": 2 * i} for i in range(3)]
            with pytest.raises(errors.OutOfRangeError):
                sess.run(taken)


def test_readers_and_files(tmp_path):
    (tmp_path / "one.txt").write_text("a\nb\n")
    _, value = slim.parallel_reader.single_pass_read(str(tmp_path / "one.txt"), tf.TextLineReader)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(sess):
            assert [sess.run(value) for _ in range(2)] == [b"a", b"b"]
    assert slim.parallel_reader.get_data_files([str(tmp_path / "o?e.txt"), "other"])[1] == "other"
    with pytest.raises(errors.NotFoundError, match="No data files"):
        slim.parallel_reader.get_data_files(str(tmp_path / "*.gone"))
    with pytest.raises(errors.DTypeError, match="two strings"):
        slim.parallel_reader.ParallelReader(tf.TextLineReader, tf.FIFOQueue(1, tf.int32))
    for wrong in (lambda: D.BoundingBox(["a"]), lambda: D.Tensor("a", "b", [1]), lambda: D.BackupHandler(1, 2)):
        with pytest.raises(errors.InvalidArgumentError):
            wrong()
