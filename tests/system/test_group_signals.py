"""A signal to the whole process group, as Ctrl-C is one, does not reach the linker that a driver runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tfnb.system.group_signals import kept_from_children

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it reads the children in /proc")

COMPILES = """
import random, signal, sys
import numpy as np
import tfnb as tf

signal.signal(signal.SIGTERM, lambda number, frame: print("SIGTERM", flush=True))
size, rows = map(int, sys.argv[1:])
x = tf.placeholder(tf.float32, [None, size])
with tf.Session() as session:
    print("begins", flush=True)
    value = np.ones((rows, size), np.float32)
    for _ in range(12):  # the new numbers make new kernels
        factor = random.random()
        result = session.run(tf.reduce_sum(tf.tanh(x * factor), axis=1), {x: value})
        np.testing.assert_allclose(result, size * np.tanh(factor), rtol=1e-4)
print("done", flush=True)
"""


def children(process):
    """The ids of the processes that any thread of `process` has started and that are running."""
    found = set()
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(OSError):  # the thread has ended
            found.update(map(int, (task / "children").read_text().split()))
    return found


@pytest.mark.parametrize(
    "size, rows", [(16, 3), (1024, 2048)], ids=["in the caller's thread", "in the driver's threads"]
)
def test_compilations_survive_signals_to_their_processes(size, rows, tmp_path):
    environment = {**os.environ, "TFNB_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", COMPILES, str(size), str(rows)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "begins\n"
    hit = set()
    while process.poll() is None:
        for child in children(process) - hit:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
                os.kill(child, signal.SIGTERM)
                hit.add(child)
        time.sleep(1e-4)
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "done\n"), err
    assert hit, "no process was started, so nothing was tested"


def test_a_signal_that_came_meanwhile_is_handled_afterwards_and_no_later_one_is_blocked():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with kept_from_children():
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            assert seen == []
        assert seen == [signal.SIGUSR1]
        os.kill(os.getpid(), signal.SIGUSR1)
        assert seen == [signal.SIGUSR1] * 2
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_raises_at_the_beginning_leaves_nothing_blocked():
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop

    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Stop), kept_from_children():
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
