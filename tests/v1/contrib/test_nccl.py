"""tf.contrib.nccl: reductions over devices, each result on the device of its tensor."""

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

nccl = tf.contrib.nccl


def test_reductions_over_two_devices():
    x = np.float32([[1, -2], [3, 5]])
    with tf.Graph().as_default():
        towers = []
        for k in range(2):
            with tf.device(f"/cpu:{k}"):
                towers.append(tf.identity(tf.constant(x[k])))
        reduced = {name: getattr(nccl, f"all_{name}")(towers) for name in ("sum", "prod", "min", "max")}
        with tf.device("/cpu:1"):
            once, copy = nccl.reduce_sum(towers), nccl.broadcast(towers[0])
        grads = tf.gradients([2.0 * t for t in reduced["sum"]], towers)
        for tensors in reduced.values():
            assert [t.device for t in tensors] == [t.device for t in towers]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            found = session.run(reduced)
            for name, (first, second) in found.items():
                np.testing.assert_array_equal(first, getattr(x, name)(0))
                np.testing.assert_array_equal(second, first)
            assert [v.tolist() for v in session.run([once, copy, *grads])] == [[4, 3], [1, -2], [4, 4], [4, 4]]


def test_what_has_no_device():
    with tf.Graph().as_default():
        with pytest.raises(errors.InvalidArgumentError, match="Device assignment required for nccl collective ops"):
            nccl.all_sum([tf.constant(1.0)])
        with pytest.raises(errors.InvalidArgumentError, match="Must pass >0 tensors"):
            nccl.all_sum([])
