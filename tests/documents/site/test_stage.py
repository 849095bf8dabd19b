"""The site's sources: links lead to pages of the site, and executed notebooks bring outputs that need no other host."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))
stage = import_module("stage")


@pytest.mark.parametrize(
    ("text", "staged"),
    [
        ("[graph](graph.md#a)", "[graph](graph.md#a)"),
        ("[more](../README.md)", "[more](../index.md)"),
        ("[`Session.run`](../tfnb/session/session.py)", "`Session.run` (`tfnb/session/session.py`)"),
        ("[pyproject.toml](../pyproject.toml)", "pyproject.toml"),
        ("![A view](images/viewer-dark.png)", "![A view](images/viewer-dark.png)"),
        ("[site](https://example.org)", "[site](https://example.org)"),
        ("[why](decisions/rounding.md), [here](#here)", "[why](decisions/rounding.md), [here](#here)"),
    ],
)
def test_links_lead_to_what_is_on_the_site(text, staged):
    assert stage._linked(text, Path("docs/support.md")) == staged


def test_executed_notebooks_bring_their_outputs(tmp_path):
    original = ROOT / "examples" / "01_first_graph.ipynb"
    notebook = json.loads(original.read_text(encoding="utf-8"))
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    data = {"text/plain": "a picture", "application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    code["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    (tmp_path / original.name).write_text(json.dumps(notebook))
    stage._copy(original, tmp_path / "sources", tmp_path)
    staged = json.loads((tmp_path / "sources/examples" / original.name).read_text())
    outputs = [output for cell in staged["cells"] for output in cell.get("outputs", ())]
    assert [output["data"] for output in outputs] == [{"text/plain": "a picture"}]
    stage._copy(original, tmp_path / "plain", None)
    staged = json.loads((tmp_path / "plain/examples" / original.name).read_text())
    assert [cell for cell in staged["cells"] if cell.get("outputs")] == []
    code["source"] = "print('of another day')"
    (tmp_path / original.name).write_text(json.dumps(notebook))
    with pytest.raises(ValueError, match="is of other code"):
        stage._copy(original, tmp_path / "sources", tmp_path)
