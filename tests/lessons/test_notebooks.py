"""The exercises as they stand in the notebooks: the cells run before an answer is there, and the form is the same."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

import tfnb as tf
from tfnb.lessons.case import Kind
from tfnb.lessons.catalogue import EXERCISES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
ABLE = "After this notebook you will be able to\n\n"
MOST_CELLS = 25
MOST_TASK = 80  # words

pytestmark = pytest.mark.one_process("an exercise has sessions of its own")


def cells_of(path):
    return nbformat.read(path, as_version=4).cells


def answer_cells():
    """(number, task, code) of each exercise, in the order of the notebooks."""
    found = []
    for path in NOTEBOOKS:
        cells = cells_of(path)
        for task, code in zip(cells, cells[1:], strict=False):
            if number := re.match(r"### (\d+\.\d) ", task.source):
                found.append((number[1], task.source, code))
    return found


CELLS = answer_cells()


def names_of(code):
    """What the cell of an exercise defines, and what it prints."""
    names = {"tf": tf, "np": np}
    exec(code, names)
    return names


def test_each_exercise_has_its_cells():
    assert [number for number, _, _ in CELLS] == list(EXERCISES)
    assert all(code.cell_type == "code" for _, _, code in CELLS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_form_of_a_notebook(path):
    cells = cells_of(path)
    promised = cells[0].source.partition(ABLE)[2].splitlines()
    assert len(promised) == 3 and all(line.startswith("- ") for line in promised)
    heads = re.findall(r"^## (.*)$", "\n".join(cell.source for cell in cells if cell.cell_type == "markdown"), re.M)
    assert heads.index("Exercises") + 1 == heads.index("What to read next")
    assert sum(cell.cell_type == "code" for cell in cells) <= MOST_CELLS
    pages = re.findall(r"\]\(([^)]+)\)", "\n".join(cell.source for cell in cells))
    assert [page for page in pages if not page.startswith("http") and not (EXAMPLES / page).exists()] == []


@pytest.mark.parametrize(("number", "task", "code"), CELLS, ids=[number for number, _, _ in CELLS])
def test_a_cell_runs_as_it_stands(number, task, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names_of(code.source)
    assert re.fullmatch(rf"Exercise {number}, .*: nothing is there yet\.\n", capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == []
    assert len(task.split()) <= MOST_TASK


GIVEN = [
    ("1.1", "layers", Kind.VALUE),
    ("7.1", "slow", Kind.FORBIDDEN),
    ("7.3", "by_python", Kind.FORBIDDEN),
    ("8.2", "build", Kind.FORBIDDEN),
    ("13.2", "truncated", Kind.VALUE),
    ("15.2", "losses_of", Kind.VALUE),
]


@pytest.mark.opencl
@pytest.mark.parametrize(("number", "name", "kind"), GIVEN)
def test_what_is_to_be_changed_is_not_yet_right(number, name, kind):
    """The function that a cell gives is found wanting for the reason for which it is to be changed."""
    (code,) = [code for n, _, code in CELLS if n == number]
    report = tf.lessons.grade(number, names_of(code.source)[name])
    assert report.kind is kind, report


@pytest.mark.opencl
def test_lenet_out_of_a_builder():
    """The tensor of a drawing is an answer, as one of a program is."""
    lines = [
        "import tfnb as tf",
        "images = tf.placeholder(tf.float32, [None, 28, 28, 1])",
        "conv2d = tf.layers.conv2d(images, filters=20, kernel_size=5)",
        "pool = tf.layers.max_pooling2d(conv2d, pool_size=2, strides=2)",
        "conv2d_1 = tf.layers.conv2d(pool, filters=48, kernel_size=5)",
        "pool_1 = tf.layers.max_pooling2d(conv2d_1, pool_size=2, strides=2)",
        "flatten = tf.layers.flatten(pool_1)",
        "dense = tf.layers.dense(flatten, units=120)",
        "dense_1 = tf.layers.dense(dense, units=10)",
    ]
    view = tf.builder("\n".join(lines) + "\n")
    before = len(view["dense_1"].graph.get_operations())
    report = tf.lessons.grade("10.1", view["dense_1"])
    assert report.kind is Kind.RIGHT, report
    assert len(view["dense_1"].graph.get_operations()) == before
    assert tf.lessons.grade("10.1", view["dense"]).kind is Kind.SHAPE
