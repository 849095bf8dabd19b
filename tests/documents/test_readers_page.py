"""docs/readers.md tells the limits that the code has, and names each reader that is fuzzed."""

import importlib
import re
from pathlib import Path

import pytest
from fuzz.target import target_names

ROWS = [
    line
    for line in (Path(__file__).parents[2] / "docs" / "readers.md").read_text().splitlines()
    if line.startswith("| ")
][1:]
NAMES = [name for row in ROWS if (name := row[2:].partition(":")[0].strip("`")) in target_names()]


def test_every_fuzzed_reader_is_in_the_table():
    assert sorted(NAMES) == target_names()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.findall(r"`(tfnb/.*?)`", row)[0])
def test_limits_are_those_of_the_code(row):
    (path,) = re.findall(r"`tfnb/(.*?)\.py`", row)
    module = importlib.import_module("tfnb." + path.replace("/", "."))
    for name, value in re.findall(r"`(\w+) = (.*?)`", row.split(" | ")[1]):
        assert getattr(module, name) == eval(value, {}), name
