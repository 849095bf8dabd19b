"""Folders stay small, say what they hold, and stand in docs/architecture.md, "Where is what"."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted(
    {
        path.parent
        for part in ("tfnb", "tests", "kernels_cl")
        for path in (ROOT / part).rglob("*.*")
        if path.suffix in (".py", ".cl", ".clh")
    }
)
MOST = 25
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\w+) \| (.*) \|$", TEXT.split("## Where is what")[1].split("\n## ")[0], re.M)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_can_be_looked_through(folder):
    files = [
        path.name for path in folder.iterdir() if path.suffix in (".py", ".cl", ".clh") and path.stem != "__init__"
    ]
    assert len(files) <= MOST, sorted(files)


@pytest.mark.parametrize(("package", "told"), [row for row in ROWS if row[0] != "package"])
def test_the_page_names_every_folder(package, told):
    folders = {path.parent.name for path in (ROOT / "tfnb" / package).glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)`", told)) == folders


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tfnb").rglob("__init__.py")), ids=lambda path: str(path.parent.relative_to(ROOT))
)
def test_a_folder_says_what_it_holds(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_the_page_has_the_packages_with_folders_by_concept():
    assert {package for package, _ in ROWS} == {
        "package",
        "ir",
        "codegen",
        "ops",
        "client",
        "train",
        "v1",
        "notebook",
    }
