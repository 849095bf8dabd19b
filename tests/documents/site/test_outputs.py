"""Notebooks are executed for the site once, and again when their code or the package has changed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))
outputs = import_module("outputs")


@pytest.fixture
def runs(monkeypatch):
    """The sources that are executed; each cell prints its own. Notebooks may lie anywhere, and the package is one word."""
    found = []

    def execute(notebook):
        for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
            found.append(cell.source)
            cell.outputs = [nbformat.v4.new_output("stream", text=cell.source)]

    monkeypatch.setattr(outputs, "_execute", execute)
    monkeypatch.setattr(outputs, "_package", lambda: "one")
    monkeypatch.setattr(outputs, "ROOT", Path("/"))
    return found


def write(path, text, *code):
    cells = [nbformat.v4.new_markdown_cell(text), *map(nbformat.v4.new_code_cell, code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def test_what_has_not_changed_is_not_executed_again(tmp_path, runs, monkeypatch):
    one, two, copies = tmp_path / "one.ipynb", tmp_path / "two.ipynb", tmp_path / "copies"
    write(one, "text", "1 + 1", "2")
    write(two, "text", "3")
    outputs.executed([one, two], copies)
    assert runs == ["1 + 1", "2", "3"]
    outputs.executed([one, two], copies)
    write(one, "another text", "1 + 1", "2")
    outputs.executed([one, two], copies)
    assert len(runs) == 3
    write(one, "text", "1 + 12")  # the same letters
    outputs.executed([one, two], copies)
    assert runs[3:] == ["1 + 12"]
    monkeypatch.setattr(outputs, "_package", lambda: "another")
    outputs.executed([one, two], copies)
    assert runs[4:] == ["1 + 12", "3"]


def test_outputs_go_to_the_cells_that_made_them(tmp_path, runs):
    path = tmp_path / "one.ipynb"
    write(path, "text", "1", "2")
    outputs.executed([path], tmp_path / "copies")
    write(path, "a new text", "1", "2")
    notebook = nbformat.read(path, as_version=4)
    outputs.give_outputs(notebook, nbformat.read(tmp_path / "copies" / path.name, as_version=4))
    assert notebook.cells[0].source == "a new text"
    assert [cell.outputs[0].text for cell in notebook.cells[1:]] == ["1", "2"]


def test_the_package_is_what_a_kernel_reads():
    names = {str(path.relative_to(ROOT)) for path in outputs._files()}
    assert {"tfnb/__init__.py", "tfnb/public_names.txt"} < names and any(n.startswith("kernels_cl/") for n in names)
    assert not [name for name in names if "__pycache__" in name or "/static/" in name]


@pytest.mark.slow
def test_a_cell_that_fails_leaves_no_copy(tmp_path, monkeypatch):
    """Nor does what a cell writes stay where the notebook lies."""
    monkeypatch.setattr(outputs, "_package", lambda: "one")
    path = tmp_path / "one.ipynb"
    write(path, "text", "open('left', 'w').write('')", "1 / 0")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        outputs.executed([path], tmp_path / "copies")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copies", "one.ipynb"]
    assert list((tmp_path / "copies").iterdir()) == []
