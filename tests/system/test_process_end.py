"""A program may end while its daemon threads run steps."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from rounds import rounds

pytestmark = pytest.mark.opencl

BEGINNING = """
import atexit, random, sys, threading, time
def late():
    print("late", session.run(y, {x: [1.0]}).tolist())
if "late" in sys.argv:
    atexit.register(late)
import tfnb as tf
x = tf.placeholder(tf.float32, [None])
y = x + 1.0
session = tf.Session()
begun = threading.Event()
"""


def run(text: str, *args: str) -> tuple[str, float]:
    """Returns what the program has printed, and the seconds from its last line to its end."""
    command = [sys.executable, "-c", BEGINNING + text + "\nprint('end', time.monotonic())", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower()
    _, _, last = done.stdout.rpartition("end ")
    return done.stdout, time.monotonic() - float(last.split()[0])


# `make strangers` ends it at more moments: what happened was rare at each.
@pytest.mark.parametrize("moment", [0.2, 0.05, 0.35, 0.5][: rounds(1, 4)])
def test_a_program_ends_while_a_thread_compiles(moment):
    """As programs do that leave their queue runners; OpenCL's compiler aborted the process."""
    text = f"""
def work():
    begun.set()
    for i in range(100):
        number = random.random()
        session.run(tf.reduce_sum(tf.tanh(x * number) * tf.exp(x - number)), {{x: [1.0] * (5 + i)}})
threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep({moment})
"""
    run(text)


def test_the_main_thread_still_runs_steps_in_exit_handlers():
    text = """
def work():
    while True:
        session.run(y, {x: [1.0]})
        begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
atexit.register(late)
"""
    printed, seconds = run(text, "late")
    assert printed.count("late [2.0]") == 2 and seconds < 20  # a handler from before tfnb's, and a later one


def test_a_program_ends_while_threads_wait():
    text = """
def never(a):
    begun.set()
    time.sleep(1000)
    return a
waiting = [tf.FIFOQueue(1, tf.float32).dequeue(), tf.py_func(never, [x], tf.float32)]
for tensor in waiting:
    threading.Thread(target=session.run, args=(tensor, {x: [1.0]}), daemon=True).start()
begun.wait()
"""
    _, seconds = run(text)
    assert seconds < 20
