"""What a training pays for being watched: steps with and without a live viewer, in JupyterLab in a real browser.

    python -m benchmarks.live_viewer [--training LeNet MLP] [--way viewer "loss plot"] [--pairs 16] [--after 10]

One kernel trains in short blocks, in turns with a view that the browser draws and without one. A view is counted when
it has been there for some seconds: its making (BokehJS, the page's garbage, curves that outgrow their charts every
second) is paid once; `--after 3` shows it. Printed are the median over pairs of how much longer a step takes, with its
95% confidence interval (bootstrap), how often a second the page drew, and which programs and threads used more of the
processors.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from tests.browser import conftest as browser

# Notes when charts are drawn (what belongs to one message may come in several frames), and brings views into sight.
WATCH = """
window.tfnbDrawn = [];
let last = 0;
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...given) {
    const now = Date.now() / 1000;
    if (now - last > 0.06 && this.canvas.isConnected) {
        window.tfnbDrawn.push(now);
        last = now;
    }
    return stroke.apply(this, given);
};
let shown;
setInterval(() => {
    const newest = document.querySelector('.jp-OutputArea-output');
    if (newest !== shown) newest?.scrollIntoView({ block: 'start' });
    shown = newest;
}, 200);
"""


def run(training: str, way: str, pairs: int, after: float, seconds: float, chromium: str) -> list[Any]:
    """The pairs of blocks, with how often a second the page drew."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, config = Path(folder) / "root", Path(folder) / "config"
        root.mkdir()
        config.mkdir()
        port = browser.servers.free_port()
        lab = browser.Lab(f"http://127.0.0.1:{port}", root)
        found = root / "found.json"
        told = f"{training!r}, {way!r}, {pairs}, {after}, {seconds}, {str(found)!r}"
        lab.write("live.ipynb", [f"from benchmarks.live_training import measure\nmeasure({told})"])
        process = browser.start_server(root, config, port)
        try:
            browser.servers.wait_for(f"{lab.url}/{browser.servers.STATUS}", process, config / "lab.log")
            launched = playwright.chromium.launch(executable_path=chromium, args=list(browser.FLAGS))
            page = launched.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.add_init_script(WATCH)
            notebook = browser.Notebook(page, lab)
            notebook.open("live.ipynb")
            notebook.command("notebook:run-all-cells")
            end = time.monotonic() + 60 + pairs * 2 * (after + seconds + 2)
            while not found.exists() and time.monotonic() < end:
                page.wait_for_timeout(1000)  # a page that is asked more often draws more often
            assert notebook.errors() == [], notebook.errors()
            drawn = page.evaluate("() => window.tfnbDrawn")
            launched.close()
            told = json.loads(found.read_text())
            for block in (pair[k] for pair in told for k in pair):
                times = [t for t in drawn if block["start"] <= t <= block["stop"]]
                block["drawn"] = len(times) / (block["stop"] - block["start"])
            return told
        finally:
            browser.servers.end_group(process)


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and its 95% confidence interval."""
    drawn = np.random.default_rng(0).choice(values, (4000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    return statistics.median(values), float(low), float(high)


def report(training: str, way: str, found: list[Any]) -> None:
    with_view, without = ([pair[k] for pair in found] for k in ("True", "False"))
    slower = [100 * (a["step"] / b["step"] - 1) for a, b in zip(with_view, without, strict=True)]
    median, low, high = interval(slower)
    rates = [block["drawn"] for block in with_view]
    step = 1e3 * statistics.median(b["step"] for b in without)
    rate = f"drawn {statistics.median(rates):.1f} times a second (least {min(rates):.1f})"
    slow = f"{median:+.1f}% when watched [{low:+.1f}, {high:+.1f}]"
    print(f"{training}, {way}: step {step:.2f} ms, {slow}, {len(found)} pairs; {rate}", flush=True)
    names = sorted({name for b in with_view for name in b["used"]})
    for name in names:
        one, two = (statistics.mean(b["used"].get(name, 0.0) for b in blocks) for blocks in (with_view, without))
        if abs(one - two) > 0.002:
            print(f"  {name:32} {one:6.3f} of a core, without {two:6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", nargs="+", default=["LeNet", "MLP"])
    parser.add_argument("--way", nargs="+", default=["viewer"], help="viewer, loss plot")
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--after", type=float, default=10.0, help="seconds that a view is there before it counts")
    parser.add_argument("--seconds", type=float, default=3.0, help="that are counted of each block")
    parser.add_argument("--pool", help="a file: pairs are added to those it holds, and all are reported")
    parser.add_argument("--chromium", default=os.environ.get("TFNB_CHROMIUM", "/usr/bin/chromium"))
    args = parser.parse_args()
    for training in args.training:
        for way in args.way:
            found = run(training, way, args.pairs, args.after, args.seconds, args.chromium)
            if args.pool:
                pooled = Path(args.pool)
                every = json.loads(pooled.read_text()) if pooled.exists() else {}
                every.setdefault(f"{training}, {way}", []).extend(found)
                pooled.write_text(json.dumps(every))
                found = every[f"{training}, {way}"]
            report(training, way, found)


if __name__ == "__main__":
    main()
