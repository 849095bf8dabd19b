"""Rows 2, 4, 15, 16, 19 and 23 of the builder's table, in a real JupyterLab: dropped wires, mends, edits on a wire, frames."""

import re

from builder_hands import CELLS, Hands, built, go, opened, photographs, source_of, status, wait_for_code

from benchmarks.inception_graph import repeated_towers

NET = """import tfnb as tf

x = tf.ones([2, 3])
y = tf.tanh(x)
z = tf.exp(y)
s = tf.add(z, x)
"""
EMPTY = (400, 500)  # a point of the canvas on which nothing is drawn


def point(hands, place, dx=0, dy=0):
    """A point beside the middle of an element, measured from the corner of the canvas."""
    box, stage = place.bounding_box(), hands.view.locator(".stage").bounding_box()
    return box["x"] - stage["x"] + box["width"] / 2 + dx, box["y"] - stage["y"] + box["height"] / 2 + dy


def out(hands, name):
    return hands.node(name).locator("[data-out='0'] svg")


def show_all(hands):
    hands.view.locator(".stage").first.focus()
    hands.press("Escape", "0")
    hands.settle()


def undone(hands, source):
    """One step of undo gives this source."""
    hands.view.locator(".stage").first.focus()
    hands.press("Escape", "Control+z")
    hands.settle()
    hands.page.wait_for_function(f"text => {CELLS}[1].source.endsWith(text)", arg=source, timeout=20_000)
    assert source_of(hands) == source


def on_wire(hands, start, stop, port):
    """The middle of a straight wire, measured from the corner of the canvas."""
    a, b = point(hands, out(hands, start)), point(hands, hands.node(stop).locator(f"[data-in='{port}'] svg"))
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def test_row_2_a_wire_dropped_on_the_empty_canvas_lists_what_accepts_it(notebook):
    source = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 4])
flags = tf.placeholder(tf.bool, [None])
y = tf.matmul(x)
"""
    hands = built(notebook, "row2.ipynb", source)
    view, page = hands.view, hands.page
    show_all(hands)

    def search(word):
        page.keyboard.press("Control+a")
        page.keyboard.type(word)

    # Each has a word that finds a call that fits, and one that finds calls that do not.
    for name, call, refused in (("x", "tf.nn.relu", "logical_not"), ("flags", "tf.logical_not", "relu6")):
        hands.drag(out(hands, name), EMPTY)
        view.get_by_role("combobox", name="Add what fits the wire").wait_for(timeout=20_000)
        search(call.removeprefix("tf."))
        view.locator(f".choice[aria-selected=true] b:text-is('{call}')").wait_for(timeout=20_000)
        search(refused)
        view.locator(".choices .none", has_text="no operation matches").wait_for(timeout=20_000)
        hands.press("Escape")
        hands.settle()
    # Enter adds it where the wire was dropped, connected; that is one step.
    hands.drag(out(hands, "x"), EMPTY)
    hands.word("relu")
    hands.take("tf.nn.relu")
    wait_for_code(hands, "relu = tf.nn.relu(x)\n")
    hands.see("relu", "float32 ?×4")
    undone(hands, source)
    # The same for an input: its placeholder gets the dtype and the rank that fit.
    show_all(hands)
    free = hands.port("y", "b")
    hands.drag(free, EMPTY)
    hands.word("placeholder")
    hands.take("tf.placeholder")
    wait_for_code(hands, "y = tf.matmul(x, placeholder)")
    line = next(line for line in source_of(hands).splitlines() if line.startswith("placeholder ="))
    assert "tf.float32" in line and re.search(r"\[(4|None), None\]", line), line
    hands.see("y", "float32 ?×?")
    undone(hands, source)


def test_row_4_a_mistake_is_at_its_node_and_is_mended_by_a_click_or_a_key(notebook):
    source = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 784])
d = tf.placeholder(tf.float64, [None, 784])
gray = tf.placeholder(tf.float32, [None, 28, 28])
w = tf.Variable(tf.zeros([10, 784]))
cast = x + d
turned = tf.matmul(x, w)
reshaped = tf.matmul(gray, tf.zeros([784, 3]))
pool = tf.layers.max_pooling2d(gray, 2, 2)
after = tf.nn.relu(cast)
other = tf.nn.relu(x)
"""
    hands = built(notebook, "row4.ipynb", source)
    view = hands.view
    hands.see("other", "float32 ?×784")  # the rest of the graph is alive
    wrong = {n.get_attribute("data-node") for n in view.locator(".node.wrong").all()}
    assert wrong == {"cast", "turned", "reshaped", "pool"}
    show_all(hands)
    photographs(notebook, view, "builder-mends")
    for name, label, shape in (
        ("cast", "Cast", "float32 ?×784"),
        ("turned", "Transpose", "float32 ?×10"),
        ("reshaped", "Reshape", "float32 ?×3"),
        ("pool", "Give", "float32 ?×14×14×1"),
    ):
        problem = hands.node(name).locator(".problem")
        text = problem.locator("p").text_content()
        assert len(text) > 20 and "Traceback" not in text, text
        go(hands, name)
        hands.press(".")
        hands.settle()
        hands.click(problem.get_by_role("button", name=re.compile(label)).first)
        hands.see(name, shape)
        assert hands.node(name).locator(".problem").count() == 0
        undone(hands, source)
        problem.wait_for(timeout=20_000)
    # By keyboard in the form; what reads the node has its shape then.
    go(hands, "cast")
    view.locator(".pane.form .problem").get_by_role("button", name="Cast d to float32").focus()
    hands.press("Enter")
    hands.see("after", "float32 ?×784")
    assert view.locator(".pane.form .problem").count() == 0
    undone(hands, source)


