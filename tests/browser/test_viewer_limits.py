"""The viewer under much data and under loss: a million points, 1,000 runs, 10,000 tags; a reloaded page, a lost kernel."""

import struct

import numpy as np
import pytest

import tfnb as tf
from tfnb.summary.records import frame

RUNS, OWN_TAGS, STEPS = 1_000, 10, 500


def write_much(root):
    """1,000 runs of 500 steps of two scalars; each run has ten tags of its own besides."""
    values = np.random.default_rng(0).random((STEPS, 2)).astype("<f4")
    record = tf.Event(
        wall_time=1.0,
        step=1,
        summary=tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=1.0) for t in ("loss", "accuracy")]),
    ).SerializeToString()
    places = [i for i in range(len(record)) if record[i : i + 4] == struct.pack("<f", 1.0)][-2:]
    events = []
    for step in range(STEPS):
        event = tf.Event.FromString(record)
        event.step, event.wall_time = step, 1.7e9 + step
        for value, number in zip(event.summary.value, values[step], strict=True):
            value.simple_value = number
        events.append(frame(event.SerializeToString()))
    assert len(places) == 2
    shared = b"".join(events)
    for r in range(RUNS):
        own = [tf.Summary.Value(tag=f"own/{r:04}/{k}", simple_value=float(k)) for k in range(OWN_TAGS)]
        event = tf.Event(wall_time=1.7e9, step=1, summary=tf.Summary(value=own))
        folder = root / f"run{r:04}"
        folder.mkdir(parents=True)
        (folder / "events.out.tfevents.1.host").write_bytes(shared + frame(event.SerializeToString()))


# How often the page came to answer since it was watched.
WATCH = """() => {
    window.answers = 0;
    const tick = () => {
        window.answers += 1;
        setTimeout(tick, 10);
    };
    tick();
}"""
DRAWN = (
    """() => [...document.querySelectorAll('.tfnb-chart')].filter(c => (c.ariaLabel ?? '').includes('newest')).length"""
)
TELLS = """() => [...document.querySelectorAll('.tfnb-note')].map(e => e.textContent).join('|')"""


def test_a_million_points_of_a_thousand_runs(notebook):
    page = notebook.page
    write_much(notebook.lab.root / "much")
    notebook.lab.write("much.ipynb", ["import tfnb as tf, numpy\nview = tf.view('much')", "view"])
    notebook.open("much.ipynb")
    notebook.command("notebook:run-cell-and-select-next")
    page.wait_for_function(f"() => ({DRAWN})() >= 2", timeout=60_000)
    told = page.evaluate(TELLS)
    assert "40 of 1,000 runs shown; the first 300 of 1,000 listed" in told
    assert "1–12 of 10,002" in told
    assert "of 20,000 points drawn (downsampled, extremes kept)" in told  # 40 curves of 500
    page.get_by_label("filter tags by regex").fill("own/0007")
    page.wait_for_function("() => document.querySelectorAll('.tfnb-card').length === 10")
    page.get_by_label("filter runs by regex").fill("run099")
    page.wait_for_function("() => document.querySelectorAll('.tfnb-runs label').length === 10")
    page.get_by_label("filter tags by regex").fill("^(loss|accuracy)$")
    page.wait_for_function("() => document.querySelectorAll('.tfnb-card').length === 2")
    page.get_by_label("filter runs by regex").fill("")
    page.evaluate(WATCH)
    page.get_by_role("button", name="all", exact=True).click()
    page.wait_for_function(f"() => ({TELLS})().includes('1,000 of 1,000 runs shown')")
    page.wait_for_function(f"() => ({TELLS})().includes('of 500,000 points drawn')", timeout=60_000)
    notebook.shot("viewer-much")
    assert page.evaluate("() => window.answers") >= 10  # the page drew in parts, between which it answered
    assert notebook.errors() == []


