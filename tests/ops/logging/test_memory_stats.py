"""tf.contrib.memory_stats: the memory of the device that an operation is placed on."""

import tfnb as tf

memory_stats = tf.contrib.memory_stats


def test_each_device_measures_its_own_memory():
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable(tf.zeros([1000, 1000]))
            second = [memory_stats.BytesInUse(), memory_stats.MaxBytesInUse(), memory_stats.BytesLimit()]
        with tf.device("/cpu:0"):
            first = [memory_stats.BytesInUse(), memory_stats.MaxBytesInUse(), memory_stats.BytesLimit()]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            before, first_before = session.run([second, first])
            session.run(v.initializer)
            in_use, peak, limit = session.run(second)
            assert before[0] < 1e6 and 4e6 <= in_use <= peak < limit
            session.run(tf.reduce_sum(tf.exp(v) + tf.sin(v)))
            assert session.run(second)[1] >= peak
            assert session.run(first)[1] - first_before[1] < 4e6  # what earlier tests have reached counts, too
        assert second[0].dtype is tf.int64 and second[0].shape == []
