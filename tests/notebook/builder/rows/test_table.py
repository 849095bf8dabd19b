"""Which tests cover which row of the builder's table of 25 features: those of the document, and those of hands in JupyterLab.

Tests are named as `file::a part of the test's name`, files by their path without `test_` and `.py`. A row without a test
of the document is about what only a browser shows.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[3]
BUILDER = "notebook/builder"
ROWS = {
    1: ("add by typing", f"{BUILDER}/palette::every_op_is_among_the_first_three", "browser/builder_wires::row_1"),
    2: ("drop a wire: what accepts it", f"{BUILDER}/rows/rows_01_to_05::row_2", "browser/builder_edits::row_2"),
    3: ("live shapes and dtypes", f"{BUILDER}/rows/rows_01_to_05::row_3", "browser/builder::drawn_read_and_run"),
    4: ("a problem at its node, mends", f"{BUILDER}/fixes::a_mistake_is_at_its_node", "browser/builder_edits::row_4"),
    5: ("readable Python, edits echoed", f"{BUILDER}/rows/rows_01_to_05::row_5", "browser/builder::drawn_read_and_run"),
    6: ("code and diagram both ways", f"{BUILDER}/rows/rows_06_to_08::row_6", "browser/builder_bad_input::half_typed"),
    7: ("run to here", f"{BUILDER}/rows/rows_06_to_08::row_7", "browser/builder_wires::row_7"),
    8: ("undo and redo", f"{BUILDER}/random_gestures::undo_redo", "browser/builder::drawn_read_and_run"),
    9: ("keyboard and screen reader", "", "browser/builder_films::lenet_is_built_by_keyboard"),
    10: ("no key leaks", "", "browser/builder_rows::row_10"),
    11: ("ports and refusals", f"{BUILDER}/rows/rows_11_to_16::row_11", "browser/builder_rows::row_11"),
    12: ("layers as blocks", f"{BUILDER}/rows/rows_11_to_16::row_12", "browser/builder_inside::row_12"),
    13: ("groups", f"{BUILDER}/rows/rows_11_to_16::row_13", "browser/builder_inside::row_13"),
    14: ("the clipboard is text", f"{BUILDER}/rows/rows_11_to_16::row_14", "browser/builder_inside::row_14"),
    15: ("insert, bypass, dissolve, swap", f"{BUILDER}/rows/rows_11_to_16::row_15", "browser/builder_edits::row_15"),
    16: ("gradients and optimizer", f"{BUILDER}/rows/rows_11_to_16::row_16", "browser/builder_edits::row_16"),
    17: ("tidy", "", "browser/builder_wires::row_17"),
    18: ("probes", f"{BUILDER}/runs/probes::probes_take_at_most_3_percent", "browser/builder_insight::row_18"),
    19: ("any graph, 39,551 nodes", f"{BUILDER}/rows/rows_19_to_25::row_19", "browser/builder_edits::row_19"),
    20: ("variants", f"{BUILDER}/rows/rows_19_to_25::row_20", "browser/builder_insight::row_20"),
    21: ("snap, align, distribute", "", "browser/builder_wires::row_21"),
    22: ("bends and named links", f"{BUILDER}/rows/rows_19_to_25::row_22", "browser/builder_wires::row_22"),
    23: ("frames and notes", f"{BUILDER}/rows/rows_19_to_25::row_23", "browser/builder_edits::row_23"),
    24: ("saved without a kernel", f"{BUILDER}/widget::the_picture_is_xml", "browser/builder_rows::row_24"),
    25: ("lessons", f"{BUILDER}/rows/rows_19_to_25::row_25", "browser/builder_insight::row_25"),
}


@cache
def names(file):
    """The tests of a file."""
    folder, _, name = file.rpartition("/")
    return re.findall(r"^def test_(\w+)\(", (TESTS / folder / f"test_{name}.py").read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("row", range(1, 26))
def test_each_row_has_its_tests(row):
    _, document, browser = ROWS[row]
    assert browser.startswith("browser/")
    for place in filter(None, (document, browser)):
        file, _, part = place.partition("::")
        assert any(f"{part}_" in f"{name}_" for name in names(file)), place
