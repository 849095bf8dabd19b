"""The page of CONTRIBUTING.md on a widget is true: it is built like the others, and a real JupyterLab shows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from contributing_page import block

ROOT = Path(__file__).resolve().parents[2]
CELL = """
from pathlib import Path
from traitlets import Int
from tfnb.notebook import assets
from tfnb.notebook.assets import widget_module
from tfnb.notebook.channel import Channel
assets.STATIC = Path({static!r})

{widget}
counter = StepCounter("counter")
counter
"""


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """The folder of built modules of a copy of the front end, which has the page's module too."""
    if shutil.which("node") is None or not (ROOT / "labextension/node_modules").exists():
        pytest.skip("the front end cannot be built here: node or its packages are missing")
    copy = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "labextension", copy / "labextension", ignore=shutil.ignore_patterns("node_modules", "lib"))
    front_end = copy / "labextension"
    (front_end / "node_modules").symlink_to((ROOT / "labextension/node_modules").resolve())
    (front_end / "src/widgets/step_counter.ts").write_text(block("widget", "ts"), encoding="utf-8")
    checks = (["node_modules/.bin/tsc", "--noEmit"], ["node_modules/.bin/biome", "check", "src/widgets"])
    for command in (*checks, ["node", "scripts/build.mjs", "widgets"]):
        done = subprocess.run(command, cwd=front_end, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return copy / "tfnb/notebook/static"


def test_the_widget_of_the_page_shows_its_state(notebook, static):
    cells = [CELL.format(static=str(static), widget=block("widget")), "counter.step = 7"]
    notebook.lab.write("step_counter.ipynb", cells)
    notebook.open("step_counter.ipynb")
    notebook.run_all()
    notebook.page.get_by_text("step 7", exact=True).wait_for()
    assert notebook.errors() == []
