"""JupyterLab's extension: files open with a double click, drawn by the notebook's widgets and without a kernel."""

import numpy as np
import pytest

import tfnb as tf

HOSTILE = "<img src=x onerror=hurt=1><script>hurt=1</script>[a](javascript:hurt=1)"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="hurt=1"></svg>'
PLUGINS = ("tfnb:documents", "tfnb:builder", "tfnb:commands", "tfnb:help", "tfnb:status")
# Folder and file, what is drawn in it, what it is called.
FILES = {
    "events": ("logs/fast", "tfevents", ".tfnb-card canvas", "summaries of runs"),
    "graph": ("logs", "model.pb", ".tfnb-graph-view canvas", "dataflow graph"),
    "trace": ("logs", "step.trace.json", ".tfnb-tl canvas", "timeline"),
}


@pytest.fixture(scope="module")
def logs(lab):
    """Two runs, graphs, a trace, and what is hostile or broken."""
    root = lab.root / "logs"
    for run, rate in (("fast", 20.0), ("slow", 60.0)):
        write_run(root / run, rate, range(0, 200, 2))
    graph, recording = trained()
    tf.train.write_graph(graph, str(root), "model.pbtxt")
    tf.train.write_graph(graph, str(root), "model.pb", as_text=False)
    tf.timeline(recording).save(root / "step.trace.json")
    hostile = lab.root / "hostile"
    with tf.summary.FileWriter(str(hostile / SVG.replace("/", ":"))) as writer:
        for step in range(5):
            summary = tf.Summary()
            summary.value.add(tag=HOSTILE, simple_value=step)
            writer.add_summary(summary, step)
    (hostile / "names.pbtxt").write_text(
        "".join(
            f'node {{ name: "{name}" op: "{name}" attr {{ key: "{name}" value {{ s: "{name}" }} }} }}\n'
            for name in (HOSTILE, SVG.replace('"', "'"), "plain")
        )
    )
    (hostile / "names.trace.json").write_text(tf.timeline(recording).chrome_trace().replace("MatMul", HOSTILE))
    (hostile / f"{HOSTILE.replace('/', ':')}.pb").write_bytes(b"\x00\x01no graph")
    return root


def write_run(folder, rate, steps):
    with tf.summary.FileWriter(str(folder)) as writer:
        for step in steps:
            summary = tf.Summary()
            for name, value in (("loss", np.exp(-step / rate)), ("accuracy", 1 - np.exp(-step / rate) / 2)):
                summary.value.add(tag=name, simple_value=float(value))
            writer.add_summary(summary, step)


