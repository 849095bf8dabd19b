"""The pictures of docs/images that no browser test makes; `python scripts/doc_images.py` runs this file.

Its name keeps pytest from collecting it with the tests. Each function opens a real notebook and leaves pictures in
`shots/docs` under the names that they have in docs/images.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))  # for the cluster of the browser test

from test_cluster import LIVE, SETUP

LENET = """
import numpy as np
import tfnb as tf
images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
labels = tf.placeholder(tf.int64, [None], name="labels")
keep_prob = tf.placeholder(tf.float32, [], name="keep_prob")

def weights(shape):
    return (tf.get_variable("weights", shape, initializer=tf.truncated_normal_initializer(stddev=0.1)),
            tf.get_variable("biases", shape[-1:], initializer=tf.zeros_initializer()))

def conv(name, h, shape):
    with tf.variable_scope(name):
        w, b = weights(shape)
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, w, [1, 1, 1, 1], "SAME"), b), name="relu")

def fc(name, h, shape, activation):
    with tf.variable_scope(name):
        w, b = weights(shape)
        h = tf.nn.bias_add(tf.matmul(h, w), b)
        return tf.nn.relu(h, name="relu") if activation else h

def pool(h, name):
    return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name=name)

h = pool(conv("conv1", images, [5, 5, 1, 32]), "pool1")
h = pool(conv("conv2", h, [5, 5, 32, 64]), "pool2")
h = fc("fc1", tf.reshape(h, [-1, 3136], name="flatten"), [3136, 1024], True)
logits = fc("fc2", tf.nn.dropout(h, keep_prob), [1024, 10], False)
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
with tf.name_scope("accuracy"):
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
tf.summary.scalar("loss_summary", loss)
train = tf.train.AdamOptimizer(1e-4).minimize(loss, global_step=tf.train.get_or_create_global_step())
init = tf.global_variables_initializer()
sess = tf.Session()
sess.run(init)
rng = np.random.default_rng(0)
feed = {images: rng.random((64, 28, 28, 1)), labels: rng.integers(0, 10, 64), keep_prob: 0.5}
sess.run(train, feed)
metadata = tf.RunMetadata()
sess.run(train, feed, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
with tf.profile(sess) as recording:
    sess.run(train, feed)
"""
LSTM = """
import tfnb as tf
words = tf.placeholder(tf.int32, [20, 35], name="words")
targets = tf.placeholder(tf.int32, [20, 35], name="targets")
with tf.variable_scope("model"):
    embedding = tf.get_variable("embedding", [10000, 200])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(200) for _ in range(2)])
    outputs, state = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(embedding, words), dtype=tf.float32)
    with tf.variable_scope("softmax"):
        w, b = tf.get_variable("w", [200, 10000]), tf.get_variable("b", [10000])
        logits = tf.matmul(tf.reshape(outputs, [-1, 200]), w) + b
with tf.name_scope("loss"):
    flat = tf.reshape(targets, [-1])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logits))
with tf.name_scope("train"):
    tf.train.GradientDescentOptimizer(1.0).minimize(loss)
