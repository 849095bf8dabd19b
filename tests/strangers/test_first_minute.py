"""What a program prints that does not ask for it: nothing, on a machine that has compiled nothing yet.

Each program runs in a process of its own with an empty cache, so that the OpenCL compiler runs for all its kernels and
for PoCL's built-in functions. The compiler writes to the descriptors of standard output and error, past Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = {
    "a sum over fed rows": """
x = tf.placeholder(tf.float32, [None, 2])
y = tf.reduce_sum(x * [1.0, 2.0], axis=1)
with tf.Session() as sess:
    print(sess.run(y, {x: np.ones([2, 2])}))
""",
    "a conv net that is trained": """
images = tf.placeholder(tf.float32, [None, 8, 8, 1])
labels = tf.placeholder(tf.int64, [None])
hidden = tf.layers.conv2d(images, 4, 3, activation=tf.nn.relu)
hidden = tf.layers.max_pooling2d(hidden, 2, 2)
logits = tf.layers.dense(tf.layers.flatten(hidden), 3)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
rng = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(train, {images: rng.rand(5, 8, 8, 1), labels: [0, 1, 2, 0, 1]})
    print(sess.run(logits, {images: rng.rand(2, 8, 8, 1)}).shape)
""",
    "kernels of the user, one of which has an error": """
def of_the_user(name, value):
    text = "__kernel void k(__global const T *x, __global T *y, int n) { int i = get_global_id(0); if (i < n) y[i] = "
    def host(x):
        return x
    return tf.register_op("x: T", "y: T", name=name, opencl=text + value + "; }")(host)
x = tf.placeholder(tf.float32, [None])
with tf.Session() as sess:
    print(np.round(sess.run(of_the_user("HalfTurns", "4 * atan2pi(x[i], x[i])")(x), {x: [1.0, 2.0]})))
    try:
        sess.run(of_the_user("NotBuilt", "no_such(x[i])")(x), {x: [1.0, 2.0]})
    except tf.errors.OpError as error:
        print("no_such" in str(error))
""",
    "a loop, integers, halves and doubles": """
n = tf.placeholder(tf.int32, [])
_, total = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + tf.matmul(t, t) / 7.0), [0, tf.ones([3, 3])])
counts = tf.bincount(tf.constant([1, 1, 5]) + n)
half = tf.nn.softmax(tf.cast(total, tf.float16))
double = tf.erf(tf.cast(total, tf.float64)) ** 2.5
with tf.Session() as sess:
    print([value.shape for value in sess.run([total, counts, half, double], {n: 4})])
""",
}
EXPECTED = {
    "a sum over fed rows": "[3. 3.]",
    "a conv net that is trained": "(2, 3)",
    "kernels of the user, one of which has an error": "[1. 1.]\nTrue",
    "a loop, integers, halves and doubles": "[(3, 3), (10,), (3, 3), (3, 3)]",
}


@pytest.mark.opencl
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_first_run_prints_what_the_program_prints(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    for variable in ("TFNB_QUIET", "TFNB_CACHE_DIR", "POCL_CACHE_DIR"):
        environment.pop(variable, None)
    text = f"import numpy as np\nimport tfnb as tf\n{PROGRAMS[name]}"
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", EXPECTED[name])
