"""The tutorials in a real JupyterLab: they run, learn, draw, and are readable in both themes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def accuracy(notebook):
    return float(re.findall(r"test accuracy: ([\d.]+)", notebook.text())[-1])


def look(notebook, name):
    """Screenshots of what the notebook draws, light and dark; each must be in sight."""
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        for part, selector in (
            ("graph", ".tfnb-graph-place"),
            ("devices", ".tfnb-table"),
            ("training", ".tfnb-plot"),
            ("digits", ".jp-RenderedImage img"),
        ):
            assert notebook.show(selector).is_visible()
            notebook.shot(f"{name}-{part}-{theme.lower()}")


@pytest.mark.slow
def test_first_graph(notebook):
    notebook.open("01_first_graph.ipynb")
    notebook.run_all(300)
    assert notebook.errors() == []
    assert accuracy(notebook) >= 0.93
    look(notebook, "01")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "least"), [(200, 0.9), pytest.param(2000, 0.985, marks=pytest.mark.film)], ids=["short", "whole"]
)
def test_mnist(notebook, steps, least):
    """The whole training takes minutes, so that it is a part of `make films`."""
    source = (ROOT / "examples" / "02_mnist.ipynb").read_text("utf-8")
    assert "STEPS, BATCH = 2000, 64" in source
    (notebook.lab.root / "02_mnist.ipynb").write_text(
        source.replace("STEPS, BATCH = 2000, 64", f"STEPS, BATCH = {steps}, 64"), "utf-8"
    )
    notebook.open("02_mnist.ipynb")
    notebook.run_all(900)
    assert notebook.errors() == []
    assert accuracy(notebook) >= least
    look(notebook, "02")
    saved = notebook.save("02_mnist.ipynb")
    assert any(
        "tfnb-plot" in "".join(o.data.get("text/html", ""))
        for c in saved.cells
        if c.cell_type == "code"
        for o in c.outputs
        if "data" in o
    )
    size = (notebook.lab.root / "02_mnist.ipynb").stat().st_size
    assert size < 300_000, f"the saved notebook has {size} bytes"


@pytest.mark.slow
def test_the_slowest_operation_is_one_click_away(notebook):
    notebook.open("07_profile.ipynb")
    notebook.run_all(300)
    assert notebook.errors() == []
    slowest = notebook.show(".tfnb-tl button.slowest")
    assert "similarity" in slowest.text_content()
    slowest.click()
    card = notebook.page.locator(".tfnb-tl .card")
    card.get_by_text("similarity = tf.matmul").wait_for()
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.show(".tfnb-tl .summary").evaluate("e => e.scrollIntoView({block: 'start'})")
        assert card.is_visible()
        notebook.wait_until_still(".tfnb-tl")
        notebook.shot(f"07-slowest-{theme.lower()}")


def views(notebook, name, **selectors):
    """Screenshots of views, light and dark, each from its top."""
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        for part, selector in selectors.items():
            notebook.show(selector).evaluate("e => e.scrollIntoView({block: 'start'})")
            notebook.wait_until_still(selector)
            notebook.shot(f"{name}-{part}-{theme.lower()}")


@pytest.mark.slow
def test_many_devices(notebook):
    notebook.open("08_many_devices.ipynb")
    notebook.run_all(300)
    assert notebook.errors() == []
    assert accuracy(notebook) > 0.9
    text = notebook.text()
    assert re.search(r"partition CPU:0: \d+ nodes, \d+ Sends, [1-9]\d* Recvs\n +half1/hidden", text)
    assert "root of 144: 12.0" in text
    assert re.search(r"partition CPU:\d \[.*'_control_merge'.*'_control_next'", text)
    assert "cannot place the node on '/device:GPU:7': there is no such device" in text and "3.0" in text
    assert "would end there at" in text and re.search(r"costs of [1-9]\d* ops and shapes are measured", text)
    assert "lanes with kernels: CPU:0, CPU:1, CPU:2" in text
    whole, short = re.findall(r"(\d+) bytes sent, mean (1\.\d+)", text)
    assert (int(whole[0]), int(short[0])) == (4000, 2000)
    assert float(whole[1]) == pytest.approx(float(short[1]), rel=5e-3)
    views(notebook, "08", passes=".tfnb-graph-view", timeline=".tfnb-tl")


@pytest.mark.slow
def test_dask_cluster(notebook):
    notebook.open("09_dask_cluster.ipynb")
    notebook.run_all_but_the_last(300)
    assert notebook.errors() == []
    text = notebook.text()
    assert [float(a) > 0.9 for a in re.findall(r"test accuracy: ([\d.]+)", text)] == [True, True]
    assert re.search(r"w1 +\(784, 128\) /job:ps/task:0\nb1 .* /job:ps/task:1", text)
    assert re.search(r"<tf.show_cluster: 5 of 5 tasks alive, \d+ variables of", text)
    assert re.search(r"/job:ps/task:0 to /job:worker/task:[01]: 4\d\d kB a step, most of it w1", text)
    assert re.search(r" 401408 bytes in [\d.]+ ms: w1/read:0, from /job:ps/task:0/.* to /job:worker/task:1/", text)
    assert "100 steps, of gradients that the workers handed in: [100, 100]" in text
    last, first = map(int, re.search(r"it went back \[\((\d+), (\d+)\)\]", text).groups())
    assert 0 <= last - first <= 25 and "'worker 0': 2, 'worker 1': 1" in text
    views(notebook, "09", cluster=".tfnb-cluster-page", timeline=".tfnb-tl")
    notebook.command("notebook:run-cell")
    notebook.wait_until_run()
    assert "processes left: 0" in notebook.text()
    page = str(notebook.outputs())
    assert "tfnb-cluster-picture" in page and "to worker 0" in page
