"""Rows of the builder's table of features in a real JupyterLab: keys, dtypes, refusals, arranging, zoom, touch, announcements."""

import difflib
import io
import itertools
from pathlib import Path

import nbformat
import numpy as np
import pytest
from builder_hands import CELLS, built, status
from nbconvert import HTMLExporter
from PIL import Image

AXE = Path(__file__).resolve().parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
VIEW = ".tfnb-builder"
PRESS_AT_ONCE = """keys => {
    for (const key of keys) {
        const event = { key, ctrlKey: key.startsWith("Arrow"), bubbles: true, cancelable: true };
        document.querySelector(".tfnb-builder .stage").dispatchEvent(new KeyboardEvent("keydown", event));
    }
}"""
DTYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 bool string complex64 complex128".split()


def test_row_10_no_key_leaks_into_the_notebook(notebook):
    hands = built(notebook, "row10.ipynb", "import tfnb as tf\n\nx = tf.ones([2])\ny = tf.tanh(x)\n")
    page = notebook.page
    before = page.evaluate(CELLS)
    keys = [
        "d",
        "d",
        "x",
        "z",
        *"123456",
        "a",
        "b",
        "m",
        "y",
        "Control+z",
        "Control+c",
        "Control+v",
        "Control+f",
        "0",
        "0",
    ]
    for focus in ("canvas", "node"):
        for key in keys:
            hands.view.locator(".stage").focus()
            if focus == "node":
                page.keyboard.press("Home")
            page.keyboard.press(key)
            page.keyboard.press("Escape")
    hands.settle()
    for _ in range(len(keys)):
        page.keyboard.press("Control+z")
        hands.settle()
    after = page.evaluate(CELLS)
    assert [(c["cell_type"], c["source"]) for c in after] == [(c["cell_type"], c["source"]) for c in before]
    hands.view.locator(".stage").focus()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")  # of the canvas, not of the notebook
    page.wait_for_function(f"() => !{CELLS}[1].source.includes('tanh')")
    assert page.evaluate(f"{CELLS}.length") == 3


@pytest.mark.own_page("colours are changed")
def test_row_11_dtypes_are_told_apart_without_green_and_refusals_give_reasons(notebook):
    lines = [f"p_{name} = tf.placeholder(tf.{name}, [2, 3])" for name in DTYPES]
    source = "import tfnb as tf\n" + "\n".join(lines) + "\nsame = tf.matmul(p_float32, p_float32)\n"
    hands = built(notebook, "row11.ipynb", source)
    page = notebook.page
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
    marks = {}
    for name in DTYPES:
        hands.press("Escape")
        hands.view.locator(".stage").focus()
        hands.press("Control+f")
        hands.word(f"p_{name}")
        hands.take(f"p_{name}")
        hands.press("Escape")
        hands.settle()
        mark = hands.node(f"p_{name}").locator("[data-out='0'] svg")
        x, y, w, h = (mark.bounding_box()[k] for k in ("x", "y", "width", "height"))
        clip = {"x": round(x), "y": round(y), "width": round(w), "height": round(h)}
        image = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB").resize((16, 16))
        marks[name] = np.asarray(image, np.float32)
    for one, other in itertools.combinations(DTYPES, 2):
        assert np.abs(marks[one] - marks[other]).mean() > 4, (one, other)

    # Each class of refusal: dtype, shape, a circle, itself. The list says why, and nothing is written.
    before = page.evaluate(CELLS)[1]["source"]
    for node, port, why in (
        ("p_int32", "same · a", "int32"),
        ("p_string", "same · a", "string"),
        ("same", "same · a", "its own input"),
    ):
        hands.press("Control+f")
        hands.word(node)
        hands.take(node)
        hands.press("c")
        hands.word(port.replace(" · ", " "))
        row = hands._option(port)
        row.get_by_text("refused").wait_for()
        hands.press("Enter")
        assert why in status(hands)
        assert hands.view.locator(".toast").text_content() == status(hands)
    hands.settle()
    assert page.evaluate(CELLS)[1]["source"] == before


