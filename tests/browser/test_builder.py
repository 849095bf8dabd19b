"""The graph builder in a real JupyterLab: drawn by hand, read as Python, run; and nothing reaches the notebook's keys."""

import re
from pathlib import Path

import pytest
from servers import TOKEN

AXE = Path(__file__).resolve().parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
BUILD = """%%tfnb_build model
import tfnb as tf

# the data
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.Variable(tf.ones([3, 2]), name="w")
y = tf.matmul(x,   w)  # kept as it is
"""
VIEW = ".tfnb-builder"
CELLS = "jupyterapp.shell.currentWidget.content.model.toJSON().cells"
# What axe finds in the builder: rules, and the elements that break them.
FAULTS = """async () => (await axe.run('.tfnb-builder', {resultTypes: ['violations']})).violations
    .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ')}`)"""


def sources(page):
    return page.evaluate(f"{CELLS}.map(cell => cell.source)")


def wait_for_source(page, index, text):
    """Waits until the cell contains the text."""
    page.wait_for_function(f"([k, text]) => {CELLS}[k].source.includes(text)", arg=[index, text], timeout=20_000)


def node(view, name):
    return view.locator(f".node[data-node='{name}']")


def drag(page, start, stop):
    """Drags from the middle of one element to the middle of another."""
    a, b = start.bounding_box(), stop.bounding_box()
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    page.mouse.move(b["x"] + b["width"] / 2 - 20, b["y"] + b["height"] / 2, steps=4)
    page.mouse.move(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2, steps=4)
    page.mouse.up()


def test_drawn_read_and_run(notebook):
    page = notebook.page
    notebook.lab.write("builder.ipynb", ["import numpy as np\nimport tfnb as tf", BUILD])
    notebook.open("builder.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    view = notebook.show(VIEW)
    node(view, "y").get_by_text("float32 ?×2").wait_for(timeout=20_000)  # shapes before anything has run

    # Added by typing: connected, written into the cell, every other byte as it was.
    node(view, "y").locator(".head").click()
    page.keyboard.press("/")
    page.keyboard.type("relu")
    view.get_by_role("option", name="tf.nn.relu").first.wait_for(timeout=20_000)
    page.keyboard.press("Enter")
    node(view, "relu").get_by_text("float32 ?×2").wait_for(timeout=20_000)
    wait_for_source(page, 1, "relu")
    assert sources(page)[1] == BUILD + "relu = tf.nn.relu(y)\n"

    # Run to here asks for the placeholder's value, and remembers it.
    page.keyboard.press("r")
    view.get_by_role("combobox", name="Value of x, in Python").wait_for(timeout=20_000)
    page.keyboard.type("np.ones([2, 3])")
    page.keyboard.press("Enter")
    node(view, "relu").get_by_text("[[3. 3.]").wait_for(timeout=60_000)

    # Keys stay here; those of editing act here.
    for key in ("d", "d", "Escape", "x", "Escape", "z", "Escape", "b", "Escape", "1", "Escape", "6", "Escape"):
        page.keyboard.press(key)
    view.locator(".stage").focus()
    page.keyboard.press("Control+f")
    view.get_by_role("combobox", name="Find a node").wait_for(timeout=10_000)
    page.keyboard.press("Escape")
    for _ in range(10):
        if sources(page)[1] == BUILD:
            break
        page.keyboard.press("Control+z")
        page.wait_for_timeout(300)
    assert sources(page) == ["import numpy as np\nimport tfnb as tf", BUILD]
    assert node(view, "relu").count() == 0
    page.keyboard.press("Control+Shift+z")
    wait_for_source(page, 1, "relu = tf.nn.relu(y)")
    node(view, "relu").wait_for()

    # Connected by hand: a wire that is refused says why, one that fits is written.
    drag(page, node(view, "w").locator("[data-out='0'] > *"), node(view, "relu").locator("[data-in='features'] > *"))
    wait_for_source(page, 1, "relu = tf.nn.relu(w)")

    # The cell changes by hand, and the drawing follows; half-typed code keeps it.
    source = "jupyterapp.shell.currentWidget.content.model.cells.get(1).sharedModel"
    page.evaluate(f"{source}.setSource({source}.getSource() + 'total = tf.reduce_sum(')")
    view.get_by_text(re.compile("waits for line 8")).first.wait_for(state="attached", timeout=20_000)
    assert node(view, "relu").count() == 1
    page.evaluate(f"{source}.setSource({source}.getSource() + 'relu)\\n')")
    node(view, "total").wait_for(timeout=20_000)

    # axe finds nothing in either theme.
    page.add_script_tag(path=AXE) if AXE.exists() else pytest.fail(f"{AXE} is missing: npm ci in labextension/")
    view.locator(".stage").focus()
    page.keyboard.press("0")
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        view.scroll_into_view_if_needed()
        notebook.wait_until_still(VIEW)
        notebook.shot(f"builder-{theme.lower()}")
        assert page.evaluate(FAULTS) == []

    # Saved, and opened without a kernel: picture and code.
    page.wait_for_timeout(1500)
    cells = notebook.save("builder.ipynb").cells
    assert cells[1].source.endswith("total = tf.reduce_sum(relu)\n")
    notebook.lab.root.joinpath("builder-saved.ipynb").write_bytes(
        notebook.lab.root.joinpath("builder.ipynb").read_bytes()
    )
    notebook.command("kernelmenu:shutdown")
    notebook.open("builder-saved.ipynb")
    picture = notebook.show(".tfnb-builder-picture svg")
    assert "total" in picture.text_content()
    assert "tf.reduce_sum(relu)" in page.locator(".tfnb-builder-picture pre").text_content()
    assert page.locator(VIEW).count() == 0


def test_ways_in(notebook):
    """The launcher's tile opens an empty canvas in a notebook, and what is drawn stands in its cell."""
    page = notebook.page
    page.goto(f"{notebook.lab.url}/lab?token={TOKEN}&reset")
    page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('launcher:create')", timeout=60_000)
    notebook.command("launcher:create")
    tile = page.locator(".jp-LauncherCard:visible", has_text="tfnb: graph builder")
    tile.first.wait_for(timeout=60_000)
    tile.first.click()
    view = page.locator(VIEW)
    view.wait_for(timeout=60_000)
    view.locator(".stage").click()
    page.keyboard.type("placeholder")
    view.get_by_role("option").first.wait_for(timeout=20_000)
    page.keyboard.press("Enter")
    node(view, "placeholder").wait_for(timeout=20_000)
    wait_for_source(page, 1, "tf.placeholder(")