def test_row_15_insert_bypass_dissolve_and_lazy_connection_are_one_step_each(notebook):
    hands = built(notebook, "row15.ipynb", NET)
    view, page = hands.view, hands.page
    # A double click on a wire: the list of what fits there, inserted by Enter.
    show_all(hands)
    hands.click_canvas(*on_wire(hands, "y", "z", "x"), double=True)
    hands.word("relu")
    hands.take("tf.nn.relu")
    wait_for_code(hands, "relu = tf.nn.relu(y)\nz = tf.exp(relu)\n")
    undone(hands, NET)
    # A node without wires that is dropped on a wire is inserted there.
    hands.click_canvas(60, 330, double=True)
    hands.word("sigmoid")
    hands.take("tf.sigmoid")
    hands.see("sigmoid")
    loose = source_of(hands)
    show_all(hands)
    head = hands.node("sigmoid").locator(".head")
    hands.drag(head, on_wire(hands, "y", "z", "x"))
    wait_for_code(hands, "z = tf.exp(sigmoid)")
    assert "sigmoid = tf.sigmoid(y)" in source_of(hands)
    hands.see("sigmoid", "float32 2×3")
    undone(hands, loose)
    undone(hands, NET)
    # Deleted and joined; bypassed, so that the node stays and its readers read its input.
    go(hands, "y")
    hands.press("Shift+Delete")
    wait_for_code(hands, "z = tf.exp(x)")
    assert "tanh" not in source_of(hands)
    undone(hands, NET)
    go(hands, "y")
    hands.press("b")
    wait_for_code(hands, "z = tf.exp(x)")
    assert "y = tf.tanh(x)" in source_of(hands) and "bypassed" in status(hands)
    hands.see("z", "float32 2×3")
    undone(hands, NET)
    go(hands, "x")
    hands.press("b")  # it reads nothing, so there is nothing to read instead
    hands.settle()
    assert "no input" in status(hands) and source_of(hands) == NET
    # A wire that is dropped on a node ends at its first free input.
    half = NET.replace("s = tf.add(z, x)", "s = tf.add(z)")
    page.evaluate(
        "text => jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.setSource(text)",
        "%%tfnb_build\n" + half,
    )
    view.locator(".node.wrong[data-node='s']").wait_for(timeout=20_000)
    show_all(hands)
    hands.drag(out(hands, "x"), hands.node("s").locator(".head"))
    wait_for_code(hands, "s = tf.add(z, x)")
    undone(hands, half)


def test_row_16_an_optimizer_is_one_gesture_and_no_other_node_moves(notebook):
    source = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 3])
