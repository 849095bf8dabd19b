"""What is inside of nodes, in a real JupyterLab: blocks, functions, gradients, and graphs of files."""

from builder_hands import CELLS, built, go, opened, photographs, source_of, status, wait_for_code

import tfnb as tf

NET = """import tfnb as tf


def block(v, k):
    w = tf.square(v)
    z = w * k
    return z


x = tf.placeholder(tf.float32, [None, 3])
h = tf.layers.dense(x, 4, activation=tf.nn.relu)
y = block(h, 2.0)
y2 = block(x, 3.0)
loss = tf.reduce_sum(y)
dx = tf.gradients(loss, [x])
"""


def selected(dock, text):
    """Waits until the graph view has told the operation that is selected."""
    dock.locator(".tfnb-graph-view [role=status]", has_text=text).wait_for(timeout=20_000)


def search(hands, dock, words):
    """Finds an operation in the graph view by the keyboard, a key when the one before has shown what it does."""
    dock.locator("canvas.drawing:focus").wait_for(timeout=20_000)
    hands.page.keyboard.press("/")
    dock.locator("input[type=search]:focus").wait_for(timeout=20_000)
    hands.page.keyboard.type(words)
    dock.locator(".matches [role=option]").first.wait_for(timeout=20_000)
    hands.page.keyboard.press("Enter")


def ready(hands):
    hands.view.locator(".graph-host[data-ready=true]").wait_for(timeout=20_000)


def test_row_12_a_layer_opens_to_its_operations_and_one_is_used_on_the_canvas(notebook):
    hands = built(notebook, "inside.ipynb", NET)
    view = hands.view
    go(hands, "h")
    hands.press("o")
    ready(hands)
    dock = view.get_by_role("region", name="Inside of h:")
    dock.wait_for()
    assert dock.locator("canvas.drawing").evaluate("e => e === document.activeElement")
    photographs(notebook, view, "builder-inside-layer")
    # Found and used by keyboard alone; nothing of it reaches the notebook.
    search(hands, dock, "Relu")
    selected(dock, "dense/Relu")
    use = dock.get_by_role("button", name="Use on the canvas")
    use.focus()
    hands.page.keyboard.press("Enter")
    hands.settle()
    assert "h is dense/Relu" in status(hands)  # the statement that has this name already is selected
    assert view.locator(".stage").evaluate("e => e === document.activeElement")

    go(hands, "h")
    hands.press("o")
    ready(hands)
    dock = view.get_by_role("region", name="Inside of h")
    search(hands, dock, "MatMul")
    selected(dock, "dense/MatMul")
    view.get_by_role("button", name="Use on the canvas").click()
    hands.see("mat_mul", "float32 ?×4")
    wait_for_code(hands, "mat_mul = tf.get_default_graph().get_tensor_by_name('dense/MatMul:0')")
    hands.press("Control+z")
    hands.settle()
    assert source_of(hands) == NET


def test_row_13_a_function_opens_and_an_edit_changes_all_its_calls_or_one(notebook):
    hands = built(notebook, "inside-function.ipynb", NET)
    view, page = hands.view, hands.page
    go(hands, "y")
    hands.press("o")
    dock = view.get_by_role("region", name="Inside of y, a function")
    dock.wait_for(timeout=20_000)
    assert "An edit changes its other calls too: y2." in dock.text_content()
    inner = dock.locator(".tfnb-builder")
    w, result = inner.locator(".node[data-node='w']"), inner.locator(".node.code", has_text="return z")
    w.get_by_text("float32 ?×4").wait_for(timeout=20_000)
    result.wait_for()  # what it returns is a grey block
    assert result.locator(".title").text_content() == "return"
    photographs(notebook, view, "builder-inside-function")
    # Shapes of this call; edits by keyboard alone.
    inner.locator(".stage").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("s")
    page.keyboard.type("tanh")
    inner.get_by_role("option", name="tf.tanh").first.wait_for(timeout=20_000)
    page.keyboard.press("Enter")
    wait_for_code(hands, "w = tf.tanh(v)")
    inner.locator(".node", has_text="tanh").first.wait_for(timeout=20_000)
    # A new node inside, connected to the one that is selected there.
    page.keyboard.press("/")
    page.keyboard.type("exp")
    inner.get_by_role("option", name="tf.exp").first.wait_for(timeout=20_000)
    page.keyboard.press("Enter")
    wait_for_code(hands, "    exp = tf.exp(w)")
    inner.locator(".node[data-node='exp']").get_by_text("float32 ?×4").wait_for(timeout=20_000)
    page.keyboard.press("Control+z")
    page.wait_for_function("() => !document.querySelector('.inner-host .node[data-node=exp]')")
    page.keyboard.press("Control+z")
    wait_for_code(hands, "w = tf.square(v)")
    assert source_of(hands) == NET

    # This call gets a function of its own, and only that is changed.
    dock.get_by_role("button", name="Own copy for this call").click()
    wait_for_code(hands, "y = block_1(h, 2.0)")
    dock.get_by_text("It has no other call.").wait_for(timeout=20_000)
    inner.locator(".stage").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")
    page.wait_for_function("() => document.querySelector('.tfnb-builder > .foot').textContent.includes('deleted')")
    text = source_of(hands)
    assert text.count("w = tf.square(v)") == 1 and "y2 = block(x, 3.0)" in text
    # Escape leaves first the selection, then the function.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    dock.wait_for(state="hidden")
    assert view.locator(".stage").first.evaluate("e => e === document.activeElement")


