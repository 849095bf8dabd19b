"""LeNet built from nothing in the browser, by mouse alone and by keyboard alone, trained to 98 % and taken out as Python.

Both films leave a photograph every ten gestures. They train for 3,000 steps, so they run by `make films`; the short one,
which only builds, runs always.
"""

import logging
import re

import pytest
from builder_hands import Hands

VIEW = ".tfnb-builder"
LOSS = "sparse_softmax_cross_entropy"
LAYERS = (
    r"tf\.layers\.conv2d\(\w+, 20, 5, activation=tf\.nn\.relu\)",
    r"tf\.layers\.conv2d\(\w+, 48, 5, activation=tf\.nn\.relu\)",
    r"tf\.layers\.dense\(\w+, 120, activation=tf\.nn\.relu\)",
    r"tf\.layers\.dense\(\w+, 84, activation=tf\.nn\.relu\)",
    r"tf\.layers\.dense\(\w+, 10\)",
)


def opened(notebook, name):
    """An empty builder in a notebook, as large as its window allows."""
    notebook.lab.write(name, ["import tfnb as tf\ntf.builder()"])
    notebook.open(name)
    notebook.run_all()
    assert notebook.errors() == []
    return notebook.show(VIEW)


def accuracy(hands):
    """The value that is written on the node of the accuracy."""
    shown = hands.node("reduce_mean").locator(".value.number b")
    shown.wait_for(timeout=60_000)
    return float(shown.text_content())


def wait_for_training(hands, loss):
    hands.node(loss).get_by_text(re.compile("done")).wait_for(timeout=900_000)


def check(hands, notebook, name):
    """What was built is LeNet, in at most 120 gestures and 3 minutes, and its Python builds the same outside."""
    source = hands.source()
    logging.getLogger(__name__).warning("%s: %d gestures, %.0f s of a person", name, hands.gestures, hands.seconds)
    for layer in LAYERS:
        assert re.search(layer, source), source
    assert hands.gestures <= 120
    assert hands.seconds <= 180


def build_by_keyboard(hands):
    """Draws LeNet, its loss and its training operation."""
    hands.view.locator(".stage").focus()  # where Tab comes to from the cell
    hands.word("placeholder shape=[None,28,28,1]")
    hands.take("tf.placeholder")
    hands.see("placeholder", "float32 ?×28×28×1")
    # The first by the form; the others with their parameters behind the name.
    hands.add("conv2d filters=20", "tf.layers.conv2d")
    hands.see("conv2d", "float32 ?×26×26×20")
    hands.press("Enter")
    hands.field("kernel_size", "5")
    hands.field("activation", "tf.nn.relu")
    hands.press("Escape")
    hands.add("max pooling", "tf.layers.max_pooling2d")
    hands.see("max_pooling2d")
    hands.add("conv2d filters=48 kernel_size=5 activation=tf.nn.relu", "tf.layers.conv2d")
    hands.see("conv2d_1")
    hands.add("max pooling", "tf.layers.max_pooling2d")
    hands.see("max_pooling2d_1")
    hands.add("flatten", "tf.layers.flatten")
    hands.see("flatten", "float32 ?×768")
    for number, units in (("", "120 activation=tf.nn.relu"), ("_1", "84 activation=tf.nn.relu"), ("_2", "10")):
        hands.add(f"dense units={units}", "tf.layers.dense")
        hands.see(f"dense{number}")
    hands.see("dense_2", "float32 ?×10")
    hands.add("losses.sparse", f"tf.losses.{LOSS}")
    hands.see(LOSS)
    hands.press("Shift+C")
    hands.take("labels")
    hands.word("placeholder")
    hands.take("tf.placeholder")
    hands.see("placeholder_1", "int64 ?")
    hands.press("Control+f")
    hands.word("sparse")
    hands.take(LOSS)
    hands.press("m")
    hands.take("tf.train.AdamOptimizer")
    hands.see("train")


def test_lenet_is_built_by_keyboard(notebook):
    """The short film: no training."""
    view = opened(notebook, "film-short.ipynb")
    hands = Hands(notebook, view, "film-short", photographs=False)
    build_by_keyboard(hands)
    check(hands, notebook, "the building by keyboard")
    assert view.locator(".totals.wrong").count() == 0


