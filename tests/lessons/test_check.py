"""`tf.lessons.check` and `tf.lessons.progress`: what is printed, the next hint, and the file beside the notebook."""

from __future__ import annotations

import doctest
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, UnknownNameError
from tfnb.lessons import checking
from tfnb.lessons.api import API
from tfnb.lessons.case import RIGHT, Case, Exercise, Finding, Kind
from tfnb.lessons.catalogue import EXERCISES
from tfnb.lessons.comparing import difference, difference_of_arrays
from tfnb.lessons.graph_function import GraphFunction
from tfnb.lessons.progress_file import NAME
from tfnb.lessons.report import graded
from tfnb.notebook.displays import progress_html

pytestmark = pytest.mark.one_process("an exercise has sessions of its own")
ROOT = Path(__file__).resolve().parents[2]


def traffic(sizes, servers, workers):
    return [workers * sum(sizes[k::servers]) for k in range(servers)]


def too_little(sizes, servers, workers):
    return [sum(sizes[k::servers]) for k in range(servers)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checking, "_unsaved", {})
    return tmp_path


def checked(capsys, number, answer):
    assert tf.lessons.check(number, answer) is None
    return " ".join(capsys.readouterr().out.split())


def entry(folder, number="9.3"):
    return json.loads((folder / NAME).read_text())["exercises"][number]


def test_nothing_is_there_yet(folder, capsys):
    assert checked(capsys, "9.3", None) == "Exercise 9.3, what servers send: nothing is there yet."
    assert list(folder.iterdir()) == []


def test_each_failure_gives_the_next_hint(folder, capsys):
    texts = [checked(capsys, "9.3", too_little) for _ in range(4)]
    assert [text[text.index("Hint") :][:11] for text in texts] == [f"Hint {k} of 3" for k in (1, 2, 3, 3)]
    assert "Check again" in texts[1] and "Check again" not in texts[2]
    assert all("Wrong value: 2 of 2 elements differ, the first at index 0" in text for text in texts)
    text = checked(capsys, "9.3", traffic)
    assert text.startswith("Exercise 9.3, what servers send: right, 2 of 2 points. The server with")
    assert entry(folder) == {"points": 2, "tries": 5, "failures": {"bytes that each server sends in a step": 4}}
    checked(capsys, "9.3", too_little)
    assert entry(folder)["points"] == 2  # what was reached stays


def test_the_table_of_the_progress(folder, capsys):
    assert tf.lessons.progress().points == 0 and list(folder.iterdir()) == []
    checked(capsys, "9.3", too_little)
    checked(capsys, "9.1", lambda died_in, save_every: [])
    checked(capsys, "9.3", traffic)
    progress = tf.lessons.progress()
    assert progress.rows[26] == ("9.3", "what servers send", 2, 2, 2)
    assert (progress.points, len(progress.rows)) == (2, len(EXERCISES))
    lines = repr(progress).splitlines()
    assert lines[27].split() == ["9.3", "what", "servers", "send", "2", "of", "2", "2"]
    assert lines[1].endswith("-") and lines[-1] == f"2 of {progress.most} points"
    html = progress_html(progress)
    assert html.count("<tr>") == len(EXERCISES) + 1 and "what servers send" in html and "<script" not in html


@pytest.mark.parametrize("number", [3.1, 31, None])
def test_a_number_that_is_no_text(number):
    with pytest.raises(InvalidArgumentError, match=r'needed its number as a text, as "3.1"'):
        tf.lessons.check(number, 1)


@pytest.mark.parametrize("number", ["3", "3.4", "99.1", "", "03.1"])
def test_an_exercise_that_is_not_there(number):
    last = len(EXERCISES) // 3
    with pytest.raises(
        UnknownNameError, match=f"there is no exercise .*of the notebooks 1 to {last} and exercises 1 to 3"
    ):
        tf.lessons.grade(number, 1)


