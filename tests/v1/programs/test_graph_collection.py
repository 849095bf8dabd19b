"""The collection of public graphs: its table, and how results are compared."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[3] / "scripts" / "graph_collection"


@pytest.fixture(scope="module")
def here():
    spec = importlib.util.spec_from_file_location("graph_collection_here", FOLDER / "here.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_names_files_of_commits():
    head, *rows = (FOLDER / "graphs.tsv").read_text(encoding="utf-8").splitlines()
    assert head == "repository\tcommit\tpath" and rows == sorted(set(rows)) and len(rows) > 150
    for row in rows:
        repository, commit, path = row.split("\t")
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", repository) and re.fullmatch(r"[0-9a-f]{40}", commit)
        assert path.endswith((".pb", ".pbtxt", ".meta")) and ".." not in path


def test_what_counts_as_equal(here):
    x = np.float32([1.0, np.inf, np.nan])
    assert here.difference(x, x) == "" == here.difference(x * 1.0001, x)
    assert here.difference(x, x[:2]).startswith("shape") and "finite" in here.difference(x, np.float32([1, 2, 3]))
    assert here.difference(np.float32([1.0, 2.0]), np.float32([1.0, 2.1])).startswith("by 0.1")
    assert here.difference(np.array([b"a"], object), np.array([b"b"], object)) == "1 of 1 elements"