init = tf.global_variables_initializer()
"""
VIEW = ".tfnb-graph-view"


@pytest.fixture
def shots():
    """The folder of these pictures, apart from the screenshots of tests, which may have the same names."""
    folder = Path(__file__).parent / "shots" / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def opened(notebook, name, cells, selector):
    """The place of a view in a notebook that has run."""
    notebook.page.set_viewport_size({"width": 1280, "height": 1100})
    notebook.lab.write(name, cells)
    notebook.open(name)
    notebook.run_all(300)
    assert notebook.errors() == []
    return notebook.show(selector)


def picture(notebook, place, selector, path):
    """A picture of an element, without the pointer."""
    notebook.page.mouse.move(0, 0)
    place.scroll_into_view_if_needed()
    notebook.wait_until_still(selector)
    place.screenshot(path=path)


def pictures_in_both_themes(notebook, place, selector, folder, name):
    """The pictures `name`-light.png and `name`-dark.png of an element."""
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        picture(notebook, place, selector, folder / f"{name}-{theme.lower()}.png")


def saved_drawing(notebook, place, path, width):
    """The drawing as the button PNG saves it, reduced to a width in pixels."""
    with notebook.page.expect_download() as saved:
        place.get_by_role("button", name="save the drawing as PNG").click()
    drawing = Image.open(io.BytesIO(saved.value.path().read_bytes()))
    drawing.resize((width, drawing.height * width // drawing.width), Image.Resampling.LANCZOS).save(path)


def select(notebook, place, text):
    search = place.locator("input").first
    search.fill(text)
    search.press("Enter")
    place.locator(".card h3").wait_for()


def test_lenet(notebook, shots):
    cells = [LENET, "tf.show_graph(open=['conv1', 'conv2'])"]
    place = opened(notebook, "lenet.ipynb", cells, VIEW)
    notebook.wait_until_still(VIEW)
    saved_drawing(notebook, place, shots / "graph_lenet.png", 560)


def test_lstm(notebook, shots):
    place = opened(
        notebook, "lstm.ipynb", [LSTM, "tf.show_graph(open=['model', 'loss', 'model/rnn', 'model/softmax'])"], VIEW
    )
    notebook.wait_until_still(VIEW)
    saved_drawing(notebook, place, shots / "graph_lstm.png", 1000)


def test_compute_time(notebook, shots):
    place = opened(notebook, "time.ipynb", [LENET, "tf.show_graph(None, metadata)"], VIEW)
    picture(notebook, place, VIEW, shots / "graph_time.png")


def test_generated_opencl(notebook, shots):
    run = "sess.run(logits, {images: feed[images], keep_prob: 1.0})"  # which generates the OpenCL
    cells = [LENET, f"{run}\ntf.show_passes(sess, logits, [images, keep_prob])"]
    place = opened(notebook, "opencl.ipynb", cells, VIEW)
    notebook.theme("JupyterLab Dark")
    select(notebook, place, "fc1/MatMul")
    place.locator(".card summary", has_text="generated OpenCL").first.click()
    picture(notebook, place, VIEW, shots / "graph_opencl.png")


def test_inception(notebook, shots):
    cells = ["from benchmarks.inception_graph import repeated_towers\nimport tfnb as tf\ngraph = repeated_towers()"]
    place = opened(notebook, "inception.ipynb", [*cells, "tf.show_graph(graph, height=640)"], VIEW)
    select(notebook, place, "tower_1/mixed_17x17x768b")
    place.locator("canvas.drawing").focus()
    notebook.page.keyboard.press("Enter")
    notebook.page.keyboard.press("i")
    picture(notebook, place, VIEW, shots / "graph_inception.png")


def test_timeline_of_lenet(notebook, shots):
    place = opened(notebook, "timeline_lenet.ipynb", [LENET, "tf.timeline(recording)"], ".tfnb-tl")
    pictures_in_both_themes(notebook, place, ".tfnb-tl", shots, "timeline-lenet")


def test_timeline_of_the_example(notebook, shots):
    notebook.page.set_viewport_size({"width": 1280, "height": 1100})
    notebook.open("07_profile.ipynb")
    notebook.run_all(300)
    place = notebook.show(".tfnb-tl")
    place.locator("button.slowest").click()
    place.locator(".card").get_by_text("similarity = tf.matmul").wait_for()
    pictures_in_both_themes(notebook, place, ".tfnb-tl", shots, "timeline")


def test_viewer_of_the_example(notebook, shots):
    notebook.page.set_viewport_size({"width": 1280, "height": 1100})
    notebook.open("06_viewer.ipynb")
    notebook.run_all_but_the_last(300)  # the last cell closes the view
    place = notebook.show(".tfnb-viewer")
    notebook.wait_for_charts(2, ".tfnb-viewer")
    notebook.wait_until_still(".tfnb-viewer")
    place.locator(".tfnb-chart").first.hover()
    place.locator(".tfnb-values tr").first.wait_for()
    place.screenshot(path=shots / "viewer-light.png")
    notebook.theme("JupyterLab Dark")
    place.get_by_role("tab", name="Distributions").click()
    place.get_by_label("shown as").select_option("ridges")
    place.locator(".tfnb-main canvas").first.wait_for(timeout=20_000)
    picture(notebook, place, ".tfnb-viewer", shots / "viewer-dark.png")


def test_cluster(notebook, shots):
    page = notebook.page
    page.set_viewport_size({"width": 1280, "height": 1100})
    (notebook.lab.root / "cluster-seen").unlink(missing_ok=True)
    notebook.lab.write("cluster.ipynb", [SETUP, LIVE])
    notebook.open("cluster.ipynb")
    notebook.command("notebook:run-all-cells")
    place = page.locator(".tfnb-cluster-page").first
    place.locator(".matrix td").first.wait_for(timeout=120_000)
    (notebook.lab.root / "cluster-seen").touch()  # which ends the cell
    notebook.wait_until_run()
    place.locator(".matrix td").nth(1).click()
    place.locator(".card").get_by_text("weights").first.wait_for()
    pictures_in_both_themes(notebook, place, ".tfnb-cluster-page .card", shots, "cluster")