y = tf.layers.dense(x, 2)
loss = tf.reduce_mean(tf.square(y))
"""
    hands = built(notebook, "row16.ipynb", source)
    show_all(hands)

    def boxes():
        return {n.get_attribute("data-node"): n.bounding_box() for n in hands.view.locator(".node").all()}

    def away(found, name):
        return [round(found[name][k] - found["x"][k]) for k in "xy"]

    before = boxes()
    go(hands, "loss")
    hands.press("m")
    hands.word("momentum")
    hands.take("tf.train.MomentumOptimizer")
    wait_for_code(hands, "train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)\n")
    assert source_of(hands).startswith(source)
    hands.see("train")
    hands.settle()
    after = boxes()
    assert set(after) == {"x", "y", "loss", "train"}  # the gradients are inside of the one node
    assert [away(after, n) for n in before] == [away(before, n) for n in before]
    assert after["train"]["x"] > after["loss"]["x"] + after["loss"]["width"]
    go(hands, "train")
    hands.press("Shift+M")
    hands.view.get_by_role("button", name="gradient of y, computed by train").wait_for(timeout=20_000)
    hands.press("Shift+M")
    undone(hands, source)


def test_row_23_frames_and_notes_are_comments_and_follow_the_code(notebook):
    hands = built(notebook, "row23.ipynb", NET)
    view, page = hands.view, hands.page
    go(hands, "y")
    hands.press("Shift+ArrowRight", "f")
    hands.word("encoder")
    hands.press("Enter")
    title = view.locator(".frame-title", has_text="encoder")
    title.wait_for(timeout=20_000)
    go(hands, "s")
    hands.press("n")
    hands.word("the sum of both")
    hands.press("Enter")
    view.locator("button.note", has_text="the sum of both").wait_for(timeout=20_000)
    wait_for_code(hands, "the sum of both")  # the cell has it a moment after the drawing
    text = source_of(hands)
    assert [line for line in text.splitlines() if not line.startswith("#")] == NET.splitlines()
    assert "encoder" in text and re.search(r"^# .*the sum of both$", text, re.M)
    # Its colour and its title by a double click; the note by a click.
    show_all(hands)
    hands.click(title, double=True)
    hands.pick("green")
    view.locator(".frame.green").wait_for(timeout=20_000)
    hands.click(view.locator("button.note"))
    hands.word("the sum, for everybody")
    hands.press("Enter")
    view.locator("button.note", has_text="the sum, for everybody").wait_for(timeout=20_000)
    photographs(notebook, view, "builder-frames")
    # A node of the frame is renamed; the cell changes by hand; the next kernel draws them again.
    go(hands, "z")
    hands.press("F2")
    hands.word("power")
    hands.press("Enter")
    hands.see("power")
    model = "jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
    page.evaluate(f"{model}.setSource({model}.getSource() + 'more = tf.abs(s)\\n')")
    hands.see("more")

    def framed():
        """Of each node, whether its middle is in the frame."""
        hands.settle()
        frame = view.locator(".frame").bounding_box()
        boxes = {n.get_attribute("data-node"): n.bounding_box() for n in view.locator(".node").all()}
        inside = lambda b, k, size: frame[k] <= b[k] + b[size] / 2 <= frame[k] + frame[size]  # noqa: E731
        return {n for n, b in boxes.items() if inside(b, "x", "width") and inside(b, "y", "height")}

    assert framed() >= {"y", "power"}
    last = source_of(hands)
    notebook.save("row23.ipynb")
    notebook.command("kernelmenu:shutdown")
    hands = opened(notebook, "row23.ipynb")
    view = hands.view
    view.locator(".frame.green", has_text="encoder").wait_for(timeout=20_000)
    view.locator("button.note", has_text="the sum, for everybody").wait_for()
    assert source_of(hands) == last and framed() >= {"y", "power"}
    show_all(hands)
    hands.click(view.locator(".frame-title"), double=True)
    hands.pick("remove the frame")
    view.locator(".frame").wait_for(state="detached", timeout=20_000)
    assert "encoder" not in source_of(hands)


def test_row_19_of_39_551_nodes_at_most_300_are_elements_and_one_is_used(notebook):
    graph = repeated_towers(39_551)
    notebook.lab.root.joinpath("towers.pb").write_bytes(graph.SerializeToString())
    check = "again = {n.name: n for n in b.graph_def().node}\nprint(sum(again[n.name] == n for n in given.node))"
    first = "import tfnb as tf\ngiven = tf.GraphDef.FromString(open('towers.pb', 'rb').read())"
    notebook.lab.write("towers.ipynb", [first, "b = tf.builder('towers.pb')\nb", check])
    notebook.open("towers.ipynb")
    page = notebook.page
    page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    notebook.run_all_but_the_last()
    view = notebook.show(".tfnb-builder")
    view.locator(".graph-host[data-ready=true]").wait_for(timeout=60_000)
    hands = Hands(notebook, view, "towers", photographs=False)
    hands.settle()
    dock = view.get_by_role("region", name="Inside of import_graph_def: 39,551 operations")
    notebook.shot("builder-39551")
    dock.locator("canvas.drawing").focus()
    page.keyboard.press("/")
    page.keyboard.type("tower_6/conv0/Relu")
    page.keyboard.press("Enter")
    dock.locator(".tfnb-graph-view [role=status]", has_text="tower_6/conv0/Relu").wait_for(timeout=30_000)
    view.get_by_role("button", name="Use on the canvas").click()
    hands.see("relu", seconds=60)
    # Dragged beside the others, it stays where it was dropped.
    before = hands.node("relu").bounding_box()
    hands.drag(hands.node("relu").locator(".head"), point(hands, hands.node("relu").locator(".head"), 60, 70))
    hands.settle()
    after = hands.node("relu").bounding_box()
    assert abs(after["x"] - before["x"] - 60) < 12 and abs(after["y"] - before["y"] - 70) < 12
    assert view.locator("*").count() < 1500 and view.locator(".node").count() <= 300
    notebook.command("notebook:run-all-below")
    page.wait_for_function(f"() => {CELLS}.at(-1).execution_count", timeout=60_000)
    assert notebook.errors() == []
    assert notebook.text().strip().endswith("39551")  # each node of the file is in the graph as it was