def trained():
    """A small graph, and a recording of its steps."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 784], name="image")
        hidden = x
        for k, size in enumerate((64, 10)):
            with tf.name_scope(f"layer{k}"):
                shape = [hidden.get_shape().as_list()[1], size]
                w = tf.Variable(tf.truncated_normal(shape, stddev=0.1), name="w")
                hidden = tf.nn.relu(tf.matmul(hidden, w))
        y = tf.nn.softmax(hidden, name="y")
        init = tf.global_variables_initializer()
        with tf.Session() as sess:
            sess.run(init)
            sess.run(y, {x: np.ones((4, 784))})
            with tf.profile() as recording:
                for _ in range(5):
                    sess.run(y, {x: np.ones((4, 784))})
    return graph, recording


def open_folder(notebook, path):
    """JupyterLab with a folder of the served one in its file browser."""
    notebook.page.goto(f"{notebook.lab.url}/lab/tree/{path}?token=tests-only&reset")
    notebook.page.wait_for_selector(".jp-DirListing-item", timeout=60_000)


def double_click(notebook, name):
    notebook.page.locator(".jp-DirListing-item", has_text=name).first.dblclick(timeout=20_000)


@pytest.mark.parametrize("kind", list(FILES))
def test_a_double_click_opens_the_viewer(notebook, logs, kind):
    folder, name, drawn, label = FILES[kind]
    open_folder(notebook, folder)
    double_click(notebook, name)
    region = notebook.page.locator(".tfnb-served").first
    region.locator(drawn).first.wait_for(timeout=30_000)
    assert region.get_by_role("region", name=f"{label} of {folder}/").count() == 1
    assert region.locator(".tfnb-served-status").inner_text() == ""
    if kind == "graph":
        assert region.locator(drawn).first.bounding_box()["height"] > 400  # it fills the tab
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.wait_until_still(".tfnb-served")  # what draws on a canvas draws again
        notebook.shot(f"extension_{kind}_{theme.lower()}")


def test_names_and_texts_are_only_ever_text(notebook, logs):
    open_folder(notebook, "hostile")
    for name, drawn in (("names.pbtxt", ".tfnb-graph-view canvas"), ("names.trace.json", ".tfnb-tl canvas")):
        double_click(notebook, name)
        notebook.page.locator(f".tfnb-served:visible {drawn}").first.wait_for(timeout=30_000)
    assert HOSTILE in notebook.page.locator(".tfnb-served:visible .tfnb-tl").inner_text()
    double_click(notebook, ".pb")
    status = notebook.page.locator(".tfnb-served:visible .tfnb-served-status")
    status.get_by_text("cannot be shown: no GraphDef").wait_for(timeout=20_000)
    notebook.page.evaluate("void jupyterapp.commands.execute('tfnb:open-folder', {path: 'hostile'})")
    viewer = notebook.page.locator(".tfnb-served:visible .tfnb-viewer")
    viewer.locator("h4", has_text=HOSTILE).wait_for(timeout=30_000)
    assert SVG.replace("/", ":") in viewer.inner_text()
    assert notebook.page.evaluate("typeof hurt") == "undefined"
    ours = "a:not([data-tfnb-help])"  # the link to the help
    injected = notebook.page.locator(f".tfnb-served :is(img, svg[onload], script, {ours})")
    assert injected.count() == 0


def test_a_folder_of_runs_grows(notebook, logs):
    open_folder(notebook, "logs")
    notebook.page.locator(".jp-DirListing-item", has_text="slow").click(button="right")
    notebook.page.get_by_role("menuitem", name="tfnb: open log directory").click()
    viewer = notebook.page.locator(".tfnb-served:visible")
    viewer.locator(".tfnb-card canvas").first.wait_for(timeout=30_000)
    open_folder(notebook, "logs")
    notebook.command("tfnb:open-folder")  # without a chosen folder: the one that the file browser shows
    viewer.get_by_role("checkbox", name="fast", exact=True).wait_for(timeout=30_000)
    assert viewer.locator(".tfnb-card h4").all_inner_texts() == ["accuracy", "loss"]
    write_run(logs / "later", 40.0, range(0, 200, 2))
    viewer.get_by_role("checkbox", name="later", exact=True).wait_for(timeout=20_000)
    viewer.locator(".tfnb-chart[aria-label*='later']").nth(1).wait_for(timeout=30_000)  # its curves are drawn
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.wait_until_still(".tfnb-served")
        notebook.shot(f"extension_folder_{theme.lower()}")


def test_launcher_palette_and_status(notebook, logs):
    open_folder(notebook, "logs")
    plugins = notebook.page.evaluate("names => names.map(name => jupyterapp.hasPlugin(name))", list(PLUGINS))
    assert plugins == [True] * 5
    open_new_notebook(notebook)
    panel = open_panel(notebook)
    panel.get_by_text("This kernel has not imported tfnb.").wait_for(timeout=20_000)
    run_in_first_cell(notebook, "import tfnb as tf\nx = tf.ones([2])\nsess = tf.Session()")
    panel.locator("[aria-label='Open sessions'] li").wait_for(timeout=30_000)
    assert "device:CPU:0" in panel.locator("[aria-label='Devices']").inner_text()
    assert "graph: 1 operation" in panel.locator("[aria-label='Open sessions']").inner_text()
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.wait_until_still("#tfnb-status")
        notebook.shot(f"extension_status_{theme.lower()}")


def open_new_notebook(notebook):
    page = notebook.page
    notebook.command("launcher:create")
    cards = page.locator(".jp-LauncherCard:visible", has_text="tfnb")
    cards.first.wait_for(timeout=20_000)
    names = ["tfnb: graph builder", "tfnb: new notebook", "tfnb: open log directory", "tfnb: help"]
    assert cards.all_inner_texts() == names
    notebook.shot("extension_launcher")
    cards.nth(1).click()
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.get_by_text("import tfnb as tf").wait_for(timeout=20_000)
    notebook.wait_for_session()


def open_panel(notebook):
    notebook.page.locator("[data-id='tfnb-status']").click()
    return notebook.page.locator("#tfnb-status")


def run_in_first_cell(notebook, source):
    cell = "jupyterapp.shell.currentWidget.content.model.cells.get(0)"
    notebook.page.evaluate(f"source => {cell}.sharedModel.setSource(source)", source)
    notebook.run_all()


CACHE_NAME = HOSTILE + "'\"\\"
STEPS = f"""import tfnb as tf
from tfnb.caches import Cache
hostile = Cache({CACHE_NAME!r}, 2)
hostile.put(1, 2)
x = tf.placeholder(tf.float32, [None])
y = tf.sqrt(x) + 1.0
sess = tf.Session()
sess.run(y, {{x: [4.0, 4.0]}})"""
# What the panel says of each cache, by its name: lines of entries, and of hits, misses and seconds; times as N.
CACHES = """items => Object.fromEntries(items.map(item => [item.childNodes[1].textContent,
    [...item.querySelectorAll('small')].map(line => line.textContent.replace(/[0-9.]+ s$/, 'N s'))]))"""


def test_caches_are_shown_and_cleared(notebook, logs):
    open_folder(notebook, "logs")
    open_new_notebook(notebook)
    panel = open_panel(notebook)
    run_in_first_cell(notebook, STEPS)
    items = panel.get_by_role("list", name="Caches").get_by_role("listitem")
    items.first.wait_for(timeout=30_000)
    shown = items.evaluate_all(CACHES)
    assert shown[CACHE_NAME] == ["1 of 2 entries", "0 hits, 1 miss, N s"]
    assert shown["compiled steps"] == ["1 of 512 entries", "0 hits, 1 miss, N s"]
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.wait_until_still("#tfnb-status")
        notebook.shot(f"extension_caches_{theme.lower()}")

    items.filter(has_text="<img").get_by_role("button").click()
    panel.get_by_text("Cleared: ").wait_for(timeout=20_000)
    left = items.evaluate_all(CACHES)
    assert left[CACHE_NAME] == ["0 of 2 entries", "0 hits, 1 miss, N s"]
    assert left["compiled steps"] == shown["compiled steps"]
    assert notebook.page.evaluate("document.activeElement.getAttribute('aria-label')") == f"clear {CACHE_NAME}"

    panel.get_by_role("button", name="clear all caches of this kernel").press("Enter")
    panel.get_by_text("All caches are cleared.").wait_for(timeout=20_000)
    assert items.evaluate_all(CACHES)["compiled steps"][0] == "0 of 512 entries"
    run_in_first_cell(notebook, "print(sess.run(y, {x: [4.0]}))")
    panel.get_by_text("Untitled").wait_for(timeout=20_000)
    assert notebook.text() == "[3.]\n"
    assert items.evaluate_all(CACHES)["compiled steps"] == ["1 of 512 entries", "0 hits, 2 misses, N s"]
    assert notebook.page.evaluate("typeof hurt") == "undefined" and panel.locator("img, script").count() == 0
