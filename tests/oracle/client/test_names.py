"""Names of operations and of the constants that their inputs become, beside TensorFlow's."""

import pytest

import tfnb

tensorflow = pytest.importorskip("tensorflow").compat.v1
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Not among them are random numbers, whose constants are the difference of the bounds and not the upper one, and what
# later versions compose of other operations (linspace, cond, in_top_k).
CALLS = [
    lambda tf, x: x + 1.0,
    lambda tf, x: 2.0 * x,
    lambda tf, x: 1.0 / x,
    lambda tf, x: x - [1.0, 2.0, 3.0],
    lambda tf, x: x**2.0,
    lambda tf, x: x > 0.0,
    lambda tf, x: 1.0 <= x,
    lambda tf, x: x[0],
    lambda tf, x: x[:, 1:3],
    lambda tf, x: tf.maximum(x, 0.0),
    lambda tf, x: tf.pow(x, 2.0),
    lambda tf, x: tf.matmul(x, [[1.0], [2.0], [3.0]]),
    lambda tf, x: tf.reduce_sum(x),
    lambda tf, x: tf.reduce_mean(x, axis=1),
    lambda tf, x: tf.argmax(x, 1),
    lambda tf, x: tf.reshape(x, [-1]),
    lambda tf, x: tf.reshape(x, [tf.size(x)], name="flat"),
    lambda tf, x: tf.reshape(x, [tf.size(x), 1], name="flat"),
    lambda tf, x: tf.transpose(x),
    lambda tf, x: tf.expand_dims(x, 1),
    lambda tf, x: tf.tile(x, [1, 2]),
    lambda tf, x: tf.pad(x, [[1, 1], [0, 0]]),
    lambda tf, x: tf.slice(x, [0, 0], [1, 2]),
    lambda tf, x: tf.stack([x, x]),
    lambda tf, x: tf.stack([1.0, 2.0, 3.0]) * x,
    lambda tf, x: tf.one_hot([1, 2], 3),
    lambda tf, x: tf.range(5),
    lambda tf, x: tf.fill([2], 1.0),
    lambda tf, x: tf.clip_by_value(x, 0.0, 1.0),
    lambda tf, x: tf.convert_to_tensor([x[0, 0], 1.0]),
    lambda tf, x: tf.nn.top_k(x, 2)[0],
    lambda tf, x: tf.nn.relu([1.0, -1.0]),
    lambda tf, x: tf.unsorted_segment_sum(x, [0, 1], 2),
    lambda tf, x: tf.cumsum(x),
    lambda tf, x: tf.reverse(x, [0]),
    lambda tf, x: tf.where(x > 0.0, x, 2.0 * x),
]


def names(tf, call):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        result = call(tf, x)
        constants = sorted(op.name for op in graph.get_operations() if op.type == "Const")
    return result.name, constants


@pytest.mark.parametrize("call", CALLS)
def test_names(call):
    assert names(tfnb, call) == names(tensorflow, call)
