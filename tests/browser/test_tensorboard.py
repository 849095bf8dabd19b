"""Real TensorBoard's pages on a log that was written here: scalars, the graph, and a step's run metadata in it."""

import os
import re
import sys

import numpy as np
import pytest
import servers

import tfnb as tf
from tests.browser.conftest import SHOTS, wait_until_still


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
    port = servers.free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", str(port)]
    log = tmp_path / "tensorboard.log"
    quietly = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = servers.start([*command, "--host=127.0.0.1", "--load_fast=false"], log, env=quietly)
    try:
        servers.wait_for(f"http://127.0.0.1:{port}/data/runs", process, log, b"run")
        yield f"http://127.0.0.1:{port}"
    finally:
        servers.end_group(process)


def test_pages_of_tensorboard(browser, tensorboard):
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda e: faults.append(str(e)))
    SHOTS.mkdir(exist_ok=True)
    page.goto(f"{tensorboard}/#timeseries")
    page.get_by_text("train/loss").first.wait_for(timeout=60_000)
    page.locator("line-chart").first.wait_for(timeout=30_000)
    wait_until_still(page, "body")
    page.screenshot(path=SHOTS / "tensorboard-scalars.png")
    page.goto(f"{tensorboard}/#graphs")
    page.reload()
    page.locator("tf-graph-scene g.node").first.wait_for(timeout=60_000)
    names = page.locator("tf-graph-scene g.node > text, tf-graph-scene g.node text").all_text_contents()
    assert any("layer" in n for n in names), names
    page.screenshot(path=SHOTS / "tensorboard-graph.png")
    # The step's run metadata: colours by compute time, and the times of a node in its card.
    page.locator("tf-graph-controls paper-item", has_text="step 20").first.evaluate("item => item.click()")
    # TensorBoard enables these buttons when the metadata has come.
    times = page.locator("tf-graph-controls paper-radio-button:not([disabled])", has_text="Compute time")
    times.wait_for(state="attached", timeout=30_000)
    times.evaluate("b => b.click()")
    page.locator("tf-graph-controls paper-radio-button[checked]", has_text="Compute time").wait_for(state="attached")
    _click_inside(page.locator("tf-graph-scene g.node").filter(has_text="layer").first)
    page.get_by_text("Node Stats").first.wait_for(timeout=20_000)
    page.get_by_text(re.compile(r"^\s*[\d.]+ [µμm]s\s*$")).first.wait_for(timeout=20_000)  # how long it computed
    page.screenshot(path=SHOTS / "tensorboard-run-metadata.png")
    context.close()
    assert faults == []


def _click_inside(node):
    """Clicks a node of the graph; the middle of one with annotations may lie on the canvas beside it."""
    playwright = pytest.importorskip("playwright.sync_api")
    for part in (0.5, 0.3, 0.7, 0.1):
        box = node.bounding_box()
        try:
            node.click(position={"x": box["width"] / 2, "y": box["height"] * part}, timeout=10_000)
            return
        except playwright.TimeoutError:
            continue
    raise AssertionError("no part of the node can be clicked")