def test_two_processes_lose_no_try(folder):
    """Each counts 15 tries; every one of the 30 is in the file."""
    program = f"""
import sys
sys.stdin.readline()
from tfnb.lessons.progress_file import update
for _ in range(15):
    record, note = update({str(folder)!r}, sys.argv[1], 1, "a case")
    assert record is not None and note == "", note
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program, number], stdin=subprocess.PIPE, cwd=ROOT, text=True)
        for number in ("1.1", "1.1", "1.2")
    ]
    for process in started:
        process.stdin.write("\n")
        process.stdin.close()
    assert [process.wait(120) for process in started] == [0, 0, 0]
    assert entry(folder, "1.1") == {"points": 1, "tries": 30, "failures": {"a case": 30}}
    assert entry(folder, "1.2")["tries"] == 15
    assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.parametrize("damage", [b"", b'{"format": "tfnb lessons 1", "exerc', b"\0" * 100, b'{"format": "other"}'])
def test_a_damaged_file_is_set_aside(folder, capsys, damage):
    (folder / NAME).write_bytes(damage)
    text = checked(capsys, "9.3", too_little)
    assert "Hint 1" in text and f"the file is now {NAME}.damaged-1." in text
    assert (folder / f"{NAME}.damaged-1").read_bytes() == damage
    assert entry(folder)["tries"] == 1
    assert "damaged" not in checked(capsys, "9.3", too_little)
    (folder / NAME).write_bytes(damage)
    assert f"the file is now {NAME}.damaged-2." in repr(tf.lessons.progress())
    assert (folder / f"{NAME}.damaged-1").read_bytes() == (folder / f"{NAME}.damaged-2").read_bytes() == damage


def test_what_is_no_file_is_left(folder, capsys):
    (folder / NAME).mkdir()
    texts = [checked(capsys, "9.3", too_little) for _ in range(2)]
    assert ["Hint 1" in texts[0], "Hint 2" in texts[1]] == [True, True]
    assert all("The progress cannot be read" in text for text in texts)
    assert (folder / NAME).is_dir()


def test_a_folder_that_cannot_be_written(folder, capsys, monkeypatch):
    """Hints go on, and the table is right, for as long as the process lives."""
    if os.geteuid() == 0:
        monkeypatch.chdir("/sys")  # where root may not write either
    else:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        texts = [checked(capsys, "9.3", answer) for answer in (too_little, too_little, traffic)]
        assert "Hint 1" in texts[0] and "Hint 2" in texts[1] and "right, 2 of 2" in texts[2]
        assert all(
            "The progress is not kept: " in text and "denied" in text.lower() or "ermitted" in text for text in texts
        )
        assert tf.lessons.progress().rows[26][2:] == (2, 2, 3)
        assert not Path(NAME).exists()
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_hidden_case_tells_its_kind_and_a_hint_alone():
    hints = ("the first", "the second", "the third")
    cases = (
        Case("seen", lambda answer: RIGHT, hints),
        Case("secret name", lambda answer: Finding(Kind.VALUE, "secret text"), hints, hidden=True, points=2),
    )
    report = graded(Exercise("0.1", "a title", cases), 5)
    assert report.kind is Kind.ONCE and report.points == 1 and "secret" not in repr(report)
    assert repr(report).endswith("Hint 1 of 3: the first Check again for the next one.")


def test_lines_break_between_words():
    hints = ("letters " * 30 + "end.", "b", "c")
    report = graded(Exercise("0.1", "a title", (Case("a case", lambda answer: Finding(Kind.VALUE), hints),)), 5)
    lines = repr(report).splitlines()
    assert max(map(len, lines)) <= 88 and lines[4].startswith("    letters") and lines[-1].endswith("for the next one.")


def test_messages_of_a_case():
    case = Case(
        "a case", lambda answer: Finding(Kind.VALUE), ("a", "b", "c"), failure_message="It is known to be hard."
    )
    report = graded(Exercise("0.1", "a title", (case,)), 5)
    assert "  Wrong value.\n  It is known to be hard.\n  Hint 1 of 3: a Check" in repr(report)


@pytest.mark.opencl
def test_an_endless_loop_ends(monkeypatch):
    monkeypatch.setattr("tfnb.lessons.graph_function.MOST_SECONDS", 0.5)
    test = GraphFunction([(np.float32(1),)], lambda x: x)
    found = test(lambda x: tf.while_loop(lambda v: v > 0, lambda v: v, [tf.identity(x)]))
    assert found.kind is Kind.RAISES and "DeadlineExceededError" in found.text


@pytest.mark.opencl
def test_the_graph_of_the_reader_stays_as_it_is():
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        report = tf.lessons.grade("1.2", lambda x: x)
        assert len(graph.get_operations()) == 1
        report = tf.lessons.grade("1.2", lambda other: other + x)
    assert report.kind is Kind.RAISES and "GraphError" in report.results[0].text


@pytest.mark.parametrize(
    ("got", "right", "kind", "text"),
    [
        (3, 3.0, Kind.RIGHT, ""),
        (np.float64(3), 3, Kind.RIGHT, ""),
        (True, 1, Kind.SHAPE, "it is a bool; needed a number"),
        (103, 100, Kind.VALUE, "the number is too large, off by less than 10% of it"),
        (-9, 0, Kind.VALUE, "the number is too small, off by more than twice its size"),
        (float("nan"), 1.0, Kind.VALUE, "the number is NaN"),
        ("a", "b", Kind.VALUE, "it is another one"),
        (["a"], ("a",), Kind.RIGHT, ""),
        ("ab", ["a", "b"], Kind.SHAPE, "it is a text (str); needed a list"),
        ([1], [1, 2], Kind.VALUE, "the list is too short"),
        ([[1], [2]], [[1], 2], Kind.SHAPE, "1 of 2 elements differs, the first at index 1: it is a list of 1 element"),
        ({"a": 1}, {"a": 1, "b": 2}, Kind.SHAPE, "it has 1 keys; needed these: a, b"),
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, Kind.VALUE, "1 of 2 elements differs"),
    ],
)
def test_plain_values(got, right, kind, text):
    found = difference(got, right)
    assert found.kind is kind and found.text.startswith(text)


@pytest.mark.parametrize(
    ("got", "kind", "text"),
    [
        (np.float32([1, 2]), Kind.RIGHT, ""),
        (np.float64([1, 2]), Kind.SHAPE, "the dtype is float64; needed float32"),
        (np.float32([[1, 2]]), Kind.SHAPE, "the shape is [1, 2]; needed [2]"),
        (np.float32([1, 2.1]), Kind.VALUE, "1 of 2 elements differs; the largest difference is less than 10% of it"),
        (np.float32([np.nan, 2]), Kind.VALUE, "1 of 2 elements differs; some are infinite or NaN"),
    ],
)
def test_arrays(got, kind, text):
    assert difference_of_arrays(got, np.float32([1, 2]), 1e-6, 0) == Finding(kind, text)


@pytest.mark.parametrize("name", [path.rpartition(".")[2] for path in API])
def test_the_example_of_a_docstring_runs(name, folder):
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(getattr(tf.lessons, name), name, globs={"tf": tf})
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
