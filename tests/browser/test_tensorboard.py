"""Real TensorBoard's pages on a log that was written here: scalars, the graph, and a step's run metadata in it."""

import os
import re
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import tfnb as tf
from tests.browser.conftest import SHOTS, end_group, free_port


@pytest.fixture
def tensorboard(tmp_path):
    """The address of a TensorBoard of a training's log."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        with tf.name_scope("layer"):
            x = tf.placeholder(tf.float32, [None, 8], name="x")
            w = tf.Variable(tf.ones([8, 3]), name="weights")
            y = tf.nn.relu(tf.matmul(x, w), name="units")
        loss = tf.reduce_mean(y * y, name="loss")
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        merged = tf.summary.merge([tf.summary.scalar("train/loss", loss), tf.summary.histogram("weights", w)])
        sess.run(tf.global_variables_initializer())
        with tf.summary.FileWriter(tmp_path / "run", graph) as writer:
            feed = {x: np.random.default_rng(0).normal(size=(16, 8))}
            for step in range(20):
                writer.add_summary(sess.run([merged, train], feed)[0], step)
            found = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            sess.run(train, feed, options=options, run_metadata=found)
            writer.add_run_metadata(found, "step 20", 20)
    port = free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", str(port)]
    with (tmp_path / "tensorboard.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--host=127.0.0.1", "--load_fast=false"],
            stdout=log, stderr=log, start_new_session=True, env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/data/runs", b"run", process, tmp_path / "tensorboard.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        end_group(process)


def _wait(url, wanted, process, log, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if wanted in answer.read():
                    return
        except OSError:
            pass
        time.sleep(0.3)
    raise RuntimeError(f"TensorBoard did not start:\n{log.read_text()}")


def test_pages_of_tensorboard(browser, tensorboard):
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda e: faults.append(str(e)))
    SHOTS.mkdir(exist_ok=True)
    page.goto(f"{tensorboard}/#timeseries")
    page.get_by_text("train/loss").first.wait_for(timeout=60_000)
    page.wait_for_timeout(1500)
    page.screenshot(path=SHOTS / "tensorboard-scalars.png")
    page.goto(f"{tensorboard}/#graphs")
    page.reload()
    page.locator("tf-graph-scene g.node").first.wait_for(timeout=60_000)
    names = page.locator("tf-graph-scene g.node > text, tf-graph-scene g.node text").all_text_contents()
    assert any("layer" in n for n in names), names
    page.screenshot(path=SHOTS / "tensorboard-graph.png")
    # The step's run metadata: colours by compute time, and the times of a node in its card.
    page.locator("tf-graph-controls paper-item", has_text="step 20").first.evaluate("item => item.click()")
    page.wait_for_timeout(1500)
    page.locator("tf-graph-controls paper-radio-button", has_text="Compute time").evaluate("b => b.click()")
    page.wait_for_timeout(800)
    page.locator("tf-graph-scene g.node").filter(has_text="layer").first.click()
    page.get_by_text("Node Stats").first.wait_for(timeout=20_000)
    page.get_by_text(re.compile(r"^\s*[\d.]+ [µμm]s\s*$")).first.wait_for(timeout=20_000)  # how long it computed
    page.screenshot(path=SHOTS / "tensorboard-run-metadata.png")
    context.close()
    assert faults == []
