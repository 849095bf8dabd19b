"""Functions at the end of the process, and objects that are destroyed after these: they can use their session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the program makes its own session")]

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import atexit, faulthandler, os, sys, tempfile, threading
faulthandler.dump_traceback_later(120, exit=True)
box, kind = {}, sys.argv[1]

def show(text):
    os.write(1, f"{text}\\n".encode())

def last():
    try:
        show(f"saved {os.path.basename(box['saver'].save(box['session'], box['folder'] + '/m'))}")
        show(box["session"].run(box["v"] * 3.5 + 1))
    except BaseException as e:
        show(f"{type(e).__name__} {e}")

if kind == "exit function before the import":
    atexit.register(last)
import tfnb as tf
if kind == "exit function after the import":
    atexit.register(last)

class Model:
    def __init__(self):
        self.kind, self.again = kind, self  # a cycle, so that it lives to the very end

    def __del__(self):
        try:
            if self.kind == "new step":
                show(box["session"].run(box["new"]).tolist())
            if self.kind == "old step":
                show(box["session"].run(box["old"]))
            if self.kind == "first save":
                path = box["saver"].save(box["session"], box["folder"] + "/m")
                box["saver"].restore(box["session"], path)
                show(sorted(name.split("-")[0] for name in os.listdir(box["folder"])))
            if self.kind == "new session":
                with tf.Session() as s:
                    show(s.run(box["v"].initializer))
                    show(s.run(box["new"])[0].tolist())
                writer = tf.summary.FileWriter(box["folder"], s.graph)
                writer.close()
                show(sum(event.HasField("graph_def") for event in tf.train.summary_iterator(writer.path)))
            box["session"].close()
            show("closed")
        except BaseException as e:
            show(f"{type(e).__name__} {e}")

v = tf.Variable(5.0)
queue = tf.FIFOQueue(2, tf.float32)
tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(v + 1)] * 2))
# A function of this module would keep its names alive, since threads that Python has stopped keep the graph.
two = tf.group(*[tf.py_func(abs, [v], tf.float32) for _ in range(2)])
with tf.control_dependencies([two]):
    old = v * 2
session = tf.Session()
session.run(tf.global_variables_initializer())
box.update(session=session, v=v, new=tf.nn.softmax(tf.matmul([[v, 1.0]], [[2.0, 2.0], [v, v]])), old=old, saver=tf.train.Saver(), folder=tempfile.mkdtemp(), tf=tf)
session.run(old)
from tfnb.devices.opencl import pocl
show(pocl.used_folder().link.parent)
if kind == "thread":
    threading.Timer(0.3, last).start()
elif not kind.startswith("exit"):
    box["model"] = Model()
    tf.train.start_queue_runners(session)
show("main ends")
"""

ENDS = {
    "exit function before the import": ["saved m", "18.5"],
    "exit function after the import": ["saved m", "18.5"],
    "thread": ["saved m", "18.5"],
    "old step": ["10.0", "closed"],
    "new step": ["[[0.5, 0.5]]", "closed"],
    "first save": ["['checkpoint', 'm.data', 'm.index', 'm.meta']", "closed"],
    "new session": ["None", "[0.5, 0.5]", "1", "closed"],
    "closing": ["closed"],
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_end_of_a_program(kind):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TFNB_QUIET": "1"},
        timeout=300,
        check=False,
    )
    folder, *lines = found.stdout.splitlines()
    assert lines == ["main ends", *ENDS[kind]], found.stderr
    assert found.returncode == 0, found.stderr
    assert not os.path.lexists(folder), "the folder of kernels goes with its process"