@pytest.mark.film
def test_lenet_by_mouse(notebook):
    view = opened(notebook, "film-mouse.ipynb")
    hands = Hands(notebook, view, "film-mouse")
    hands.click_canvas(120, 160, double=True)
    hands.pick("tf.placeholder")
    hands.see("placeholder")
    hands.form("shape", "[None, 28, 28, 1]")
    hands.see("placeholder", "float32 ?×28×28×1")
    for number, filters in (("", "20"), ("_1", "48")):
        hands.command("+ Add")
        hands.pick("tf.layers.conv2d")
        hands.see(f"conv2d{number}")
        hands.form("filters", filters)
        hands.form("kernel_size", "5")
        hands.form("activation", "tf.nn.relu")
        hands.command("+ Add")
        hands.pick("tf.layers.max_pooling2d")
        hands.see(f"max_pooling2d{number}")
    hands.command("+ Add")
    hands.pick("tf.layers.flatten")
    hands.see("flatten", "float32 ?×768")
    for number, units in (("", "120"), ("_1", "84"), ("_2", "10")):
        hands.command("+ Add")
        hands.pick("tf.layers.dense")
        hands.see(f"dense{number}")
        if units != "10":
            hands.form("units", units)
            hands.form("activation", "tf.nn.relu")
    hands.see("dense_2", "float32 ?×10")
    hands.command("+ Add")
    hands.pick("tf.losses.sparse_softmax_cross_entropy")
    loss = LOSS
    hands.see(loss)
    hands.settle()
    box, stage = hands.node(loss).bounding_box(), view.locator(".stage").bounding_box()
    hands.drag(hands.port(loss, "labels"), (box["x"] - stage["x"] - 60, box["y"] - stage["y"] + 130))
    hands.pick("tf.placeholder")
    hands.see("placeholder_1")
    hands.see("placeholder_1", "int64 ?")
    hands.select(loss)
    hands.command("Minimize")
    hands.pick("tf.train.AdamOptimizer")
    hands.see("train")
    hands.command("Train")
    hands.pick("3000 steps")
    hands.pick("digits.images(step)")
    hands.pick("digits.labels(step)")
    # The accuracy is drawn while the training runs.
    hands.find("dense_2")
    hands.command("+ Add")
    hands.pick("tf.argmax")
    hands.see("argmax")
    hands.form("axis", "1")
    hands.command("+ Add")
    hands.pick("tf.equal")
    hands.see("equal")
    hands.drag(hands.node("placeholder_1").locator("[data-out='0'] > *"), hands.port("equal", "y"))
    hands.see("equal", "bool ?")
    hands.command("+ Add")
    hands.pick("tf.cast")
    hands.command("+ Add")
    hands.pick("tf.reduce_mean")
    hands.see("reduce_mean", "float32 scalar")
    wait_for_training(hands, loss)
    for name, feed in (("placeholder", "digits.test_images()"), ("placeholder_1", "digits.test_labels()")):
        hands.find(name)
        hands.command("▷ Run to here")
        hands.pick(feed)
    hands.find("reduce_mean")
    hands.command("▷ Run to here")
    assert accuracy(hands) >= 0.98
    hands.click(view.get_by_role("tab", name="Code"))
    with notebook.page.expect_download() as download:
        hands.click(view.get_by_role("button", name=re.compile("Save as .py")))
    hands.photograph()
    assert download.value.path().read_text() == hands.source()
    check(hands, notebook, "by mouse")


@pytest.mark.film
def test_lenet_by_keyboard(notebook):
    view = opened(notebook, "film-keyboard.ipynb")
    hands = Hands(notebook, view, "film-keyboard")
    build_by_keyboard(hands)
    loss = LOSS
    hands.press("t")
    hands.word("3000")
    hands.take("3000 steps")
    hands.take("digits.images(step)")
    hands.take("digits.labels(step)")
    # The accuracy is drawn while the training runs.
    hands.press("Control+f")
    hands.word("dense_2")
    hands.take("dense_2")
    hands.add("argmax axis=1", "tf.argmax")
    hands.see("argmax")
    hands.add("equal", "tf.equal")
    hands.see("equal")
    hands.press("Shift+C")
    hands.take("y")
    hands.word("placeholder_1")
    hands.take("placeholder_1")
    hands.see("equal", "bool ?")
    hands.add("cast", "tf.cast")
    hands.add("reduce mean", "tf.reduce_mean")
    hands.see("reduce_mean", "float32 scalar")
    wait_for_training(hands, loss)
    for name, feed in (("placeholder_1", "labels"), ("placeholder", "images")):
        hands.press("Control+f")
        hands.word(name)
        hands.take(name)
        hands.press("r")
        hands.word(f"digits.test_{feed}()")
        hands.take(f"digits.test_{feed}()")
    hands.press("Control+f")
    hands.word("reduce_mean")
    hands.take("reduce_mean")
    hands.press("r")
    assert accuracy(hands) >= 0.98
    hands.press("Control+e", "Shift+Tab")
    with notebook.page.expect_download() as download:
        hands.press("Enter")
    hands.photograph()
    assert download.value.path().read_text() == hands.source()
    check(hands, notebook, "by keyboard")
