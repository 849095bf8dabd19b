"""The door by which a house beside the core brings its names."""

from __future__ import annotations

import subprocess
import sys


def test_the_core_works_without_the_house():
    """With no house a graph is built, differentiated, trained and saved, and no module of v1 is imported."""
    code = """
import sys, types, importlib.util, pathlib
root = pathlib.Path(importlib.util.find_spec("tfnb").origin).parent
text = (root / "frontend.py").read_text().replace('HOUSES = ("tfnb.v1",)', "HOUSES = ()")
class Door:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "tfnb.frontend" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(text, "frontend.py", "exec"), module.__dict__)
sys.meta_path.insert(0, Door())
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 3])
w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(step, {x: [[1.0, 2.0, 3.0]]})
    assert 0 < sess.run(loss, {x: [[1.0, 2.0, 3.0]]}) < 0.9
assert not [m for m in sys.modules if m.startswith("tfnb.v1")]
assert not hasattr(tf, "keras") and not hasattr(tf.contrib, "crf")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
