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
    notebook.open("chart2.ipynb")  # a new page, in which BokehJS has not been started
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
