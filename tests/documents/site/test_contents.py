"""Every page of the repository has its place on the site, as one of four kinds."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))

CONTENTS = import_module("contents")
KINDS, UNSORTED = CONTENTS.KINDS, CONTENTS.UNSORTED


def test_each_page_is_of_one_kind():
    listed = [entry for kind in KINDS for entry in kind.pages]
    assert len(listed) == len(set(listed))
    folders = {entry for entry in (*listed, *UNSORTED) if (ROOT / entry).is_dir()}
    pages = {
        str(path.relative_to(ROOT)) for pattern in ("docs/**/*.md", "examples/*.ipynb") for path in ROOT.glob(pattern)
    }
    assert {page for page in pages if page not in listed and str(Path(page).parent) not in folders} == set()


def test_what_is_listed_exists():
    made = {"reference"}
    assert [e for kind in KINDS for e in kind.pages if e not in made and not (ROOT / e).exists()] == []
