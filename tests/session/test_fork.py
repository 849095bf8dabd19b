"""A process that is forked from one with sessions: what is of old says so, what is new works, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the program makes its own sessions")]

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
import multiprocessing, numpy as np, tfnb as tf
x = tf.placeholder(tf.float32, [None, 64])
w = tf.Variable(tf.ones([64, 64]))
y = tf.reduce_sum(tf.matmul(x, w))
q = tf.FIFOQueue(2, tf.float32)
runner = tf.train.QueueRunner(q, [q.enqueue(1.0)])
init = tf.global_variables_initializer()
rows = np.ones((3000, 64), np.float32)  # enough for the device's own threads
s = tf.Session()
s.run(init)
assert s.run(y, {x: rows}) == 3000 * 64 * 64
s.run(tf.py_func(lambda: 1.0, [], tf.float64))
runner.create_threads(s, start=True, daemon=True)
writer = tf.summary.FileWriter(sys.argv[1])
writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.0)]), 1)

def of_old(use):
    try:
        use()
    except tf.errors.FailedPreconditionError as e:
        return "fork" in str(e)

def work(n):
    found = [of_old(lambda: s.run(y, {x: rows})), of_old(lambda: s.partial_run_setup([y], [x]))]
    s.close()
    found.append(of_old(lambda: writer.add_summary(tf.Summary(), 2)))
    with tf.Session() as new:
        new.run(init)
        found.append(bool(new.run(y, {x: rows}) == 3000 * 64 * 64))
    return found

child = os.fork()
if not child:
    print("child", work(0), flush=True)
    sys.exit(0)  # with all that ends a process
assert os.waitpid(child, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    print("pool", pool.map(work, range(2)), flush=True)
assert s.run(y, {x: rows}) == 3000 * 64 * 64
writer.close()
s.close()
events = [e for name in os.listdir(sys.argv[1]) for e in tf.train.summary_iterator(os.path.join(sys.argv[1], name))]
print("parent", len(events))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TFNB_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env=env, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    right = "[True, True, True, True]"
    assert done.stdout.splitlines() == [f"child {right}", f"pool [{right}, {right}]", "parent 2"]
