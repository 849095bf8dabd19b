"""How soon a log is seen: seconds from running `tf.view(folder)` until the first chart is drawn, in a real JupyterLab.

    python -m benchmarks.first_plots [--points 1000000] [--rounds 3] [--cold]

The log has a million scalars in 50 runs. Each round has a kernel of its own that has only imported tfnb. The first one
finds no templates of charts in the cache. With `--cold` (Linux, root) the system forgets before each round what it has
read of files, as after a start of the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.event_files import RUNS, write_log
from tests.browser import conftest as browser

# When the first curve was stroked on a chart in the page, after the start was noted; axes have thinner lines.
WATCH = """
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...given) {
    const isCurve = this.lineWidth >= 2 && this.canvas.isConnected;
    if (window.tfnbStart && isCurve) window.tfnbDrawn ??= performance.now();
    return stroke.apply(this, given);
};
"""


def forget_files() -> None:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def first_plot(lab: browser.Lab, page: object, name: str, cold: bool) -> float:
    """Seconds."""
    lab.write(name, ["import tfnb as tf", "view = tf.view('logs')"])
    notebook = browser.Notebook(page, lab)
    notebook.open(name)
    notebook.command("notebook:run-cell-and-select-next")
    notebook.page.wait_for_function("() => document.querySelector('.jp-InputPrompt')?.textContent.includes('[1]')")
    if cold:
        forget_files()
    notebook.page.evaluate("() => { window.tfnbStart = performance.now(); }")
    notebook.command("notebook:run-cell-and-select-next")
    notebook.page.wait_for_function("() => window.tfnbDrawn", timeout=60_000)
    assert notebook.errors() == [], notebook.errors()
    return float(notebook.page.evaluate("() => (window.tfnbDrawn - window.tfnbStart) / 1000"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--chromium", default=os.environ.get("TFNB_CHROMIUM", "/usr/bin/chromium"))
    args = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, config = Path(folder) / "root", Path(folder) / "config"
        config.mkdir()
        write_log(root / "logs", args.points)
        os.environ["TFNB_INTERPRET"] = "1"
        os.environ["TFNB_CACHE_DIR"] = os.path.join(folder, "cache")
        port = browser.servers.free_port()
        lab = browser.Lab(f"http://127.0.0.1:{port}", root)
        process = browser.start_server(root, config, port)
        try:
            browser.servers.wait_for(f"{lab.url}/{browser.servers.STATUS}", process, config / "lab.log")
            launched = playwright.chromium.launch(executable_path=args.chromium, args=list(browser.FLAGS))
            for k in range(args.rounds + 1):
                context = launched.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.add_init_script(WATCH)
                found.append(first_plot(lab, page, f"plots{k}.ipynb", args.cold))
                context.close()
            launched.close()
        finally:
            browser.servers.end_group(process)
    how = ", files not in memory" if args.cold else ""
    print(f"{args.points:,} scalars of {RUNS} runs{how}: the first chart after")
    print(f"  {found[0]:.2f} s where no template is in the cache, then {statistics.median(found[1:]):.2f} s", end="")
    print(f" ({', '.join(f'{t:.2f}' for t in found[1:])})")


if __name__ == "__main__":
    main()
