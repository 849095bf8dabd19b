"""Rows 1, 7, 11, 17, 21 and 22 of the builder's table, in a real JupyterLab: adding, running, refusals, places, wires."""

import json
import re
from itertools import combinations

from builder_hands import CELLS, built, go, opened, photographs, source_of, status, wait_for_code

NET = """import tfnb as tf

x = tf.ones([2, 3])
y = tf.tanh(x)
z = tf.exp(y)
s = tf.add(z, x)
"""


def covered(hands):
    """Pairs of nodes of which one lies on the other."""
    boxes = {n.get_attribute("data-node"): n.bounding_box() for n in hands.view.locator(".node").all()}
    return [(a, b) for a, b in combinations(boxes, 2) if overlap(boxes[a], boxes[b])]


def overlap(a, b):
    return (
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )


def routes(hands):
    """How wires go, as the cell's metadata keep it."""
    kept = hands.page.evaluate(CELLS)[1]["metadata"].get("tfnb", {}).get("view", "{}")
    return {key: value for key, value in json.loads(kept).items() if ">" in key}


def wait_for_route(hands, key, count):
    """Waits until a wire is kept with so many bends; -1: not at all."""
    hands.page.wait_for_function(
        f"""([key, count]) => {{
            const route = JSON.parse({CELLS}[1].metadata.tfnb?.view ?? '{{}}')[key];
            return count < 0 ? !route : route?.length === 2 * count;
        }}""",
        arg=[key, count],
        timeout=20_000,
    )
    return routes(hands).get(key)


def corner(hands, name):
    """The upper left corner of a node on the screen."""
    box = hands.node(name).bounding_box()
    return box["x"], box["y"]


def middle(hands, start, stop):
    """The middle between an output and an input."""
    a, b = hands.node(start[0]).locator(start[1]).bounding_box(), hands.node(stop[0]).locator(stop[1]).bounding_box()
    return (a["x"] + b["x"] + a["width"]) / 2, (a["y"] + b["y"] + a["height"]) / 2


def drag_to(hands, begin, *points):
    page = hands.page
    page.mouse.move(*begin)
    page.mouse.down()
    for point in points:
        page.mouse.move(*point, steps=5)
    page.wait_for_timeout(60)


def test_row_1_an_operation_is_added_by_typing_in_at_most_eight_keys(notebook):
    hands = built(notebook, "row1.ipynb", "import tfnb as tf\n\nx = tf.ones([2, 2])\n")
    view, page = hands.view, hands.page
    # With nothing selected a letter is the beginning of a name: m a t m u l Enter.
    view.locator(".stage").focus()
    keys = 0
    for key in "matmu":
        page.keyboard.press(key)
        keys += 1
    view.locator(".choice[aria-selected=true] b:text-is('tf.matmul')").wait_for(timeout=20_000)
    page.keyboard.press("Enter")
    assert keys + 1 <= 8
    hands.see("matmul")
    assert "matmul added" in status(hands)
    hands.press("Control+z")
    # / with a selected node connects; by what it means, and by an older name; a double click opens the list there.
    for word, call in (("reduce_sum", "tf.reduce_sum"), ("square root", "tf.sqrt"), ("mul", "tf.multiply")):
        go(hands, "x")
        hands.press("/")
        hands.word(word)
        # The list without a word, which was there before, may have the call farther down.
        view.locator(f".choice:nth-child(-n+3) b:text-is('{call}')").wait_for(timeout=20_000)
        hands.press("Escape")
    hands.click_canvas(60, 300, double=True)
    hands.word("tanh")
    hands.take("tf.tanh")
    hands.see("tanh")
    hands.settle()
    stage, node = view.locator(".stage").bounding_box(), hands.node("tanh").bounding_box()
    assert abs(node["x"] - stage["x"] - 60) < 30 and abs(node["y"] - stage["y"] - 300) < 60
    hands.press("Escape", "?")
    hands.word("add an operation")
    view.get_by_role("option").first.wait_for()


def test_row_7_run_to_here_shows_numbers_tables_images_histograms_and_faults(notebook):
    source = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 3])