LIVE = """
import math, tfnb as tf
writers = {n: tf.summary.FileWriter("kept/" + n, flush_secs=1) for n in ("a", "b")}
def log(steps):
    for step in steps:
        for k, writer in enumerate(writers.values()):
            value = tf.Summary.Value(tag="loss", simple_value=math.exp(-step / 50) + k)
            writer.add_summary(tf.Summary(value=[value]), step)
    for writer in writers.values():
        writer.flush()
log(range(200))
view = tf.view(writers)
"""
GRAPH = """
x = tf.placeholder(tf.float32, name="x")
with tf.name_scope("inner"):
    y = tf.multiply(x, 2.0, name="product")
tf.get_default_graph()
"""
NEWEST = """() => [...document.querySelectorAll('.tfnb-chart')].map(c => c.ariaLabel ?? '')"""
EXECUTE = """code => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
    .requestExecute({code})"""


def wait_newest(page, pattern):
    page.wait_for_function(
        f"pattern => ({NEWEST})().some(t => new RegExp(pattern).test(t))", arg=pattern, timeout=40_000
    )


def open_again(notebook):
    from tests.browser.conftest import SESSION_READY

    notebook.page.reload()
    notebook.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    notebook.page.wait_for_function(SESSION_READY, timeout=60_000)


@pytest.mark.own_page("the page is loaded again")
def test_reload_and_two_viewers_and_a_lost_kernel(notebook):
    page = notebook.page
    notebook.lab.write("kept.ipynb", [LIVE, GRAPH])
    notebook.open("kept.ipynb")
    notebook.run_all()
    wait_newest(page, "b: 1\\.0")
    page.get_by_label("filter tags by regex").fill("lo.s")
    page.get_by_label("filter runs by regex").fill("[ab]")
    page.get_by_label("log scale").check()
    page.locator(".tfnb-side input[type=range]").fill("0.9")
    graph = page.locator(".tfnb-graph-view")
    graph.locator("input").fill("product")
    graph.locator("input").press("Enter")
    graph.locator(".card h3", has_text="inner/product").wait_for()
    page.wait_for_timeout(500)  # the page keeps what was chosen when nothing more is chosen
    notebook.save("kept.ipynb")
    open_again(notebook)  # the kernel lives: so do the views again, as they were
    wait_newest(page, "b: 1\\.0")
    assert page.get_by_label("filter tags by regex").input_value() == "lo.s"
    assert page.get_by_label("filter runs by regex").input_value() == "[ab]"
    assert page.get_by_label("log scale").is_checked()
    assert page.locator(".tfnb-side output").text_content() == "0.90"
    graph.locator(".card h3", has_text="inner/product").wait_for()
    page.get_by_label("filter runs by regex").fill("")
    page.evaluate(EXECUTE, "log(range(200, 400))")
    wait_newest(page, "b: 1\\.000[34]")
    # Another viewer, on the folder that the first one's writers fill.
    page.evaluate(EXECUTE, "log(range(400, 402))")
    notebook.lab.write("second.ipynb", ["import tfnb as tf\nsecond = tf.view('kept')"])
    other = type(notebook)(page.context.new_page(), notebook.lab)
    other.watch()
    other.open("second.ipynb")
    other.run_all()
    wait_newest(other.page, "b: 1\\.000[34]")
    page.evaluate(EXECUTE, "log(range(402, 1000))")
    wait_newest(other.page, "b: 1$")
    wait_newest(page, "b: 1$")
    assert other.complaints == []
    other.command("kernelmenu:shutdown")
    other.page.close()
    # The kernel goes: the viewer says so and keeps what it shows.
    page.evaluate("() => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_function("() => document.querySelector('.tfnb-status').textContent.includes('kernel has ended')")
    wait_newest(page, "b: 1$")
    page.get_by_label("log scale").check()  # what needs no kernel still works
    open_again(notebook)  # no kernel that knows it: the saved picture is shown, in words and lines
    page.locator(".tfnb-view-picture svg").first.wait_for(timeout=20_000)
    assert "run the cell" in page.locator(".tfnb-view-picture").inner_text()
    assert page.get_by_text("Error displaying widget").count() == 0
    notebook.shot("viewer-picture")
