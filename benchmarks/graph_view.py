"""The graph view on a graph of 36,000 nodes: first drawing, opening a scope, panning and zooming, in a browser page.

    python -m benchmarks.graph_view [--towers 6] [--chromium PATH] [--full]

The widget's own module is loaded into an empty page with a channel that answers as a kernel does. `--full` builds the
graph with gradients of every tower by tfnb (a minute); without, one tower is built and written down many times.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import tfnb as tf
from benchmarks.inception_graph import BLOCKS, inception_graph, repeated_towers
from tfnb.notebook.assets import widget_module

# The last ones fill the drawing, for panning and zooming.
SCOPES = (
    "tower_1",
    "tower_1/mixed_17x17x768b",
    "tower_1/mixed_17x17x768b/branch_2",
    "tower_1/gradients",
    "tower_2",
    *(f"tower_{k}/{block}" for k in (1, 2) for block in BLOCKS if (k, block) != (1, "mixed_17x17x768b")),
)
FIGURES = Path(__file__).parent / "graph_figures.js"
PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:20px">
<script>%(figures)s</script><script type="module">
const url = URL.createObjectURL(new Blob([%(module)s], { type: "text/javascript" }));
const packed = Uint8Array.from(atob(%(graph)s), (c) => c.charCodeAt(0));
const heard = [];
const model = {
  get: () => "key", on: (name, act) => heard.push(act),
  send: (asked) => setTimeout(() => {
    if (asked.type === "graph") {
      const told = { type: "graph", stage: 0, stages: [""], options: { height: 560 } };
      for (const act of heard) act(told, [new DataView(packed.buffer)]);
    }
  }),
};
const widget = (await import(url)).default;
window.took = figures.first();
const place = document.createElement("div");
place.dataset.tfnbView = "key";
document.body.append(place);
widget.initialize({ model });
</script>"""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage")


def measure(page: Any, message: bytes) -> dict[str, Any]:
    """The figures of one fresh page."""
    fill = {
        "figures": FIGURES.read_text("utf-8"),
        "module": json.dumps(widget_module("graph_widget")).replace("</", "<\\/"),
        "graph": json.dumps(base64.b64encode(message).decode()),
    }
    page.goto("about:blank")
    page.set_content(PAGE % fill)
    page.wait_for_function("() => window.took", timeout=60_000)
    first = page.evaluate("() => window.took")
    return {"first": first, **page.evaluate("paths => figures.rest(paths)", list(SCOPES))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--towers", type=int, default=6)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    begin = time.perf_counter()
    graph = inception_graph(args.towers) if args.full else repeated_towers(6000 * args.towers)
    print(f"graph built in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    view = tf.show_graph(graph)
    modelled = time.perf_counter() - begin
    begin = time.perf_counter()
    message = view.model.to_bytes()
    written = time.perf_counter() - begin
    print(f"{view.model.nodes[0]:,} nodes: model {modelled:.2f} s, message {written:.2f} s, {len(message):,} bytes")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=list(FLAGS))
        size = {"width": 1280, "height": 900}
        found = [measure(browser.new_page(viewport=size), message) for _ in range(args.repeat)]
        browser.close()
    print(f"first drawing: {statistics.median(f['first'] for f in found):.2f} s (at most 3)")
    took = {path: statistics.median(f["opened"][k]["took"] for f in found) for k, path in enumerate(SCOPES)}
    slowest = max(took, key=took.__getitem__)
    middle = statistics.median(took.values())
    print(f"open a scope: {middle:.3f} s, of {len(took)} the slowest ({slowest}) {took[slowest]:.3f} s (at most 0.3)")
    for what in ("zoom", "pan"):
        rate = statistics.median(f[what] for f in found)
        print(f"{what}: {rate:.0f} frames/s with {found[0]['boxes']} boxes in sight (at least 30)")


if __name__ == "__main__":
    main()