def test_rows_15_and_21_swap_align_and_straighten(notebook):
    source = "import tfnb as tf\nx = tf.ones([2])\ny = tf.tanh(x)\nz = tf.add(x, y)\n"
    hands = built(notebook, "row21.ipynb", source)
    hands.view.locator(".stage").focus()
    hands.press("End", "ArrowUp", "s")
    hands.word("relu")
    hands.take("tf.nn.relu")
    notebook.page.wait_for_function(f"() => {CELLS}[1].source.includes('y = tf.nn.relu(x)')")
    hands.press("Alt+ArrowDown", "Alt+ArrowDown", "Alt+ArrowDown")
    hands.settle()
    ports = ["[data-out='0'] svg", "[data-in='features'] svg"]
    heights = lambda: [hands.node(n).locator(p).bounding_box()["y"] for n, p in zip("xy", ports, strict=True)]  # noqa: E731
    assert abs(heights()[0] - heights()[1]) > 5
    hands.press("Control+a", "q")
    hands.settle()
    assert abs(heights()[0] - heights()[1]) < 1
    hands.click(hands.view.get_by_role("button", name="Align tops"))
    hands.settle()
    tops = {round(hands.node(n).bounding_box()["y"]) for n in "xyz"}
    assert len(tops) == 1


def test_a_selected_node_stays_in_sight_when_the_code_takes_room(notebook):
    hands = built(notebook, "room.ipynb", "import tfnb as tf\nx = tf.ones([2])\ny = tf.tanh(x)\nz = tf.add(x, y)\n")
    hands.view.locator(".stage").focus()
    hands.press("End", *["Alt+ArrowRight"] * 12, ".")
    hands.press(*["Alt+ArrowRight"] * 24)
    hands.settle()
    right = lambda place: (lambda box: box["x"] + box["width"])(place.bounding_box())  # noqa: E731
    stage, before = hands.view.locator(".stage"), right(hands.node("z"))
    hands.press("Control+e")
    hands.settle()
    assert right(stage) < before  # else the code has taken no room from the node
    assert right(hands.node("z")) <= right(stage)


def test_a_key_that_follows_at_once_goes_on_from_the_view_that_the_one_before_asked_for(notebook):
    hands = built(notebook, "atonce.ipynb", "import tfnb as tf\n\nx = tf.ones([2])\ny = tf.tanh(x)\n")
    hands.view.locator(".stage").focus()
    for key in ("+", "ArrowDown"):
        for _ in range(40):
            hands.page.keyboard.press("Control+ArrowRight")
        hands.page.wait_for_function(f"() => !document.querySelector('{VIEW} .node')")
        # Between two real presses the flight that the first one begins may have ended.
        hands.page.evaluate(PRESS_AT_ONCE, ["0", key])
        hands.settle()
        assert hands.node("x").is_visible(), key


def test_an_open_list_of_nodes_follows_the_drawing(notebook):
    hands = built(notebook, "list-follows.ipynb", "import tfnb as tf\n\nx = tf.placeholder(tf.float32, [None, 3])\n")
    view, page = hands.view, hands.page
    view.locator(".stage").first.focus()
    hands.press("Control+f")
    hands.word("layer")
    view.locator(".choices", has_text="no node matches").wait_for()
    # Code of the cell is drawn while the list is open, as the first drawing is for somebody who is quick.
    source = "jupyterapp.shell.currentWidget.content.model.cells.get(1).sharedModel"
    page.evaluate(f"{source}.setSource({source}.getSource() + 'layer_1 = tf.abs(x)\\nlayer_2 = tf.sin(x)\\n')")
    view.locator(".choices .choice[aria-selected=true] b:text-is('layer_1')").wait_for(timeout=20_000)
    page.keyboard.press("ArrowDown")
    page.evaluate(f"{source}.setSource({source}.getSource() + 'layer_3 = tf.cos(x)\\n')")
    view.locator(".choices b:text-is('layer_3')").wait_for(timeout=20_000)
    hands.take("layer_2")  # the row that was chosen is still the one that Enter takes
    hands.settle()
    assert view.locator(".node.selected").get_attribute("data-node") == "layer_2"


