"""The graph view in a real notebook: opens, searches, traces, obeys keys, and stays as a picture."""

import json
import re
import shutil
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
h = x
for k in (1, 2):
    with tf.variable_scope(f"conv{k}"):
        w = tf.get_variable("weights", [5, 5, h.get_shape()[3].value, 16 * k])
        h = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(h, w, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
with tf.variable_scope("fc"):
    flat = tf.reshape(h, [-1, 7 * 7 * 32])
    logits = tf.matmul(flat, tf.get_variable("weights", [7 * 7 * 32, 10]), name="logits")
with tf.name_scope("loss"):
    loss = tf.reduce_mean(tf.nn.softmax(logits), name="value")
tf.train.AdamOptimizer().minimize(loss, name="Adam")
init = tf.global_variables_initializer()
"""
HOSTILE = """
bad = tf.GraphDef()
for name in ("<script>window.hacked = 1</script>", "<svg onload='window.hacked = 1'>", "ok", "/".join(["deep"] * 10_000)):
    node = bad.node.add(name=name, op="<img src=x onerror='window.hacked = 1'>")
    node.attr["note"].s = b"<img src=x onerror='window.hacked = 1'>"
bad.node[2].input.append(bad.node[0].name)
tf.show_graph(bad, height=300)
"""
# Pixels of the drawing that are not its ground.
INK = """(k) => {
    const canvas = document.querySelectorAll('.tfnb-graph-view canvas.drawing')[k];
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 4; i < data.length; i += 4) n += data[i] !== data[0] || data[i + 2] !== data[2];
    return n;
}"""


def drawn(page, k=0):
    page.wait_for_function(f"() => document.querySelectorAll('.tfnb-graph-view').length > {k} && ({INK})({k}) > 500")


def test_graph(notebook):
    page = notebook.page
    cells = [PROGRAM, "tf.get_default_graph()", HOSTILE]
    notebook.lab.write("graph.ipynb", cells)
    notebook.open("graph.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    drawn(page, 0)
    drawn(page, 1)
    view = page.locator(".tfnb-graph-view").first
    status = view.locator("[role=status]")
    canvas = view.locator("canvas.drawing")
    assert "operations" in canvas.get_attribute("aria-label")
    count = page.locator(".jp-Cell").count()

    # Keys: search, open, trace, walk; none of them reaches the notebook ('a' adds a cell, 'd d' deletes one).
    canvas.focus()
    for key in ("a", "d", "d", "b", "x"):
        page.keyboard.press(key)
    page.keyboard.press("/")
    page.keyboard.type("conv2 relu")
    assert "matches" in status.text_content()
    page.keyboard.press("Enter")
    card = view.locator(".card")
    card.get_by_text("source", exact=True).wait_for()
    assert "conv2/Relu" in card.locator("h3").text_content()
    assert "tf.nn.relu(tf.nn.conv2d" in card.text_content()
    card.get_by_role("button", name="go to conv2/Conv2D").click()
    page.wait_for_function("() => document.querySelector('.tfnb-graph-view .card h3').textContent === 'conv2/Conv2D'")
    page.keyboard.press("i")
    assert re.search(r"conv2/Conv2D.*: \d+ inputs", status.text_content())
    assert (
        view.get_by_role("button", name="highlight all inputs of the selected node").get_attribute("aria-pressed")
        == "true"
    )
    notebook.wait_until_still(".tfnb-graph-view")
    notebook.shot("graph-trace-light")
    page.keyboard.press("o")
    assert re.search(r"conv2/Conv2D.*: \d+ outputs", status.text_content())
    page.keyboard.press("Backspace")
    assert "conv2" in card.locator("h3").text_content()
    page.keyboard.press("Enter")
    status.filter(has_text="closed").wait_for()
    page.keyboard.press("ArrowUp")
    assert "conv2" not in card.locator("h3").text_content()
    before = page.evaluate(INK, 0)
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_function(f"n => ({INK})(0) !== n", arg=before)
    page.keyboard.press("Escape")
    assert card.is_hidden()
    assert page.locator(".jp-Cell").count() == count

    # What a file says is text.
    hostile = page.locator(".tfnb-graph-view").nth(1)
    hostile.scroll_into_view_if_needed()
    hostile.locator("input").fill("script")
    hostile.locator("input").press("Enter")
    hostile.locator(".card").get_by_text("onerror", exact=False).first.wait_for()
    assert page.evaluate("() => window.hacked") is None
    assert hostile.locator("img, script").count() == 0

    # Files for papers.
    with page.expect_download() as saved:
        view.get_by_role("button", name="save the drawing as SVG").click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg") and "conv1" in text and "<script" not in text
    with page.expect_download() as saved:
        view.get_by_role("button", name="save the drawing as PNG").click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    canvas.focus()
    page.keyboard.press("0")
    for theme in ("Dark", "Light"):
        notebook.theme(f"JupyterLab {theme}")
        view.scroll_into_view_if_needed()
        notebook.wait_until_still(".tfnb-graph-view")
        notebook.shot(f"graph-{theme.lower()}")

    # Saved and opened without its kernel, the picture is there.
    cells = notebook.save("graph.ipynb").cells
    assert len(json.dumps(cells)) < 100_000
    shutil.copy(notebook.lab.root / "graph.ipynb", notebook.lab.root / "graph-saved.ipynb")
    notebook.open("graph-saved.ipynb", load=True)
    picture = notebook.show(".tfnb-graph svg")
    assert "conv1" in picture.text_content()
    assert page.locator(".tfnb-graph-view").count() == 0


LARGE = """
from benchmarks.inception_graph import repeated_towers
import tfnb as tf
graph = repeated_towers()
view = tf.show_graph(graph)
print(len(graph.node))
"""
FIGURES = Path(__file__).resolve().parents[2] / "benchmarks" / "graph_figures.js"
SCOPES = ("tower_1", "tower_1/mixed_17x17x768b", "tower_1/gradients", "tower_2", "tower_2/mixed_8x8x2048a/branch_1")


@pytest.mark.slow
def test_a_graph_of_36000_nodes(notebook):
    """How long all of it takes is measured by `python -m benchmarks.graph_view`."""
    page = notebook.page
    notebook.lab.write("large.ipynb", [LARGE, "view"])
    notebook.open("large.ipynb")
    page.evaluate(FIGURES.read_text())
    page.evaluate("() => void figures.first().then(took => (window.took = took))")
    notebook.run_all(180)
    assert notebook.errors() == []
    page.wait_for_function("() => window.took", timeout=60_000)
    page.evaluate("paths => void figures.rest(paths).then(found => (window.found = found))", list(SCOPES))
    page.wait_for_function("() => window.found", timeout=60_000)
    found = page.evaluate("() => window.found")
    assert int(page.locator(".jp-OutputArea-output pre").first.inner_text()) > 30_000
    assert [o["path"] for o in found["opened"]] == list(SCOPES) and 0 < found["boxes"] < 2_000
    notebook.shot("graph-large")
    notebook.save("large.ipynb")
    assert (notebook.lab.root / "large.ipynb").stat().st_size < 200_000
