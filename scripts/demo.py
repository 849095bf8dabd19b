"""Runs a notebook up to its exercises without a browser, tells how it goes, and leaves it as one HTML file.

`python scripts/demo.py NOTEBOOK HTML`. The file holds everything it needs, BokehJS too, and opens
without a network. The exit status is 1 if a cell fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

BEGUN = time.monotonic()  # before the slow imports, which the user waits for too

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402

SECONDS_BETWEEN_LINES = 5.0
# nbconvert's own page asks content delivery networks for scripts; this one holds what it needs. The
# charts look for BokehJS when the page is read, so it stands in the head.
OFFLINE_PAGE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}<script>{{ resources.bokehjs }}</script>{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
"""


def say(text: str) -> None:
    print(text, flush=True)


class TalkingClient(NotebookClient):
    """Runs a notebook and prints what its cells print, and its progress bars every few seconds."""

    def __init__(self, notebook: Any, **options: Any) -> None:
        super().__init__(notebook, **options)
        self._told = 0.0
        self._stepped = False
        self._unfinished = ""

    def process_message(self, message: dict[str, Any], cell: Any, cell_index: int) -> Any:
        content, kind = message["content"], message["msg_type"]
        if kind == "stream":
            *lines, self._unfinished = (self._unfinished + content["text"]).split("\n")
            for line in lines:
                self._tell(line)
        elif content.get("metadata", {}).get("tfnb") == "progress":
            self._tell_progress(content["data"]["text/plain"])
        return super().process_message(message, cell, cell_index)

    def _tell_progress(self, line: str) -> None:
        now = time.monotonic()
        if self._told == 0.0:
            say(f"training starts after {now - BEGUN:.1f} s")
        elif not self._stepped and "] 0/" not in line:
            self._stepped = True
            say(f"its first steps are done after {now - BEGUN:.1f} s")
        if now - self._told >= SECONDS_BETWEEN_LINES or " done in " in line:
            self._told = now
            self._tell(line)

    def _tell(self, line: str) -> None:
        say(f"  {line}")


def run(notebook_path: Path) -> Any:
    """The notebook with its outputs. Raises CellExecutionError at the first cell that fails."""
    notebook = nbformat.read(notebook_path, as_version=4)
    notebook.cells = list(takewhile(lambda cell: not cell.source.startswith("## Exercises"), notebook.cells))
    client = TalkingClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        store_widget_state=False,  # the pictures need no widgets
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(notebook_path.parent)}},
    )
    client.execute()
    return notebook


def write_html(notebook: Any, path: Path, title: str) -> None:
    """Writes the executed notebook as a page that needs no other file."""
    # Imported here, as they take a second that the start of the training need not wait for.
    from jinja2 import DictLoader
    from nbconvert import HTMLExporter

    from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION, bokehjs

    exporter = HTMLExporter(
        extra_loaders=[DictLoader({"offline.html.j2": OFFLINE_PAGE})],
        template_file="offline.html.j2",
        embed_images=True,
    )
    library = bokehjs().replace("</script", "<\\/script")
    start = (
        "(() => { const holder = {}; (function() {" + library + "}).call(holder); "
        f'globalThis.tfnbBokeh = {{"{BOKEH_VERSION}": Promise.resolve(holder.Bokeh)}}; }})();'
    )
    resources = {"metadata": {"name": title}, "bokehjs": start}
    body, _ = exporter.from_notebook_node(notebook, resources)
    path.write_text(body, encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("notebook", type=Path)
    arguments.add_argument("html", type=Path)
    given = arguments.parse_args()
    say(f"running {given.notebook}")
    try:
        notebook = run(given.notebook)
    except CellExecutionError as fault:
        say(str(fault))
        return 1
    write_html(notebook, given.html, given.notebook.stem)
    say(f"wrote {given.html}: open it in a browser")
    return 0


if __name__ == "__main__":
    sys.exit(main())