number = tf.reduce_sum(x)
table = x * 2.0
picture = tf.reshape(tf.range(256.0), [16, 16])
many = tf.range(500.0)
bad = tf.log(x - 1.0)
other = tf.placeholder(tf.float32, [2], name="other")
unused = other + 1.0
"""
    hands = built(notebook, "row7.ipynb", source, "import numpy as np\nimport tfnb as tf")
    view = hands.view

    def shown(name, selector, keys="r"):
        go(hands, name)
        hands.press(keys)
        return hands.node(name).locator(selector)

    go(hands, "number")
    hands.press("r")
    view.get_by_role("combobox", name="Value of x, in Python").wait_for(timeout=20_000)
    hands.word("np.array([[1.0, 2.0, 0.0]])")
    hands.press("Enter")
    hands.node("number").locator(".value.number b").get_by_text("3", exact=True).wait_for(timeout=60_000)
    assert status(hands) == "number is 3"
    # The feed is remembered; a node that does not need `other` does not ask for it.
    shown("table", ".value").wait_for(timeout=60_000)
    view.locator(".pane.form pre.table").get_by_text("[[2. 4. 0.]]").wait_for(timeout=60_000)
    assert shown("picture", ".value.image img").get_attribute("src", timeout=60_000).startswith("data:image/png")
    shown("many", ".value.histogram svg").wait_for(timeout=60_000)
    fault = shown("bad", ".odd").text_content(timeout=60_000)
    assert re.search("1 NaN, 1 Inf|1 Inf|2 Inf|1 NaN", fault)
    hands.settle()
    # The table of the form has the time too.
    assert re.search(r"[\d.]+ ms", view.locator(".pane.form").text_content())
    hands.press("0")
    hands.settle()
    assert covered(hands) == []  # what has a value has got room
    photographs(notebook, view, "builder-values")
    # At a placeholder that has a value, another one is asked for.
    go(hands, "x")
    hands.press("r")
    field = view.get_by_role("combobox", name="Value of x, in Python")
    field.wait_for(timeout=20_000)
    assert field.input_value() == "np.array([[1.0, 2.0, 0.0]])"
    hands.word("np.ones([2, 3])")
    hands.press("Enter")
    hands.node("x").locator(".value").wait_for(timeout=60_000)
    hands.settle()
    shown("number", ".value.number b").get_by_text("6", exact=True).wait_for(timeout=60_000)
    assert source_of(hands) == source


def test_row_11_shapes_and_circles_are_refused_with_the_reason_in_list_and_drag(notebook):
    source = """import tfnb as tf

