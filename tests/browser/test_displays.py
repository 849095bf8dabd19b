"""Live charts and progress bars in a real notebook, light and dark."""

LOOP = """
import math, time
from tfnb.notebook import LossPlot, progress
plot = LossPlot()
bar = progress(range(300), label="training")
for step in bar:
    time.sleep(0.01)
    plot.add(step, loss=math.exp(-step / 80) + 0.1 * math.sin(step))
    if step % 30 == 0:
        plot.add(step, **{"validation <b>": math.exp(-step / 80) + 0.05})
    bar.note = f"loss {math.exp(-step / 80):.3f}"
"""


def test_chart_is_live_then_rests_and_is_saved(notebook):
    notebook.lab.write("chart.ipynb", ["import tfnb.notebook", LOOP])
    notebook.open("chart.ipynb")
    notebook.command("notebook:run-all-cells")
    # While the cell still runs, BokehJS already draws in the widget's view.
    notebook.wait_for_charts()
    assert notebook.page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[*]").count() == 1
    notebook.shot("chart-live")
    notebook.wait_until_run()
    notebook.page.wait_for_selector(".tfnb-plot")
    notebook.wait_for_charts()
    notebook.shot("chart-light")
    notebook.theme("JupyterLab Dark")
    notebook.shot("chart-dark")
    assert notebook.errors() == []
    saved = notebook.save("chart.ipynb")
    formats = [set(o.get("data", {})) for o in saved.cells[1].outputs]
    assert {"text/html", "text/plain"} in formats
    assert (notebook.lab.root / "chart.ipynb").stat().st_size < 60_000


def test_saved_chart_is_seen_without_a_kernel_or_bokeh(notebook):
    notebook.lab.write("chart2.ipynb", [LOOP])
    notebook.open("chart2.ipynb")
    notebook.run_all()
    notebook.page.wait_for_selector(".tfnb-plot")
    notebook.save("chart2.ipynb")
    notebook.open("chart2.ipynb", load=True)  # a new page, in which BokehJS has not been started
    picture = notebook.show(".tfnb-plot svg")
    assert "validation <b>" in picture.text_content()
    notebook.shot("chart-reopened")


def test_an_interrupted_cell_leaves_a_picture(notebook):
    notebook.lab.write("stop.ipynb", [LOOP.replace("range(300)", "range(100000)")])
    notebook.open("stop.ipynb")
    notebook.command("notebook:run-all-cells")
    notebook.wait_for_charts()
    notebook.command("notebook:interrupt-kernel")
    notebook.wait_until_run()
    notebook.page.wait_for_selector(".tfnb-plot")
    assert notebook.errors() == ["KeyboardInterrupt: "]
    assert "stopped" in notebook.page.locator(".tfnb-progress").first.text_content()


ASKED = """
import os, time
import tfnb as tf
x = tf.placeholder(tf.float32, [3], name="x")
total = tf.reduce_sum(tf.square(x), name="total")
with tf.Session() as sess, tf.profile(sess) as recording:
    sess.run(total, {x: [1, 2, 3]})
"""
BUSY = """
while not os.path.exists("heard"):
    time.sleep(0.05)
"""


def test_views_are_answered_while_a_cell_runs(notebook):
    page = notebook.page
    notebook.lab.write("busy.ipynb", [ASKED, "tf.show_graph(height=300)", "tf.timeline(recording)", BUSY])
    notebook.open("busy.ipynb")
    notebook.command("notebook:run-all-cells")
    graph = notebook.show(".tfnb-graph-view")
    graph.locator("input").fill("total")
    graph.locator("input").press("Enter")
    graph.locator(".card").get_by_text("source", exact=True).wait_for()
    notebook.show(".tfnb-tl button.slowest").click()
    page.locator(".tfnb-tl .card").get_by_text("tf.square(x)").wait_for()
    assert page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[*]").count() == 1
    (notebook.lab.root / "heard").touch()
    notebook.wait_until_run()
    assert notebook.errors() == []


NEW_KERNELS = """
import random
import numpy as np, tfnb as tf
x = h = tf.placeholder(tf.float32, [None, 16])
ends = []
kinds = [tf.tanh, tf.exp, tf.sin, tf.cos, tf.sigmoid, tf.nn.softplus, tf.nn.elu, tf.nn.selu, tf.erf, tf.atan]
for _ in range(40):  # each Python function ends a cluster, and a new order of functions makes new kernels
    h = tf.py_func(lambda a: a, [h], tf.float32)
    h.set_shape([None, 16])
    for _ in range(3):
        for kind in random.sample(kinds, 4):
            h = kind(h * random.random()) + random.random()
        h = tf.nn.softmax(h)
    ends.append(h)
sess = tf.Session()
"""


def test_a_compilation_is_shown_and_interrupted_and_the_session_goes_on(notebook):
    run = "print(sess.run(ends.pop(), {x: np.ones((3, 16), np.float32)}).shape)"
    notebook.lab.write("compile.ipynb", [NEW_KERNELS, run])
    notebook.open("compile.ipynb")
    notebook.command("notebook:run-all-cells")
    shown = notebook.page.locator(".tfnb-compiling")
    shown.wait_for(timeout=60_000)
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.shot(f"compiling-{theme.lower()}")
    notebook.command("notebook:interrupt-kernel")
    notebook.wait_until_run()
    assert notebook.errors() == ["KeyboardInterrupt: "]
    bar = notebook.page.locator(".tfnb-progress")
    assert bar.text_content().startswith("stopped compiling") and " of 40 clusters" in bar.text_content()
    assert shown.count() == 0
    cell = "jupyterapp.shell.currentWidget.content.model.cells.get(0)"
    notebook.page.evaluate(f"source => {cell}.sharedModel.setSource(source)", "ends = ends[:2]; display(sess)")
    notebook.run_all()
    assert "(3, 16)" in notebook.text()
    notebook.page.get_by_text("what it has compiled and keeps").first.click()
    counters = notebook.page.locator(".tfnb-table", has_text="programs of clusters").first
    assert "generated programs" in counters.inner_text()
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.page.wait_for_selector("#jupyterlab-splash", state="detached")
        notebook.shot(f"session-{theme.lower()}")
