"""`tf.DeviceSpec`: reading, setting and merging the parts of device names, and its use in `tf.device`."""

import pytest

import tfnb as tf


def test_parts_can_be_set_and_are_written_in_order():
    d = tf.DeviceSpec(job="foo", replica=12, task=3, device_type="GPU")
    assert d.to_string() == "/job:foo/replica:12/task:3/device:GPU:*"
    d.task, d.device_index = None, 2
    assert str(d) == "/job:foo/replica:12/device:GPU:2"
    assert d.parse_from_string("/replica:1/task:0/cpu:0") is d
    assert d.to_string() == "/replica:1/task:0/device:CPU:0"


def test_merging_takes_the_given_parts_of_the_other():
    d = tf.DeviceSpec.from_string("/task:1/cpu:0")
    d.merge_from(tf.DeviceSpec.from_string("/job:muu/device:MyFunnyDevice:2"))
    assert d.to_string() == "/job:muu/task:1/device:MyFunnyDevice:2"
    other = d.make_merged_spec(tf.DeviceSpec(task=4))
    assert other.to_string() == "/job:muu/task:4/device:MyFunnyDevice:2"
    assert d.task == 1
    assert d.replace(task=4) == other
    assert hash(d.replace(task=4)) == hash(other)


def test_two_devices_in_a_name_are_refused():
    with pytest.raises(ValueError, match="Cannot specify multiple device types"):
        tf.DeviceSpec.from_string("/job:muu/device:GPU:2/cpu:0")


def test_operations_take_it_as_their_device():
    cpu = tf.DeviceSpec(device_type="CPU")
    with tf.Graph().as_default(), tf.device(tf.DeviceSpec(job="ps", task=1)), tf.device(lambda op: cpu):
        assert tf.constant(1).device == "/job:ps/task:1/device:CPU:*"
