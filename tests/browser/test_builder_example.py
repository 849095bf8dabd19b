"""examples/10_builder.ipynb as its readers go through it: each cell is run, and each gesture that its text names is done.

It trains twice, so it runs by `make films`; each step leaves a photograph.
"""

import re
from pathlib import Path

import pytest
from builder_hands import CELLS, Hands

EXAMPLE = Path(__file__).parents[2] / "examples" / "10_builder.ipynb"
# Whether a cell was run to its end.
RUN_OF = """k => jupyterapp.shell.currentWidget.content.model.cells.get(k).executionState !== 'running'
    && jupyterapp.shell.currentWidget.content.model.cells.get(k).executionCount !== null"""
FIRST, RUN, MISTAKE, MODEL, TRAIN, EMPTY, COMPILED = 3, 5, 7, 9, 11, 13, 15  # the cells with code


class Reader:
    """Runs a cell, and then acts on its canvas."""

    def __init__(self, notebook):
        self.notebook, self.page = notebook, notebook.page

    def run(self, cell):
        self.page.evaluate(f"() => {{ jupyterapp.shell.currentWidget.content.activeCellIndex = {cell}; }}")
        self.notebook.command("notebook:run-cell")
        self.page.wait_for_function(RUN_OF, arg=cell, timeout=120_000)

    def canvas(self, cell, name):
        view = self.page.locator(f".jp-Notebook-cell[data-windowed-list-index='{cell}'] .tfnb-builder")
        view.wait_for(timeout=60_000)
        view.scroll_into_view_if_needed()
        hands = Hands(self.notebook, view, name, photographs=False)
        hands.settle()
        return hands

    def source(self, cell):
        return self.page.evaluate(f"{CELLS}[{cell}].source")

    def wait_for(self, cell, text):
        self.page.wait_for_function(f"([k, t]) => {CELLS}[k].source.includes(t)", arg=[cell, text], timeout=20_000)

    def feed(self, hands, name, value):
        hands.view.get_by_role("combobox", name=f"Value of {name}, in Python").wait_for(timeout=60_000)
        self.page.keyboard.press("Control+a")
        hands.word(value)
        hands.press("Enter")


def first_graph(reader):
    reader.run(FIRST)
    hands = reader.canvas(FIRST, "example-first")
    view, page = hands.view, reader.page
    cells = page.evaluate(f"{CELLS}.length")
    hands.select("total")
    hands.press("/")
    hands.word("mul")
    hands.take("tf.multiply")
    hands.see("multiply")
    reader.wait_for(FIRST, "multiply = tf.multiply(total")
    hands.press("0")
    hands.settle()
    box, stage = hands.node("multiply").bounding_box(), view.locator(".stage").bounding_box()
    hands.drag(hands.port("multiply", "y"), (box["x"] - stage["x"], box["y"] - stage["y"] + 140))
    hands.pick("tf.placeholder")
    hands.see("placeholder", "float32")
    reader.wait_for(FIRST, "placeholder = tf.placeholder(tf.float32")
    hands.drag(hands.node("product").locator("[data-out='0'] > *").first, hands.port("multiply", "y"))
    reader.wait_for(FIRST, "multiply = tf.multiply(total, product)")
    hands.select("total")
    hands.press("c")
    view.get_by_role("option").first.wait_for(timeout=20_000)
    hands.press("Escape")
    hands.select("multiply")
    hands.press("Shift+C")
    view.get_by_role("option").first.wait_for(timeout=20_000)
    hands.press("Escape")
    reader.notebook.shot("example-first")
    # A number in the cell changes the drawing; an undo takes back what was drawn.
    page.evaluate(
        f"""() => {{ const cell = jupyterapp.shell.currentWidget.content.model.cells.get({FIRST});
        cell.sharedModel.setSource(cell.sharedModel.getSource().replace('[None, 2]', '[5, 2]')); }}"""
    )
    hands.see("x", "float32 5×2")
    view.locator(".stage").focus()
    hands.press("Control+z", "Control+z", "Control+z")
    hands.node("placeholder").wait_for(state="detached", timeout=20_000)
    hands.press("?")
    view.get_by_role("option").nth(20).wait_for(timeout=20_000)
    hands.press("Escape")
    assert page.evaluate(f"{CELLS}.length") == cells
    return hands


def values(reader, hands):
    hands.select("product")
    hands.press("r")
    reader.feed(hands, "x", "np.ones([3, 2])")
    hands.node("product").locator(".value").wait_for(timeout=90_000)
    reader.notebook.shot("example-values")
    reader.run(RUN)
    assert "array([[4., 6.]" in reader.notebook.text()


def mistake(reader):
    reader.run(MISTAKE)
    hands = reader.canvas(MISTAKE, "example-mistake")
    problem = hands.node("logits").locator(".problem")
    problem.wait_for(timeout=20_000)
    reader.notebook.shot("example-mistake")
    assert re.search(r"784.*10|10.*784", problem.text_content()), problem.text_content()
    assert hands.node("fits").get_by_text("float32 ?×10").count() == 1
    mends = problem.get_by_role("button")
    assert mends.count()
    assert mends.first.text_content() == "Transpose w"
    hands.click(mends.first)
    hands.see("logits", "float32 ?×10")
    assert problem.count() == 0