def test_row_16_gradients_are_drawn_beside_the_forward_graph(notebook):
    hands = built(notebook, "gradients.ipynb", NET)
    view, page = hands.view, hands.page
    go(hands, "dx")
    hands.press("Shift+M")
    box = view.get_by_role("button", name="gradient of h, computed by dx")
    box.wait_for(timeout=20_000)
    shown = {b.get_attribute("data-forward") for b in view.locator("button.gradient").all()}
    assert shown == {"h", "y", "loss"}
    hands.settle()
    photographs(notebook, view, "builder-gradients")
    # Below its node, led from it; below everything else.
    bottom = max(b["y"] + b["height"] for b in (n.bounding_box() for n in view.locator(".node").all()))
    for name in shown:
        at, node = (
            view.locator(f"button.gradient[data-forward='{name}']").bounding_box(),
            hands.node(name).bounding_box(),
        )
        assert abs(at["x"] - node["x"]) < 2 and at["y"] > bottom
    assert view.locator(".gradients .leader").count() == 3
    # Against the wires: from the gradient of the loss to that of y to that of h; up is the node itself.
    view.locator("button.gradient[data-forward='loss']").focus()
    for key, name in (("ArrowRight", "y"), ("ArrowRight", "h")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.forward") == name
    page.keyboard.press("Enter")
    ready(hands)
    selected(view.get_by_role("region", name="Inside of dx"), "gradients/")
    page.keyboard.press("Escape")
    hands.press("Shift+M")
    assert source_of(hands) == NET


def test_row_14_nodes_are_copied_as_protobuf_s_text(notebook):
    page = notebook.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hands = built(notebook, "pbtxt.ipynb", NET)
    go(hands, "x")
    hands.press("?")
    hands.word("protobuf")
    hands.take("Copy as protobuf's text")
    page.wait_for_function("() => document.querySelector('.tfnb-builder > .foot').textContent.includes('copied as')")
    text = page.evaluate("navigator.clipboard.readText()")
    assert 'op: "Placeholder"' in text and text.lstrip().startswith("node {")
    # Pasted, it is Python again.
    hands.view.locator(".stage").focus()
    hands.press("Control+v")
    wait_for_code(hands, "placeholder = tf.placeholder(")


def test_row_10_no_key_leaks_from_what_is_opened(notebook):
    hands = built(notebook, "inside-keys.ipynb", NET)
    view, page = hands.view, hands.page
    before = [(c["cell_type"], c["source"]) for c in page.evaluate(CELLS)]
    keys = ["d", "d", "x", "z", "1", "6", "a", "b", "m", "y", "0", "0"]

    def check():
        assert [(c["cell_type"], c["source"]) for c in page.evaluate(CELLS)] == before

    for name, place in (("h", ".dock canvas.drawing"), ("y", ".inner-host .stage"), ("dx", ".dock .dock-head button")):
        go(hands, name)
        hands.press("o")
        view.locator(place).first.wait_for(timeout=20_000)
        for key in keys:
            view.locator(place).first.focus()
            page.keyboard.press(key)
            if place == ".inner-host .stage":
                page.keyboard.press("Escape")  # the list that a letter opens
                if not view.locator(".inner-host").count():
                    hands.press("o")
                    view.locator(place).first.wait_for(timeout=20_000)
        check()
        view.locator(".dock-head button", has_text="✕").first.click()


def test_row_19_a_graph_of_a_file_opens_by_its_scopes_and_is_read_only(notebook):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        for k in range(40):
            with tf.variable_scope(f"layer_{k}"):
                x = tf.layers.dense(x, 8, activation=tf.nn.relu)
        tf.identity(x, name="out")
    tf.train.write_graph(graph, str(notebook.lab.root), "large.pb", as_text=False)
    notebook.lab.write("file.ipynb", ["import tfnb as tf", "tf.builder('large.pb')"])
    hands = opened(notebook, "file.ipynb")
    view = hands.view
    dock = view.get_by_role("region", name="Inside of import_graph_def: 642 operations")
    ready(hands)
    assert "read-only" in dock.text_content()
    photographs(notebook, view, "builder-inside-file")
    search(hands, dock, "layer_39/dense/Relu")
    selected(dock, "layer_39/dense/Relu")
    view.get_by_role("button", name="Use on the canvas").click()
    hands.see("relu", "float32 ?×8")
    imported = view.locator(".node", has_text="read-only")
    assert imported.count() == 1
    assert "read-only, from a file" in imported.evaluate("e => e.ariaLabel")
    hands.press("Control+f")
    hands.word("import_graph_def")
    hands.press("Enter")
    hands.settle()
    view.locator(".pane.form .read-only").wait_for()
    photographs(notebook, view, "builder-file")