a = tf.ones([2, 3])
b = tf.ones([4, 5])
m = tf.matmul(a, tf.ones([3, 2]))
e = tf.exp(m)
"""
    hands = built(notebook, "row11shapes.ipynb", source)
    view, page = hands.view, hands.page
    for node, port, why in (("b", "m · a", "shape|dimension|4|5"), ("e", "m · a", "computed from|circle")):
        go(hands, node)
        hands.press("c")
        hands.word(port.replace(" · ", " "))
        hands._option(port).get_by_text("refused").wait_for()
        hands.press("Enter")
        assert re.search(why, status(hands)), status(hands)
        assert view.locator(".toast").text_content() == status(hands)
    # By hand: ports that refuse fade while the wire is dragged, and the drop says why.
    hands.press("Escape", "0")
    hands.settle()
    start = hands.node("b").locator("[data-out='0'] svg").bounding_box()
    stop = hands.node("m").locator("[data-in='a'] svg").bounding_box()
    drag_to(hands, (start["x"] + 8, start["y"] + 8), (stop["x"] - 30, stop["y"] + 40))
    hands.node("m").locator(".in.refuses[data-in='a']").wait_for(timeout=20_000)
    page.mouse.move(stop["x"] + 6, stop["y"] + 6, steps=4)
    notebook.shot("builder-refused")
    page.mouse.up()
    assert view.locator(".toast").is_visible() and "refusal" in view.locator(".foot .status").get_attribute("class")
    hands.settle()
    assert source_of(hands) == source


def test_row_17_new_nodes_overlap_none_others_stay_and_tidy_moves_the_selection_only(notebook):
    hands = built(notebook, "row17.ipynb", NET)
    names = ["x", "y", "z", "s"]
    hands.press("Escape", "0")
    hands.settle()
    before = {n: corner(hands, n) for n in names}
    for word in ("relu", "sigmoid", "square"):
        go(hands, "y")
        hands.press("/")
        hands.word(word)
        hands.take({"relu": "tf.nn.relu", "sigmoid": "tf.sigmoid", "square": "tf.square"}[word])
        hands.see(word)
    hands.press("0")
    hands.settle()

    def boxes():
        return {n.get_attribute("data-node"): n.bounding_box() for n in hands.view.locator(".node").all()}

    assert covered(hands) == []
    # Those that were there have kept their distances: only the window has moved.
    now = boxes()
    scale = (now["s"]["x"] - now["x"]["x"]) / (before["s"][0] - before["x"][0])
    for n in names:
        for axis in (0, 1):
            moved = (now[n]["xy"[axis]] - now["x"]["xy"[axis]]) / scale
            assert abs(moved - (before[n][axis] - before["x"][axis])) < 2, n
    # Tidy moves what is selected, and nothing else.
    for name in ("relu", "sigmoid"):
        go(hands, name)
        hands.press(*["Alt+ArrowDown"] * 30, *["Alt+ArrowLeft"] * 12)
    hands.press("0")
    hands.settle()
    go(hands, "relu")
    hands.select("relu")
    with_shift = hands.node("sigmoid").locator(".head").bounding_box()
    hands.page.keyboard.down("Shift")
    hands.page.mouse.click(with_shift["x"] + 8, with_shift["y"] + 6)
    hands.page.keyboard.up("Shift")
    hands.settle()
    before = boxes()
    hands.press("Control+l")
    hands.settle()
    after = boxes()
    moved = {n for n in after if abs(after[n]["x"] - before[n]["x"]) + abs(after[n]["y"] - before[n]["y"]) > 1}
    assert moved and moved <= {"relu", "sigmoid"}, moved
    assert not overlap(after["relu"], after["sigmoid"])


def test_row_21_snap_guides_distribute_frames_and_groups(notebook):
    hands = built(notebook, "row21more.ipynb", NET)
    view, page = hands.view, hands.page
    hands.press("Escape", "0")
    hands.settle()
    # A node that is dragged near the height of another snaps to it, and a guide is drawn; with Alt it is free.
    head, other = hands.node("z").locator(".head").bounding_box(), hands.node("y").bounding_box()
    grip = (head["x"] + 30, head["y"] + 8)
    offset = other["y"] - hands.node("z").bounding_box()["y"]
    drag_to(hands, grip, (grip[0] + 20, grip[1] + offset + 40), (grip[0] + 20, grip[1] + offset + 4))
    notebook.shot("builder-guides")
    assert view.evaluate("""root => {
        const canvas = root.querySelector('canvas.above');
        return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(v => v);
    }""")
    page.mouse.up()
    hands.settle()
    assert abs(hands.node("z").bounding_box()["y"] - hands.node("y").bounding_box()["y"]) < 0.6
    # Equal gaps for all, by the button of the form.
    go(hands, "z")
    hands.press("Alt+ArrowRight", "Alt+ArrowRight", "Alt+ArrowRight")
    hands.view.locator(".stage").focus()
    hands.press("Control+a")
    hands.click(view.get_by_role("button", name="Equal gaps, across"))
    hands.settle()
    boxes = sorted((hands.node(n).bounding_box() for n in "xyzs"), key=lambda b: b["x"])
    gaps = [b["x"] - a["x"] - a["width"] for a, b in zip(boxes, boxes[1:], strict=False)]
    assert max(gaps) - min(gaps) < 1.5, gaps
    # A group is aligned as any node; a frame is dragged with all its nodes.
    go(hands, "y")
    hands.press("Shift+ArrowDown", "g")
    hands.word("part")
    hands.press("Enter")
    wait_for_code(hands, "def part(")
    call = re.search(r"(\w+) = part\(", source_of(hands)).group(1)
    go(hands, call)
    hands.press("Alt+ArrowDown", "Alt+ArrowDown")
    hands.press("Control+a")
    hands.click(view.get_by_role("button", name="Align tops"))
    hands.settle()
    hands.press("0")
    hands.settle()
    tops = {round(hands.node(n).bounding_box()["y"]) for n in ("x", call, "s")}
    assert len(tops) == 1
    go(hands, call)
    hands.press("Shift+ArrowDown", "f")
    hands.word("both")
    hands.press("Enter")
    title = view.locator(".frame-title", has_text="both")
    title.wait_for(timeout=20_000)
    hands.settle()
    before = {n: corner(hands, n) for n in (call, "s", "x")}
    box = title.bounding_box()
    drag_to(hands, (box["x"] + 30, box["y"] + 8), (box["x"] + 47, box["y"] + 90), (box["x"] + 47, box["y"] + 118))
    page.mouse.up()
    hands.settle()
    after = {n: corner(hands, n) for n in before}
    shifts = {n: (round(after[n][0] - before[n][0]), round(after[n][1] - before[n][1])) for n in before}
    assert shifts["x"] == (0, 0) and shifts[call] == shifts["s"] and shifts["s"][1] > 60


def test_row_22_wires_are_bent_and_named_by_hand_and_by_keyboard_and_the_graph_stays(notebook):
    hands = built(notebook, "row22.ipynb", NET)
    view, page = hands.view, hands.page
    hands.press("Escape", "0")
    hands.settle()
    # By hand: the wire is dragged, then its bend.
    start = middle(hands, ("y", "[data-out='0'] svg"), ("z", "[data-in='x'] svg"))
    drag_to(hands, start, (start[0], start[1] + 90))
    page.mouse.up()
    first = wait_for_route(hands, "z>x", 1)
    assert "1 bend" in status(hands)
    bend = (start[0], start[1] + 90)
    drag_to(hands, bend, (bend[0] + 30, bend[1] + 50))
    page.mouse.up()
    page.wait_for_function(
        f"old => JSON.parse({CELLS}[1].metadata.tfnb.view)['z>x'][1] > old + 20", arg=first[1], timeout=20_000
    )
    assert len(routes(hands)["z>x"]) == 2
    # The bend moves with the nodes at both ends.
    before = routes(hands)["z>x"]
    go(hands, "y")
    hands.press("Shift+ArrowDown", "Alt+ArrowDown", "Alt+ArrowRight")
    page.wait_for_function(
        f"want => JSON.stringify(JSON.parse({CELLS}[1].metadata.tfnb.view)['z>x']) === JSON.stringify(want)",
        arg=[before[0] + 10, before[1] + 10],
        timeout=20_000,
    )
    # By keyboard: the wire of s from x as a named link, and back; a bend that the arrows move.
    go(hands, "s")
    hands.press("w")
    hands.word("named link y of")
    hands.take("A named link")
    wait_for_route(hands, "s>y", 0)
    assert status(hands).endswith("a named link")
    hands.settle()
    photographs(notebook, view, "builder-routes")
    hands.press("w")
    hands.word("curve")
    hands.take("One curve")
    wait_for_route(hands, "s>y", -1)
    hands.press("Alt+ArrowDown")
    one = wait_for_route(hands, "s>y", 1)
    hands.press("Alt+ArrowDown")
    page.wait_for_function(
        f"old => JSON.parse({CELLS}[1].metadata.tfnb.view)['s>y'][1] === old + 10", arg=one[1], timeout=20_000
    )
    # Two bends are aligned, and the form has what can be done with the wire.
    hands.press("w")
    hands.word("middle")
    hands.take("A bend in its middle")
    wait_for_route(hands, "s>y", 2)
    assert "Wire from x to y of s" in view.locator(".pane.form").text_content()
    hands.click(view.locator(".pane.form").get_by_role("button", name="Align tops"))
    page.wait_for_function(
        f"() => (r => r[1] === r[3])(JSON.parse({CELLS}[1].metadata.tfnb.view)['s>y'])", timeout=20_000
    )
    # q makes wires between selected nodes straight again; a double click takes a bend out; all is undone.
    view.locator(".stage").focus()
    hands.press("Control+a", "q")
    wait_for_route(hands, "z>x", -1)
    assert source_of(hands) == NET  # neither code nor graph has changed
    for _ in range(20):
        if not routes(hands) and view.get_by_role("button", name=re.compile("Undo")).is_disabled():
            break
        hands.view.locator(".stage").focus()
        hands.press("Control+z")
        hands.settle()
    assert not routes(hands)


def test_row_22_a_notebook_keeps_bends_and_links_for_the_next_kernel(notebook):
    hands = built(notebook, "row22kept.ipynb", NET)
    go(hands, "z")
    hands.press("w")
    hands.word("middle")
    hands.take("A bend in its middle")
    kept = wait_for_route(hands, "z>x", 1)
    go(hands, "s")
    hands.press("w")
    hands.word("named link y of")
    hands.take("A named link")
    wait_for_route(hands, "s>y", 0)
    notebook.page.wait_for_timeout(500)
    notebook.save("row22kept.ipynb")
    notebook.command("kernelmenu:shutdown")
    again = opened(notebook, "row22kept.ipynb")
    # Drawn as they were; the first change of a place tells the new kernel of them, in the same step of undo.
    go(again, "x")
    again.press("Alt+ArrowDown")
    again.settle()
    notebook.page.wait_for_timeout(300)
    assert routes(again) == {"z>x": kept, "s>y": []}