def digits(reader):
    reader.run(MODEL)
    hands = reader.canvas(MODEL, "example-model")
    view = hands.view
    assert "7,850 parameters" in view.locator(".totals").text_content()
    view.locator(".stage").focus()
    hands.find("train")
    hands.press("t", "Enter")
    reader.feed(hands, "rows", "digits.rows(step)")
    reader.feed(hands, "labels", "digits.labels(step)")
    hands.node("loss").locator(".value.chart").wait_for(timeout=120_000)
    hands.node("loss").get_by_text(re.compile("done")).wait_for(timeout=240_000)
    reader.notebook.shot("example-model")
    reader.run(TRAIN)
    accuracy = float(re.search(r"test accuracy: ([\d.]+)", reader.notebook.text()).group(1))
    assert accuracy > 0.7
    view.scroll_into_view_if_needed()
    hands.find("w")
    hands.press("r")
    hands.node("w").locator(".value").wait_for(timeout=60_000)
    return hands


def hidden_layer(reader, hands):
    view = hands.view
    hands.find("rows")
    hands.press("/")
    hands.word("dense units=100 activation=tf.nn.relu")
    hands.take("tf.layers.dense")
    hands.see("dense", "float32 ?×100")
    wire = hands.node("dense").locator("[data-out='0'] > *").first, hands.port("product", "a")
    view.locator(".stage").focus()
    hands.drag(*wire)
    view.get_by_text(re.compile("100 and 784|784 and 100")).first.wait_for(timeout=20_000)  # it is refused
    hands.find("w")
    hands.press("Enter")
    hands.field("initial_value", "tf.zeros([100, 10])")
    problem = hands.node("product").locator(".problem")
    problem.wait_for(timeout=20_000)
    reader.notebook.shot("example-hidden")
    view.locator(".stage").focus()
    hands.drag(*wire)
    hands.see("product", "float32 ?×10")
    assert problem.count() == 0
    view.locator(".stage").focus()
    hands.find("train")
    hands.press("t", "Enter")
    hands.node("loss").get_by_text(re.compile("step 100.*done")).wait_for(timeout=240_000)
    for name, value in (("rows", "digits.test_rows()"), ("labels", "digits.test_labels()")):
        hands.find(name)
        hands.press("r")
        reader.feed(hands, name, value)
        hands.node(name).locator(".value").wait_for(timeout=90_000)
    shown = hands.node("accuracy").locator(".value.number b")
    for _ in range(20):  # the node of the loss may still say that the first training is done
        hands.find("accuracy")
        hands.press("r")
        shown.wait_for(timeout=90_000)
        reader.page.wait_for_timeout(1000)
        if float(shown.text_content()) > 0.7:
            break
    assert float(shown.text_content()) > 0.7
    hands.press("0")
    hands.settle()
    reader.notebook.shot("example-accuracy")


def order(reader, hands):
    view, page = hands.view, reader.page
    before = reader.source(MODEL)

    def both():
        hands.find("product")
        page.keyboard.down("Shift")
        hands.select("logits")
        page.keyboard.up("Shift")
        view.locator(".node.selected").nth(1).wait_for(timeout=20_000)

    for key, made in (("g", "def "), ("f", "# "), ("n", "# "), ("b", "")):
        both()
        hands.press(key)
        page.wait_for_timeout(300)
        if view.locator(".chooser:not([hidden])").count():  # the name of the function or frame, the text of the note
            hands.word("part")
            hands.press("Enter")
        page.wait_for_function(f"([k, t]) => {CELLS}[k].source !== t", arg=[MODEL, before], timeout=20_000)
        assert made in reader.source(MODEL)
        view.locator(".stage").focus()
        hands.press("Control+z")
        page.wait_for_function(f"([k, t]) => {CELLS}[k].source === t", arg=[MODEL, before], timeout=20_000)


def from_nothing(reader):
    reader.run(EMPTY)
    hands = reader.canvas(EMPTY, "example-empty")
    view = hands.view
    view.locator(".stage").focus()
    hands.word("placeholder shape=[None,28,28,1]")
    hands.take("tf.placeholder")
    hands.see("placeholder")
    for word, label in (
        ("conv2d filters=20 kernel_size=5", "tf.layers.conv2d"),
        ("max pooling", "tf.layers.max_pooling2d"),
        ("conv2d filters=48 kernel_size=5", "tf.layers.conv2d"),
        ("max pooling", "tf.layers.max_pooling2d"),
        ("flatten", "tf.layers.flatten"),
        ("dense units=120", "tf.layers.dense"),
        ("dense", "tf.layers.dense"),
        ("sparse softmax loss", "tf.losses.sparse_softmax_cross_entropy"),
    ):
        count = int(view.locator(".stage").get_attribute("data-nodes"))
        hands.add(word, label)
        reader.page.wait_for_function(
            "([e, n]) => Number(e.dataset.nodes) > n", arg=[view.locator(".stage").element_handle(), count]
        )
    loss = "sparse_softmax_cross_entropy"
    hands.see(loss)
    hands.press("Shift+C")
    hands.take("labels")
    hands.word("placeholder")
    hands.take("tf.placeholder")
    hands.see("placeholder_1", "int64 ?")
    hands.find(loss)
    hands.press("m")
    hands.take("tf.train.AdamOptimizer")
    hands.see("train")
    hands.press("0")
    hands.settle()
    reader.notebook.shot("example-empty")
    assert "problem" not in view.locator(".totals").text_content()


@pytest.mark.film
def test_every_sentence_of_the_example(notebook):
    (notebook.lab.root / "example.ipynb").write_text(EXAMPLE.read_text())
    notebook.open("example.ipynb")
    reader = Reader(notebook)
    reader.run(1)
    hands = first_graph(reader)
    values(reader, hands)
    mistake(reader)
    hands = digits(reader)
    hidden_layer(reader, hands)
    order(reader, hands)
    from_nothing(reader)
    reader.run(COMPILED)
    notebook.shot("example-passes")
    assert notebook.errors() == []
