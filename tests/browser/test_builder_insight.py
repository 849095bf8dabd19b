"""What a run was made of, in a real JupyterLab: the compiler, times, variants, devices, probes, and the lessons."""

import re

from builder_hands import built, go, opened, photographs, source_of, status, wait_for_code

NET = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 64])
h = tf.layers.dense(x, 32, activation=tf.nn.relu)
y = tf.exp(h) * 2.0
total = tf.reduce_sum(y)
train = tf.train.GradientDescentOptimizer(0.001).minimize(total)
"""
TRAINED = """import tfnb as tf

x = tf.placeholder(tf.float32, [None, 64])
h = tf.layers.dense(x, 32, activation=tf.tanh)
y = tf.layers.dense(h, 1)
total = tf.reduce_mean(tf.square(y - tf.reduce_sum(x, 1, keepdims=True)))
train = tf.train.GradientDescentOptimizer(0.01).minimize(total)
"""
FIRST = "import numpy as np\nimport tfnb as tf"
# Notes the curves that are painted, in pixels of the page.
RECORD = """() => {
  const pen = CanvasRenderingContext2D.prototype, { moveTo, bezierCurveTo } = pen;
  window.tfnbCurves = [];
  let from;
  pen.moveTo = function (x, y) { from = [x, y]; return moveTo.call(this, x, y); };
  pen.bezierCurveTo = function (...p) {
    const matrix = this.getTransform(), box = this.canvas.getBoundingClientRect(), dots = this.canvas.width / box.width;
    const on = (x, y) => {
      const at = matrix.transformPoint({ x, y });
      return [box.x + at.x / dots, box.y + at.y / dots];
    };
    window.tfnbCurves.push([on(...from), on(p[0], p[1]), on(p[2], p[3]), on(p[4], p[5])]);
    return bezierCurveTo.call(this, ...p);
  };
}"""
# The middle of the wire that was painted last from the right of one box to the left of another: curves that go on where
# the one before ends.
MIDDLE = """([a, b]) => {
  const near = (x, y) => Math.abs(x - y) < 14;
  const within = (y, box) => y > box.y && y < box.y + box.height;
  const curves = window.tfnbCurves;
  for (let last = curves.length - 1; last >= 0; last--) {
    const end = curves[last][3];
    if (!near(end[0], b.x) || !within(end[1], b)) continue;
    let first = last;
    while (first > 0 && Math.hypot(curves[first][0][0] - curves[first - 1][3][0],
                                   curves[first][0][1] - curves[first - 1][3][1]) < 0.5) first--;
    const start = curves[first][0];
    if (!near(start[0], a.x + a.width) || !within(start[1], a)) continue;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${start} ` + curves.slice(first, last + 1).map(([, ...p]) => `C${p.join(" ")}`).join(" "));
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    return [middle.x, middle.y];
  }
  throw new Error("no such wire was painted");
}"""


def give(hands, text):
    """Gives the value for which the builder asks."""
    hands.view.get_by_role("combobox", name="Value of x, in Python").wait_for(timeout=20_000)
    hands.word(text)
    hands.press("Enter")


def focused(hands, selector):
    return hands.view.locator(selector).first.evaluate("e => e === document.activeElement")


def test_the_compiler_s_stages_and_opencl_are_one_click_away(notebook):
    hands = built(notebook, "compiler.ipynb", NET, FIRST)
    view, page = hands.view, hands.page
    go(hands, "total")
    hands.command("Compiler")
    give(hands, "np.ones([8, 64])")
    dock = view.get_by_role("region", name="Compiled for a run to total")
    dock.wait_for(timeout=60_000)
    assert focused(hands, ".dock select")  # before the theme of the page changes
    opencl = dock.get_by_role("region", name=re.compile("OpenCL 1 of")).first
    assert "kernel void" in opencl.text_content()
    photographs(notebook, view, "builder-opencl")
    # The nodes of a cluster are links; stages are chosen by keyboard.
    links = {b.text_content() for b in dock.get_by_role("button", name=re.compile("go to")).all()}
    assert links >= {"h", "y", "total"}
    dock.get_by_role("combobox").focus()
    stages = dock.get_by_role("combobox").locator("option").all_text_contents()
    assert len(stages) > 8 and stages[1].startswith("1. ")
    page.keyboard.press("ArrowDown")
    dock.locator(".graph-host[data-ready]:not([data-ready=''])").wait_for(timeout=20_000)
    assert dock.locator("canvas.drawing").is_visible() and not opencl.is_visible()
    photographs(notebook, view, "builder-stage")
    page.keyboard.press("Escape")
    dock.wait_for(state="hidden")
    assert focused(hands, ".stage")
    assert source_of(hands) == NET


def test_the_times_of_a_run_are_laid_on_the_nodes(notebook):
    hands = built(notebook, "times.ipynb", NET, FIRST)
    view = hands.view
    go(hands, "train")
    hands.press("Shift+R")
    give(hands, "np.ones([8, 64])")
    dock = view.get_by_role("region", name="Times of a run to train")
    dock.wait_for(timeout=60_000)
    rows = dock.get_by_role("row")
    names = [r.get_by_role("rowheader").text_content() for r in rows.all()[1:]]
    assert {"h", "train"} <= set(names)
    for row in rows.all()[1:]:
        assert re.search(r"[\d.]+ (µs|ms|s)", row.text_content())
    hands.settle()
    marks = view.locator(".mark")
    assert marks.count() == len(names)
    at, node = view.locator(".mark").first.bounding_box(), hands.node(names[0]).bounding_box()
    assert abs(at["x"] - node["x"]) < 2 and 0 < node["y"] - at["y"] < 40
    photographs(notebook, view, "builder-times")
    # A row leads to its node; an edit makes the times old.
    dock.get_by_role("button", name="go to h").focus()
    hands.press("Enter")
    assert status(hands).startswith("h, tf.layers.dense")
    hands.press("Delete")
    dock.wait_for(state="hidden")
    assert marks.count() == 0


def test_row_20_a_variant_is_made_changed_and_compared(notebook):
    hands = built(notebook, "variant.ipynb", NET, FIRST)
    view = hands.view
    go(hands, "h")
    hands.press("Shift+ArrowDown", "Shift+ArrowDown", "v")
    wait_for_code(hands, "total_b = tf.reduce_sum(y_b)")
    hands.press("Shift+V")
    give(hands, "np.ones([8, 64])")
    dock = view.get_by_role("region", name="Variants A and B")
    dock.wait_for(timeout=60_000)
    assert "Nothing differs. The same in both: h, y, total." in dock.text_content()
    hands.press("Escape")
    dock.wait_for(state="hidden")
    go(hands, "y_b")
    hands.press("Enter")
    hands.field("y", "3.0")
    hands.press("Escape", "Shift+V")
    dock.get_by_role("table").wait_for(timeout=60_000)
    assert "2 of 3 nodes differ, first y. The same in both: h." in dock.text_content()
    hands.settle()
    hands.press("0")
    hands.settle()
    assert view.locator(".mark.cause").count() == 2 and view.locator(".mark.same").count() == 1
    photographs(notebook, view, "builder-variants")


def test_devices_are_lanes_to_which_nodes_are_dragged(notebook):
    hands = built(notebook, "devices.ipynb", NET, FIRST)
    view, page = hands.view, hands.page
    go(hands, "y")
    view.locator(".pane.form").get_by_role("button", name="Devices as lanes").click()
    dock = view.get_by_role("region", name="Devices")
    lanes = dock.locator(".lane")
    lanes.nth(1).wait_for(timeout=60_000)
    assert lanes.count() >= 2 and lanes.nth(0).get_attribute("data-device") == ""
    device = lanes.nth(1).get_attribute("data-device")
    hands.press("0")
    hands.settle()
    # By mouse: y falls onto the lane, and stays where it was on the canvas.
    stage = view.locator(".stage")  # the cell above grows by a line
    before, top = hands.node("y").bounding_box(), stage.bounding_box()["y"]
    head, lane = hands.node("y").locator(".head").bounding_box(), lanes.nth(1).bounding_box()
    page.mouse.move(head["x"] + 20, head["y"] + 8)
    page.mouse.down()
    page.mouse.move(lane["x"] + 420, lane["y"] + 10, steps=6)
    page.mouse.move(lane["x"] + 420, lane["y"] + lane["height"] / 2, steps=2)
    assert lanes.nth(1).evaluate("e => e.classList.contains('target')")
    page.mouse.up()
    wait_for_code(hands, f"with tf.device('{device}'):\n    y = tf.exp(h) * 2.0")
    lanes.nth(1).get_by_role("button", name="go to y").wait_for(timeout=20_000)
    hands.settle()
    after = hands.node("y").bounding_box()
    down = after["y"] - before["y"] - (stage.bounding_box()["y"] - top)
    assert abs(after["x"] - before["x"]) < 3 and abs(down) < 3
    photographs(notebook, view, "builder-devices")
    # By keyboard: total is placed by the lane's button, and y is freed.
    go(hands, "total")
    lanes.nth(1).get_by_role("button", name="Place the selection here").focus()
    hands.press("Enter")
    lanes.nth(1).get_by_role("button", name="go to total").wait_for(timeout=20_000)
    go(hands, "y")
    lanes.nth(0).get_by_role("button", name="Free the selection").focus()
    hands.press("Enter")
    lanes.nth(0).get_by_role("button", name="go to y").wait_for(timeout=20_000)
    assert "y = tf.exp(h) * 2.0\n" in source_of(hands).splitlines(keepends=True)


def test_row_25_a_lesson_is_begun_from_python_hinted_and_solved_by_keyboard(notebook):
    notebook.lab.write("lesson.ipynb", ["import tfnb as tf", "tf.builder(lesson='sum')"])
    hands = opened(notebook, "lesson.ipynb")
    view, page = hands.view, hands.page
    pane = view.get_by_role("tabpanel", name="Lesson")
    pane.get_by_text("Add them, and call the result y.").wait_for(timeout=20_000)
    pane.get_by_role("button", name="Check").focus()
    hands.press("Enter")
    pane.get_by_text("Press /, type add").wait_for(timeout=60_000)
    assert "Press /, type add" in status(hands)
    photographs(notebook, view, "builder-lesson-hint")
    go(hands, "a")
    hands.press("/")
    hands.word("add")
    hands.take("tf.add")
    hands.see("add")
    hands.press("Shift+C")
    hands.take("y")
    hands.word("b")
    hands.take("b")
    hands.see("add", "float32 3")
    hands.press("F2")
    hands.word("y")
    hands.press("Enter")
    hands.see("y")
    pane.get_by_role("button", name="Check").focus()
    hands.press("Enter")
    pane.locator(".hint.done").wait_for(timeout=60_000)
    assert status(hands).startswith("done: ")
    photographs(notebook, view, "builder-lesson-done")
    pane.get_by_role("button", name="Next: A linear map").focus()
    hands.press("Enter")
    hands.see("w")
    pane.get_by_text("Compute y = x w + b.").wait_for(timeout=20_000)
    pane.get_by_role("button", name="All lessons").click()
    assert pane.locator(".lesson-choice").count() == 6
    assert pane.locator(".lesson-choice").first.locator("b").text_content() == "1. A sum ✓"
    # What was there comes back.
    view.locator(".stage").focus()
    page.keyboard.press("Control+z")
    hands.see("y")


def test_row_18_probes_show_values_while_a_training_runs(notebook):
    hands = built(notebook, "probes.ipynb", TRAINED, FIRST)
    view = hands.view
    for name in ("h", "total"):
        go(hands, name)
        hands.press("p")
        assert status(hands) == f"probe of {name}: values come with a training"
    go(hands, "train")
    hands.press("t")
    hands.word("3000")
    hands.take("3000 steps")
    give(hands, "np.random.rand(32, 64)")
    for name in ("h", "total"):
        probe = view.locator(f"[data-probe='{name} 0']")
        probe.locator("svg, img").first.wait_for(timeout=60_000)
        assert re.match(rf"probe of {name}, step \d+: ", probe.evaluate("e => e.ariaLabel"))
    hands.node("total").get_by_text(re.compile("done|stopped")).wait_for(timeout=120_000)
    view.locator(".probe svg").first.wait_for()
    # At the middle of the wire from h to y as it is painted, wherever it turns.
    hands.page.evaluate(RECORD)
    hands.press("-", "0")
    hands.settle()
    probe = view.locator("[data-probe='h 0']").bounding_box()
    x, y = hands.page.evaluate(MIDDLE, [hands.node("h").bounding_box(), hands.node("y").bounding_box()])
    assert abs(probe["x"] + probe["width"] / 2 - x) < 2 and probe["y"] > y - 2
    photographs(notebook, view, "builder-probes")
    go(hands, "h")
    hands.press("p")
    assert view.locator(".probe").count() == 1