def test_row_24_a_move_changes_one_line_of_the_file_and_nbconvert_shows_picture_and_code(notebook):
    hands = built(notebook, "row24.ipynb", "import tfnb as tf\nx = tf.ones([2])\ny = tf.tanh(x)\n")
    hands.view.locator(".stage").focus()
    hands.press("End", "Alt+ArrowDown")  # the first move places all nodes
    hands.settle()
    notebook.page.wait_for_timeout(1500)
    notebook.save("row24.ipynb")
    before = (notebook.lab.root / "row24.ipynb").read_text().splitlines()
    hands.press("Alt+ArrowRight")
    hands.settle()
    notebook.page.wait_for_timeout(1500)
    saved = notebook.save("row24.ipynb")
    after = (notebook.lab.root / "row24.ipynb").read_text().splitlines()
    changed = [d for d in difflib.unified_diff(before, after, n=0) if d[0] == "+" and not d.startswith("+++")]
    assert len(changed) == 1, changed
    page, _ = HTMLExporter().from_notebook_node(nbformat.from_dict(saved))
    assert "<svg" in page and "tfnb-builder-picture" in page and "tanh" in page


@pytest.mark.parametrize("notebook", [{"has_touch": True}], indirect=True)
def test_for_everybody_zoom_touch_names_from_right_to_left_and_announcements(notebook):
    name = "\u05e9\u05db\u05d1\u05d4"  # a Hebrew word, which is a Python name
    hands = built(notebook, "everybody.ipynb", f"import tfnb as tf\nx = tf.ones([2])\n{name} = tf.tanh(x)\n")
    page, view = notebook.page, hands.view
    label = hands.node(name).locator(".name")
    assert label.get_attribute("dir") == "auto" and label.text_content() == name
    assert label.evaluate("e => getComputedStyle(e).direction") == "rtl"

    # Every change is said, and the node at which the keyboard is.
    assert view.locator("[role=status]").get_attribute("aria-live") == "polite"
    view.locator(".stage").focus()
    for key, said in (("Home", "x, tf.ones, line"), ("ArrowRight", f"{name}, tf.tanh"), ("Alt+ArrowDown", "moved")):
        hands.press(key)
        hands.settle()
        assert said in status(hands), key
    active = view.locator(".stage").get_attribute("aria-activedescendant")
    assert name in page.evaluate("id => document.getElementById(id).ariaLabel", active)
    for key, said in (("Delete", "deleted"), ("Control+z", "undo done")):
        hands.press(key)
        hands.settle()
        assert said in status(hands), key

    # A finger moves the canvas, and a node.
    touch = page.context.new_cdp_session(page)
    hands.press("0")
    hands.settle()

    def swipe(x, y, dx, dy):
        for kind, points in (
            ("touchStart", [(x, y)]),
            *(("touchMove", [(x + dx * k / 4, y + dy * k / 4)]) for k in range(1, 5)),
            ("touchEnd", []),
        ):
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})

    head = hands.node("x").locator(".head").bounding_box()
    swipe(head["x"] + 30, head["y"] + 10, 40, 60)
    hands.settle()
    moved = hands.node("x").locator(".head").bounding_box()
    assert abs(moved["y"] - head["y"] - 60) < 12
    stage = view.locator(".stage").bounding_box()
    swipe(stage["x"] + 400, stage["y"] + 60, 50, 30)
    hands.settle()
    panned = hands.node("x").locator(".head").bounding_box()
    assert abs(panned["x"] - moved["x"] - 50) < 5 and abs(panned["y"] - moved["y"] - 30) < 5

    # At 200 % nothing is cut off: the page is half as wide.
    page.set_viewport_size({"width": 640, "height": 450})
    notebook.wait_until_still(VIEW)
    box = view.bounding_box()
    inside = view.locator(".bar button, .tabs button")
    for k in range(inside.count()):
        b = inside.nth(k).bounding_box()
        assert b["x"] >= box["x"] - 1 and b["x"] + b["width"] <= box["x"] + box["width"] + 1
    notebook.shot("builder-zoomed")


def test_row_9_axe_finds_nothing_in_forms_lists_and_code(notebook):
    hands = built(notebook, "row9.ipynb", "import tfnb as tf\nx = tf.ones([2, 3])\ny = tf.layers.dense(x, 4)\n")
    page = notebook.page
    page.add_script_tag(path=AXE)
    faults = """async () => (await axe.run('.tfnb-builder', {resultTypes: ['violations']})).violations
        .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ')}`)"""
    hands.view.locator(".stage").focus()
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        hands.view.locator(".stage").focus()
        hands.press("End")
        for keys in ((), ("Shift+C",), ("Escape", "/"), ("Escape", "?"), ("Escape", "Control+e")):
            hands.press(*keys)
            page.wait_for_timeout(300)
            assert page.evaluate(faults) == [], keys
