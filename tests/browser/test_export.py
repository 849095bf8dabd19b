"""A notebook as HTML, by nbconvert, in a browser without network and kernel: every picture is there."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

CELLS = {
    ".tfnb-graph svg": """
import tfnb as tf, numpy as np
x = tf.placeholder(tf.float32, [None, 30], name="x")
with tf.name_scope("layer"):
    w = tf.Variable(tf.ones([30, 20]), name="weights")
    y = tf.nn.relu(tf.matmul(x, w), name="y")
tf.get_default_graph()""",
    ".tfnb-timeline svg[aria-label=timeline]": """
sess = tf.Session()
sess.run(tf.global_variables_initializer())
with tf.profile(sess) as recording:
    for k in range(3):
        sess.run(y, {x: np.ones((50, 30))})
tf.timeline(recording)""",
    ".tfnb-plot svg": """
from tfnb.notebook import LossPlot
plot = LossPlot()
for k in range(40):
    plot.add(k, loss=1 / (k + 1))""",
    ".tfnb-view-picture svg": """
with tf.summary.FileWriter("export-logs/a <b>") as writer:
    for k in range(40):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="accuracy", simple_value=k / 40)]), k)
view = tf.view("export-logs")
view""",
    ".tfnb-table": "tf.compare({'a': 1.0}, {'a': 2.0})",
}
CLOSE = "view.close(); sess.close()"
BROKEN = "() => [...document.images].filter(i => !(i.complete && i.naturalWidth)).length"


def test_pictures_stay_in_exported_html(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    cells = [nbformat.v4.new_code_cell(text) for text in [*CELLS.values(), CLOSE]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    html, _ = HTMLExporter().from_notebook_node(notebook)
    page_file = tmp_path / "page.html"
    page_file.write_text(html, "utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(page_file.as_uri(), wait_until="domcontentloaded")
    try:
        for selector in CELLS:
            place = page.locator(selector).first
            place.wait_for(timeout=5000)
            box = place.bounding_box()
            assert box["width"] > 100 and box["height"] > 20, (selector, box)
        assert page.evaluate(BROKEN) == 0
        shown = page.locator(".tfnb-timeline").text_content()
        assert "MatMul" in shown and "kernels" in shown
        # nbconvert's own page looks for libraries on the net, and says that they are not there.
        assert [f for f in faults if "tfnb" in f.lower()] == []
    finally:
        page.screenshot(path=tmp_path / "export.png", full_page=True)
        context.close()
