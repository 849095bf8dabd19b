"""`tfnb prepare`: typical models run, later programs find their kernels, and a notebook's process ends with it."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfnb.preparation import command_line, state
from tfnb.preparation.models import MODELS

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("text", MODELS)
def test_a_model_trains(text: str) -> None:
    command_line.train(text)


def run(cache: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TFNB_CACHE_DIR": str(cache), "TFNB_QUIET": "1", **variables}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300, check=True
    )


# What a beginner writes: other sizes and another learning rate than the model that was prepared. It prints how many
# archives of kernels the process has added.
PROGRAM = """
import os
import numpy as np
import tfnb as tf
from tfnb.settings import load_settings
folder = load_settings().cache_path / "kernels"
before = set(os.listdir(folder))
x, t = tf.placeholder(tf.float32, [None, 50]), tf.placeholder(tf.int64, [None])
h = tf.nn.relu(tf.matmul(x, tf.Variable(tf.truncated_normal([50, 20], stddev=0.3))) + tf.Variable(tf.zeros([20])))
y = tf.matmul(h, tf.Variable(tf.truncated_normal([20, 4], stddev=0.3))) + tf.Variable(tf.zeros([4]))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=y))
step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    feed = {x: np.random.rand(20, 50), t: np.random.randint(0, 4, 20)}
    for _ in range(5):
        session.run([loss, step], feed)
print(len(set(os.listdir(folder)) - before))
"""


def test_a_program_of_that_kind_finds_its_kernels(tmp_path: Path) -> None:
    """Only the two first models are prepared, which takes some seconds."""
    prepare = (
        "import sys; from tfnb.preparation import command_line as c;"
        "c.MODELS = c.MODELS[:2]; sys.exit(c.main(['prepare', *sys.argv[1:]]))"
    )
    assert re.fullmatch(r"(. of 2 models, \d+ s\n){2}", run(tmp_path, "-c", prepare).stdout)
    assert state.is_prepared(tmp_path)
    assert "already" in run(tmp_path, "-m", "tfnb", "prepare").stdout
    assert run(tmp_path, "-c", prepare, "--again").stdout.startswith("1 of 2 models")
    assert run(tmp_path, "-c", PROGRAM).stdout == "0\n"


def test_two_at_once(tmp_path: Path) -> None:
    with open(tmp_path / "preparing", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process" in run(tmp_path, "-m", "tfnb", "prepare").stdout


PARENT = """
import os, sys, time
from tfnb.preparation import state
from tfnb.system import children
state.start()
print(children._children[0][1].pid if children._children else 0, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["killed", "ended"])
def test_it_ends_with_the_notebook(tmp_path: Path, end: str) -> None:
    environment = {**os.environ, "TFNB_CACHE_DIR": str(tmp_path), "TFNB_PREPARE": "1"}
    command = [sys.executable, "-c", PARENT]
    parent = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdin is not None and parent.stdout is not None
    child = Path("/proc") / parent.stdout.readline().strip()
    assert child.exists()
    time.sleep(1)
    if end == "killed":
        parent.kill()
    parent.stdin.close()
    parent.wait(60)
    parent.stdout.close()
    limit = time.monotonic() + 30
    while time.monotonic() < limit and _runs(child):
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("why", ["prepared", "not wanted"])
def test_nothing_starts(tmp_path: Path, why: str) -> None:
    environment = {"TFNB_PREPARE": "0" if why == "not wanted" else "1"}
    if why == "prepared":
        (tmp_path / f"{state.MARK}.mark").touch()
    assert run(tmp_path, "-c", PARENT.replace("sys.stdin.read()", ""), **environment).stdout == "0\n"
