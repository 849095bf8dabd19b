"""CITATION.cff is a citation by version 1.2.0 of its format, as far as this uses it, and agrees with the project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).resolve().parents[2]
# The fields of the format, of which those that have no type here are texts.
FIELDS = {
    "cff-version": str,
    "message": str,
    "title": str,
    "authors": list,
    "type": str,
    "abstract": str,
    "version": str,
    "license": str,
    "keywords": list,
    "references": list,
}
OF_REFERENCES = {
    **dict.fromkeys(("type", "title", "url", "collection-title", "doi"), str),
    **dict.fromkeys(("year", "start", "end"), int),
    "authors": list,
    "conference": dict,
}


def faults(entry: dict, fields: dict, required: tuple[str, ...]) -> list[str]:
    """What is wrong with an object of the file, in words."""
    wrong = [f"no {name}" for name in required if not entry.get(name)]
    wrong += [f"{name} is not of the format" for name in entry if name not in fields]
    wrong += [
        f"{name} is no {fields[name].__name__}"
        for name in entry
        if not isinstance(entry[name], fields.get(name, object))
    ]
    for author in entry.get("authors", ()):
        if not ({"name"} == set(author) or {"family-names", "given-names"} <= set(author)):
            wrong.append(f"an author without a name: {author}")
    return wrong


def test_the_citation():
    entry = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert faults(entry, FIELDS, ("cff-version", "message", "title", "authors")) == []
    for reference in entry["references"]:
        assert faults(reference, OF_REFERENCES, ("type", "title", "authors")) == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (entry["cff-version"], entry["type"]) == ("1.2.0", "software")
    assert entry["license"] == project["license"] and entry["keywords"] == project["keywords"]


def test_faults_are_found():
    assert faults({"title": 3, "autor": "x", "authors": [{"family-names": "A"}]}, FIELDS, ("message",)) == [
        "no message",
        "autor is not of the format",
        "title is no str",
        "an author without a name: {'family-names': 'A'}",
    ]
