"""Bad input in a real JupyterLab: half-typed code, a kernel that dies, two browsers on one document. No state is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_hands import Hands

AXE = Path(__file__).resolve().parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = """async () => (await axe.run('.tfnb-builder', {resultTypes: ['violations']})).violations
    .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ')}`)"""
VIEW = ".tfnb-builder"
CELLS = "jupyterapp.shell.currentWidget.content.model.toJSON().cells"
MODEL = "jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
SOURCE = "import tfnb as tf\nx = tf.ones([2, 3])\ny = tf.tanh(x)\n"


def opened(notebook, name, source=SOURCE):
    notebook.lab.write(name, ["import tfnb as tf", f"%%tfnb_build model\n{source}"])
    notebook.open(name)
    notebook.run_all()
    assert notebook.errors() == []
    return hands_of(notebook)


def hands_of(notebook):
    view = notebook.show(VIEW)
    hands = Hands(notebook, view, "bad", False)
    hands.settle()
    return hands


def cell(page):
    return page.evaluate(f"{CELLS}[1].source")


def test_half_typed_code_and_code_that_raises_have_their_message_at_their_place(notebook):
    hands = opened(notebook, "half.ipynb")
    page, view = notebook.page, hands.view
    page.evaluate(f"{MODEL}.setSource({MODEL}.getSource() + 'z = tf.nn.relu(\\n')")
    waits = view.locator(".notice", has_text="The drawing waits for line 4, which is not complete.")
    waits.wait_for(timeout=20_000)
    assert view.locator(".node").count() == 2
    hands.node("y").locator(".head").click()
    hands.press("Delete")  # refused, and nothing is lost
    hands.settle()
    assert "not complete" in view.locator("[role=status]").text_content()
    assert cell(page).endswith(f"{SOURCE}z = tf.nn.relu(\n")
    notebook.shot("builder-half-typed")
    page.evaluate(f"{MODEL}.setSource({MODEL}.getSource().replace('relu(', 'no_such(y)\\nafter = tf.sin(y)'))")
    hands.see("z", "no_such")
    waits.wait_for(state="detached", timeout=20_000)
    hands.see("after", "float32 2×3")
    page.evaluate(f"{MODEL}.setSource({MODEL}.getSource().replace('no_such', 'relu'))")
    hands.see("z", "float32 2×3")
    # The cell's own undo has each change of the code, those of gestures too.
    hands.node("z").locator(".head").click()
    hands.press("Delete")
    hands.settle()
    assert "z =" not in cell(page)
    page.evaluate(f"{MODEL}.undo()")
    hands.see("z", "float32 2×3")


def test_a_kernel_that_dies_leaves_the_drawing_and_the_code_and_the_cell_goes_on(notebook):
    hands = opened(notebook, "dies.ipynb")
    page, view = notebook.page, hands.view
    hands.node("y").locator(".head").click()
    hands.press("Control+d")
    hands.see("y_1", "float32 2×3")
    kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    page.evaluate(f"{kernel}.requestExecute({{code: 'import os; os._exit(1)', silent: true}})")
    view.get_by_text("the kernel has ended").first.wait_for(timeout=60_000)
    ok = page.locator(".jp-Dialog button:visible")
    if ok.count():
        ok.last.click()
    assert view.locator(".notice").text_content().startswith("the kernel has ended")  # it stays
    assert view.locator(".node").count() == 3 and "y_1 = tf.tanh(x)" in cell(page)
    notebook.shot("builder-kernel-died")
    notebook.wait_for_session()
    page.wait_for_function(f"{kernel}.status === 'idle'", timeout=60_000)
    notebook.run_all()
    hands = hands_of(notebook)
    hands.see("y_1", "float32 2×3")
    hands.node("y_1").locator(".head").click()
    hands.press("Delete")
    hands.settle()
    assert cell(page).endswith(SOURCE)
    hands.press("Control+z")
    hands.see("y_1", "float32 2×3")
    notebook.complaints.clear()  # the page reports the connection that was lost


def test_two_browsers_on_one_document_show_the_same(notebook, browser):
    hands = opened(notebook, "two.ipynb")
    notebook.save("two.ipynb")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    other = type(notebook)(context.new_page(), notebook.lab)
    other.open("two.ipynb")
    second = hands_of(other)
    second.see("y", "float32 2×3")
    hands.node("y").locator(".head").click()
    hands.press("Control+d")
    hands.see("y_1")
    second.see("y_1", "float32 2×3")
    second.node("x").locator(".head").click()
    second.press("Delete")
    second.settle()
    hands.node("x").wait_for(state="detached", timeout=20_000)
    hands.press("Control+z")  # one history for both
    hands.settle()
    second.see("x")
    assert second.view.locator(".node").count() == hands.view.locator(".node").count() == 3
    other.shot("builder-two-browsers")
    context.close()


STATES = {
    "a node and its form": (),
    "the list of inputs": ("Shift+C",),
    "the list of operations": ("/"),
    "the dialog of all keys": ("?"),
    "the code": ("Control+e"),
    "finding a node": ("Control+f"),
    "a value that is asked for": ("r"),
}
BLOCKS = """import tfnb as tf
graph = tf.GraphDef()
node = graph.node.add(name='c', op='NoOp')
tf.import_graph_def(graph, name='read')
def twice(t):
    return t * 2.0
x = tf.placeholder(tf.float32, [None, 3])
for k in range(2):
    x = twice(x)
wrong = tf.matmul(x, x)
y = tf.layers.dense(x, 4)
"""


def test_axe_finds_nothing_in_blocks_dialogs_lists_and_forms(notebook):
    hands = opened(notebook, "axe.ipynb", BLOCKS)
    page = notebook.page
    page.add_script_tag(path=AXE) if AXE.exists() else pytest.fail(f"{AXE} is missing: npm ci in labextension/")
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        for state, keys in STATES.items():
            hands.view.locator(".stage").focus()
            hands.press("End")
            if keys:
                hands.press(*keys)
            page.wait_for_timeout(300)
            notebook.shot(f"builder-axe-{theme.lower()}-{'-'.join(state.split())}")
            assert page.evaluate(FAULTS) == [], (theme, state)
            hands.press("Escape")
        hands.press("Control+l")  # the value of the last node covers the one below it
        hands.settle()
        hands.press("0")
        hands.settle()
        for block in ("x", "wrong", "twice", "graph"):
            hands.node(block).locator(".head").click(position={"x": 20, "y": 6})
            hands.settle()
            assert page.evaluate(FAULTS) == [], (theme, block)
