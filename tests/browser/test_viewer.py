"""The viewer in a real notebook: live while a training runs, light and dark, hostile names, saved pictures."""

import json

SETUP = """
import numpy as np, os, time, tfnb as tf
tf.Session().close()
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [link](javascript:window.hacked=1)'

writers = {n: tf.summary.FileWriter(f"viewer-logs/{n}", flush_secs=1) for n in ("plain", "momentum", EVIL.replace("/", "|"))}
rng = np.random.default_rng(0)

def log(writer, step, **values):
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=v) for t, v in values.items()]), step)

def rich(writer, step):
    s = tf.Summary()
    s.value.add(tag=f"text/{EVIL}").tensor.CopyFrom(
        tf.contrib.util.make_tensor_proto(f"**step {step}** {EVIL}".encode()))
    s.value[0].metadata.plugin_data.plugin_name = "text"
    writer.add_summary(s, step)

def train():
    with tf.Graph().as_default(), tf.Session() as sess:
        numbers = tf.placeholder(tf.float32, [None])
        pixels = tf.placeholder(tf.float32, [1, 28, 28, 1])
        wave = tf.sin(tf.linspace(0.0, 880.0, 4000))[None, :]
        merged = tf.summary.merge([
            tf.summary.histogram("layer1/weights", numbers), tf.summary.image("digit", pixels),
            tf.summary.audio("tone", wave, 4000.0), tf.summary.tensor_summary("first", numbers[:6])])
        w = tf.Variable(tf.zeros([784, 10]), name="softmax/weights")
        writers["plain"].add_graph(sess.graph)
        time.sleep(1)  # parameters are there before the first curve
        for step in range(260):
            for k, (name, writer) in enumerate(writers.items()):
                noise = rng.normal() * 0.05
                log(writer, step, **{"train/loss": np.exp(-step / (60 + 30 * k)) + 0.2 + noise,
                                     "train/accuracy": 1 - np.exp(-step / (50 + 30 * k)) * 0.9 + noise / 4,
                                     "rate": 0.1 * 0.5 ** (step // 80)})
            if step % 20 == 0:
                feed = {numbers: rng.normal(step / 100, 1 + step / 300, 500), pixels: rng.random((1, 28, 28, 1))}
                writers["plain"].add_summary(sess.run(merged, feed), step)
                rich(writers["plain"], step)
            end = time.time() + 60
            while step == 40 and not os.path.exists("charts-seen") and time.time() < end:
                time.sleep(0.02)
            time.sleep(0.012)
"""
TRAINING = "view = tf.view(writers)\ntrain()"
# What each chart says of itself: its newest values.
CURVES = """() => [...document.querySelectorAll('.tfnb-chart')].map(p => p.ariaLabel ?? '')"""


def tab(notebook, name):
    notebook.page.get_by_role("tab", name=name).click()


def test_a_training_is_seen_live(notebook):
    page = notebook.page
    notebook.lab.write("viewer.ipynb", [SETUP, TRAINING])
    notebook.open("viewer.ipynb")
    notebook.command("notebook:run-all-cells")
    page.wait_for_selector(".tfnb-viewer", timeout=60_000)
    page.locator(".tfnb-viewer").evaluate("el => el.scrollIntoView()")
    notebook.wait_for_charts(3, ".tfnb-viewer")
    first = page.evaluate(CURVES)
    running = page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[*]").count()
    assert running == 1, "charts came only when the training was over"
    (notebook.lab.root / "charts-seen").touch()  # for which the training waits
    page.wait_for_function(f"told => JSON.stringify(({CURVES})()) !== told", arg=_json(first))
    notebook.shot("viewer-live")
    notebook.wait_until_run()
    assert notebook.errors() == []
    notebook.show(".tfnb-viewer")
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        notebook.wait_until_still(".tfnb-viewer")
        notebook.shot(f"viewer-scalars-{theme.lower()}")
    _compare(notebook)
    for name, selector in (
        ("Distributions", "canvas"),
        ("Images", "img"),
        ("Audio", "audio"),
        ("Text", "pre"),
        ("Tensors", "pre"),
        ("Parameters", "table"),
    ):
        tab(notebook, name)
        page.locator(f".tfnb-main {selector}").first.wait_for(timeout=20_000)
        notebook.wait_until_still(".tfnb-viewer")
        notebook.shot(f"viewer-{name.lower()}-dark")
        if name == "Distributions":
            for form in ("ridges", "overlay"):
                page.get_by_label("shown as").select_option(form)
                notebook.wait_until_still(".tfnb-viewer")
                notebook.shot(f"viewer-{form}-dark")
    assert page.evaluate("() => window.hacked") is None
    assert page.locator(".tfnb-viewer :is(script, a:not([data-tfnb-help]))").count() == 0
    _saved(notebook)


def _json(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _compare(notebook):
    page = notebook.page
    chart = page.locator(".tfnb-chart").first
    chart.hover()
    page.locator(".tfnb-values tr").first.wait_for()
    notebook.shot("viewer-cursor-dark")
    page.get_by_label("mean ± std over runs").check()
    page.get_by_label("ignore outliers").check()
    page.get_by_label("log scale").check()
    notebook.wait_until_still(".tfnb-viewer")
    notebook.shot("viewer-band-dark")
    page.get_by_label("mean ± std over runs").uncheck()
    page.get_by_label("difference to").select_option("plain")
    page.locator(".tfnb-card .tfnb-note", has_text="difference to plain").first.wait_for(timeout=20_000)
    page.get_by_label("difference to").select_option("")
    # Keys stay in the viewer: none of these reaches the notebook.
    cells = page.locator(".jp-Cell").count()
    chart.focus()
    for key in ("ArrowRight", "a", "b", "d", "d"):
        page.keyboard.press(key)
    assert page.locator(".jp-Cell").count() == cells
    # The cursor leaves the charts at the press; nothing may move away from under the mouse before its release.
    with page.expect_download() as saved:
        page.get_by_role("button", name="save the points as CSV: train/loss").click(delay=400)
    assert saved.value.path().read_text().startswith("run,tag,step,wall_time,value\n")
    with page.expect_download() as saved:
        page.get_by_role("button", name="save the chart as SVG: train/loss").click()
    assert "<svg" in saved.value.path().read_text()


def _saved(notebook):
    saved = notebook.save("viewer.ipynb")
    html = "".join(o.get("data", {}).get("text/html", "") for o in saved.cells[1].outputs if "data" in o)
    assert "<svg" in html and "train/loss" in html
    assert html.count("<script") == 1 and "<script>globalThis.tfnbViews?.[" in html and "<img" not in html
    assert (notebook.lab.root / "viewer.ipynb").stat().st_size < 150_000
