"""The tutorials in a real JupyterLab: they run, learn, draw, and are readable in both themes."""

import re

import pytest


def text_of_outputs(notebook):
    return "\n".join(notebook.page.locator(".jp-OutputArea-output pre").all_inner_texts())


def accuracy(notebook):
    return float(re.findall(r"test accuracy: ([\d.]+)", text_of_outputs(notebook))[-1])


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
def test_mnist(notebook):
    notebook.open("02_mnist.ipynb")
    notebook.run_all(900)
    assert notebook.errors() == []
    assert accuracy(notebook) >= 0.985
    look(notebook, "02")
    saved = notebook.save("02_mnist.ipynb")
    assert any("tfnb-plot" in "".join(o.data.get("text/html", "")) for c in saved.cells
               if c.cell_type == "code" for o in c.outputs if "data" in o)  # fmt: skip
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
        notebook.page.wait_for_timeout(200)
        notebook.shot(f"07-slowest-{theme.lower()}")
