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
# Chart pixels that are drawn: BokehJS draws on canvases inside open shadow roots.
DRAWN = """() => {
    const canvases = [];
    const walk = node => {
        if (node.shadowRoot) walk(node.shadowRoot);
        for (const child of node.children ?? []) {
            if (child.tagName === 'CANVAS') canvases.push(child);
            walk(child);
        }
    };
    walk(document.querySelector('.jp-Notebook'));
    return canvases.filter(c => c.width > 100 && c.getContext('2d').getImageData(
        0, 0, c.width, c.height).data.some(v => v)).length > 0;
}"""


def test_chart_is_live_then_rests_and_is_saved(notebook):
    notebook.lab.write("chart.ipynb", ["import tfnb.notebook", LOOP])
    notebook.open("chart.ipynb")
    notebook.command("notebook:run-all-cells")
    # While the cell still runs, BokehJS already draws in the widget's view.
    notebook.page.wait_for_function(DRAWN, timeout=30_000)
    assert notebook.page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[*]").count() == 1
    notebook.shot("chart-live")
    notebook.wait_until_run()
    notebook.page.wait_for_selector(".tfnb-plot")
    notebook.page.wait_for_function(DRAWN)
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
    notebook.page.wait_for_function(DRAWN, timeout=30_000)
    notebook.command("notebook:interrupt-kernel")
    notebook.wait_until_run()
    notebook.page.wait_for_selector(".tfnb-plot")
    assert notebook.errors() == ["KeyboardInterrupt: "]
    assert "stopped" in notebook.page.locator(".tfnb-progress").first.text_content()
