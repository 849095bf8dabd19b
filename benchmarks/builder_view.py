"""The graph builder in a real JupyterLab: dragging 100 of 300 nodes, answers of the kernel, a graph of 39,551 nodes.

    python -m benchmarks.builder_view [--nodes 300] [--large FILE.pb] [--chromium PATH]

Limits: 60 frames/s while 100 selected nodes are dragged among 300 near ones; 100 ms from a gesture to the kernel's
answer in the 95th percentile; a module of 350 kB; with `--large`, 3 s from running the cell until the scopes of a
graph file are drawn and an operation in one of them is used on the canvas, and then 50 frames/s where the scopes are
moved in, and where that operation is dragged.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.builder_document import ROW, grid
from tests.browser import conftest as browser
from tfnb.notebook.assets import widget_module

FIGURES = Path(__file__).parent / "builder_figures.js"
VIEW = ".tfnb-builder"
WINDOW = {"width": 1720, "height": 1080}
STYLE = ".tfnb-builder { height: 900px !important; }"


def grid_source(nodes: int) -> str:
    """A cell that shows a builder of so many nodes, each reading its left or its upper neighbour, on a grid."""
    places = {f"n{k}": [150 * (k % ROW), 64 * (k // ROW)] for k in range(nodes)}
    move = {"type": "gesture", "gesture": 0, "edits": [{"edit": "move", "positions": places}]}
    return "\n".join(
        [
            f"b = tf.builder({grid(nodes)!r})",
            f"b.answer({move!r})",
            "b",
        ]
    )


def opened(context: Any, lab: browser.Lab, name: str, cell: str) -> tuple[browser.Notebook, float]:
    """The notebook once its cell is drawn, and when that was run; the cell before it imports the library."""
    lab.write(name, ["import tfnb as tf", cell])
    page = context.new_page()
    notebook = browser.Notebook(page, lab)
    notebook.open(name)
    page.add_style_tag(content=STYLE)
    page.add_script_tag(path=FIGURES)
    notebook.run_all_but_the_last()
    page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    begin = time.perf_counter()
    notebook.command("notebook:run-cell")
    page.wait_for_function(f"() => Number(document.querySelector('{VIEW} .stage')?.dataset.nodes) > 0", timeout=120_000)
    return notebook, begin


def costs(session: Any) -> dict[str, float]:
    """Seconds that the page's thread has spent so far, by what it did."""
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return {name: found[f"{name}Duration"] for name in ("Script", "RecalcStyle", "Layout", "Task")}


def near(context: Any, lab: browser.Lab, nodes: int) -> None:
    notebook, _ = opened(context, lab, "near.ipynb", grid_source(nodes))
    page = notebook.page
    page.locator(VIEW).scroll_into_view_if_needed()
    page.evaluate("() => builderFigures.settled()")
    page.evaluate("() => builderFigures.far()")
    page.evaluate("() => builderFigures.drag(100)")
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    before = costs(session)
    found = page.evaluate("() => builderFigures.drag(100)")
    spent = {name: cost - before[name] for name, cost in costs(session).items()}
    print(
        f"drag {found['selected']} of {found['nodes']} nodes, {found['near']} near: {found['rate']:.1f} frames/s "
        f"(at least 60), the longest frame {found['longest']:.0f} ms, late ones of {found['frames']}: {found['late']}"
    )
    frames = found["frames"]
    each = ", ".join(f"{name} {1000 * cost / frames:.1f} ms" for name, cost in spent.items())
    print(f"  of each frame: {each}")
    pan = page.evaluate("() => builderFigures.pan()")
    print(f"pan: {pan['rate']:.1f} frames/s, late ones of {pan['frames']}: {pan['late']}")
    answers = page.evaluate("() => builderFigures.answers(100)")
    times = sorted(took for _, took in answers)
    print(
        f"from a gesture to its answer at {nodes} nodes: median {statistics.median(times):.0f} ms, "
        f"95th percentile {times[int(0.95 * len(times))]:.0f} ms (at most 100), longest {times[-1]:.0f} ms"
    )
    for which in dict.fromkeys(key for key, _ in answers):
        median = statistics.median(took for key, took in answers if key == which)
        print(f"  {which}: {median:.0f} ms")


def large(context: Any, lab: browser.Lab, file: Path) -> None:
    """Opens a file, whose block opens to its scopes by itself, uses an operation of a scope, drags its node, and moves
    in the scopes.
    """
    notebook, begin = opened(context, lab, "large.ipynb", f"tf.builder({str(file.resolve())!r})")
    took = time.perf_counter() - begin
    page, view = notebook.page, notebook.page.locator(VIEW)
    view.locator(".graph-host[data-ready=true]").wait_for(timeout=120_000)
    print(f"{file.name}: drawn after {took:.2f} s, its scopes after {time.perf_counter() - begin:.2f} s")
    page.keyboard.press("/")
    page.keyboard.type("Relu")
    page.keyboard.press("Enter")
    view.get_by_role("button", name="Use on the canvas").click()
    page.wait_for_function(f"() => Number(document.querySelector('{VIEW} .stage').dataset.nodes) > 2", timeout=60_000)
    print(f"an operation of a scope is on the canvas after {time.perf_counter() - begin:.2f} s (at most 3)")
    found = page.evaluate("() => builderFigures.drag(3)")
    print(f"drag in it: {found['rate']:.0f} frames/s (at least 50), {found['near']} near")
    view.locator(".node[data-node^='line:'] .head").click()
    page.keyboard.press("o")
    view.locator(".graph-host[data-ready=true]").wait_for(timeout=120_000)
    scopes = page.evaluate("() => builderFigures.panInside()")
    print(f"moving in its scopes: {scopes['rate']:.0f} frames/s (at least 50)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--chromium", default=os.environ.get("TFNB_CHROMIUM", "/usr/bin/chromium"))
    args = parser.parse_args()
    print(f"the module: {len(widget_module('builder').encode()) / 1000:.0f} kB (at most 350)")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, config = Path(folder) / "root", Path(folder) / "config"
        root.mkdir()
        config.mkdir()
        port = browser.servers.free_port()
        lab = browser.Lab(f"http://127.0.0.1:{port}", root)
        process = browser.start_server(root, config, port)
        try:
            browser.servers.wait_for(f"{lab.url}/{browser.servers.STATUS}", process, config / "lab.log")
            launched = playwright.chromium.launch(executable_path=args.chromium, args=list(browser.FLAGS))
            context = launched.new_context(viewport=WINDOW)
            if args.large is None:
                near(context, lab, args.nodes)
            else:
                large(context, lab, args.large)
            launched.close()
        finally:
            browser.servers.end_group(process)


if __name__ == "__main__":
    main()
