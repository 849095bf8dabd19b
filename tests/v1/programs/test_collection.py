"""scripts/old_programs: how programs are chosen, changed, compared and counted. The programs themselves are not run."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tfnb as tf

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts" / "old_programs"
NAMES = ("table", "sources", "choose", "compare", "report", "run")


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(SCRIPTS))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    sys.path.remove(str(SCRIPTS))
    for name in NAMES:
        del sys.modules[name]


def step(values=(), feeds=(), random=False, changes=False):
    arrays = [[[len(v)], sum(abs(x) for x in v) / len(v), list(v)] for v in values]
    return {"values": arrays, "feeds": [[[1], float(f)] for f in feeds], "random": random, "changes": changes}


def record(*steps, times=()):
    return {"runs": list(steps), "times": list(times), "own": len(steps), "error": ""}


def result(code=0, of=None, output="", timed_out=False):
    version = {"version": "1.15.5", "limit": 80, "commit": "0123abcd", "when": "2026-11-26T01:02:03"}
    return {"code": code, "record": of, "output": output, "timed_out": timed_out, **version}


def test_the_table_is_read_as_it_is_written(scripts, tmp_path):
    programs = [
        scripts.table.Program("a/b", "c0", "x y.py", True, ("--steps", "3")),
        scripts.table.Program("a/b", "c0", "z.ipynb", False),
    ]
    scripts.table.write_programs(programs, tmp_path / "t.tsv")
    assert scripts.table.read_programs(tmp_path / "t.tsv") == programs
    assert programs[0].key == "a+b+x_y.py"


def test_the_collection_is_large_and_half_of_it_uses_contrib(scripts):
    programs = scripts.table.read_programs()
    repositories = {p.repository for p in programs}
    assert len(programs) == len({p.key for p in programs}) >= 150 and len(repositories) >= 40
    assert 2 * sum(p.contrib for p in programs) >= len(programs)
    assert repositories <= set(scripts.table.read_repositories())
    assert all(len(p.commit) == 40 for p in programs)


def test_notebooks_and_python_2(scripts):
    cells = [
        {"cell_type": "markdown", "source": ["text"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "print 'a'\n", "  \n", "!ls"]},
        {"cell_type": "code", "source": "%%bash\nls"},
    ]
    text = scripts.sources.cells(json.dumps({"cells": cells}))
    assert text.splitlines() == ["pass", "print 'a'", "  ", "pass"]
    assert "print('a')" in scripts.sources.python3(text)
    assert scripts.sources.python3("x = 1\n") == "x = 1\n"
    assert scripts.sources.python3("def def\n") is None and scripts.sources.cells("no JSON") == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("training_epochs = 15", "training_epochs = 2"),
        ("n_epochs=1", "n_epochs=1"),
        ("'max_steps', 20000, 'how many'", "'max_steps', 60, 'how many'"),
        ("num_steps = 28  # of a sequence", "num_steps = 28  # of a sequence"),
        ("iterations = 1e5", "iterations = 60"),
        ("n_steps = 28", "n_steps = 28"),
    ],
)
def test_few_epochs(scripts, before, after):
    assert scripts.sources.few_epochs(before) == after


def test_a_commit_is_checked_out(scripts, tmp_path):
    where = tmp_path / "mirrors" / "a+b" / "repo"

    def git(*arguments):
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(("git", "-C", str(where), *author, *arguments), check=True, capture_output=True)

    (where / "sub").mkdir(parents=True)
    (where / "sub" / "x.py").write_text("x = 1\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    directory = scripts.sources.git_directory("a/b", tmp_path, tmp_path / "mirrors")
    scripts.sources.checkout(directory, "HEAD", tmp_path / "tree")
    assert (tmp_path / "tree" / "sub" / "x.py").read_text() == "x = 1\n"
    assert not (tmp_path / "tree" / ".git").exists()


def test_what_is_a_program(scripts):
    head = "import tensorflow as tf\nimport mine\n"
    trains = "with tf.Session() as s:\n    s.run(1)\n"
    is_program = scripts.choose.is_program
    assert is_program(head + trains, ["mine"])
    assert not is_program(head + trains, [])  # its module is missing
    assert not is_program(head + "def f():\n    tf.Session()\n", ["mine"])  # it only defines
    assert not is_program(head + trains + "tf.enable_eager_execution()\n", ["mine"])
    assert scripts.choose.imported(ast.parse("from a.b import c\nfrom . import d\nimport e.f\n")) == {"a", "e"}


def test_contrib_is_found_in_the_programs_own_modules(scripts, tmp_path):
    (tmp_path / "model.py").write_text("import layer\n")
    (tmp_path / "layer.py").write_text("from tensorflow.contrib import slim\n")
    program = tmp_path / "train.py"
    program.write_text("import model\n")
    own = scripts.choose.neighbours(program)
    assert scripts.choose.uses_contrib(program, program.read_text(), own)
    assert not scripts.choose.uses_contrib(program, "import os\n", own)


def test_half_of_the_chosen_use_contrib(scripts):
    programs = [scripts.table.Program(f"a/{i // 20}", "c", f"{i}.py", i % 5 == 0) for i in range(400)]
    chosen = scripts.choose.choose(programs, 60)
    assert len(chosen) == 60 and sum(p.contrib for p in chosen) >= 30
    assert scripts.choose.choose(reversed(programs), 60) == chosen
    each = [sum(p.repository == r for p in chosen) for r in {p.repository for p in chosen}]
    assert max(each) <= scripts.choose.EACH


def test_values_step_by_step(scripts):
    compare = scripts.compare.compare_values
    there = record(step([[1.0, 2.0]], [3.0]), step(), step([[4.0]]))
    assert compare(there, record(step([[1.0, 2.001]], [3.0]), step(), step([[4.0]]))).steps == 2
    assert compare(there, record(step([[1.0, 2.001]], [3.0]))).agree
    assert not compare(there, record(step([[1.0, 2.1]], [3.0]))).agree
    assert not compare(there, record(step([[1.0]], [3.0]))).agree
    assert compare(there, record(step([[1.0, 9.0]], [5.0]))).note == "step 0 is fed otherwise"
    assert compare(record(step([[float("nan")]])), record(step([[float("nan")]]))).worst == 0.0


def test_steps_that_random_numbers_reach_are_not_compared(scripts):
    ours = record(step([[1.0]]), step([[2.0]]), step([[3.0]]))
    only_drawn = record(step([[1.0]]), step([[9.0]], random=True), step([[3.0]]))
    trained = record(step([[1.0]]), step([[9.0]], random=True, changes=True), step([[9.0]]))
    assert scripts.compare.compare_values(only_drawn, ours).steps == 2
    assert scripts.compare.compare_values(trained, ours).steps == 1


def test_a_step_in_which_tensorflow_differs_from_itself_ends_the_comparison(scripts):
    compare = scripts.compare.compare_values
    there, ours = record(step([[1.0]]), step([[2.0]]), step([[3.0]])), record(*[step([[1.0]])] * 3)
    stable, raced = record(step([[1.0]]), step([[2.0]]), step([[3.0]])), record(step([[1.0]]), step([[2.5]]))
    assert not compare(there, ours).agree and not compare(there, ours, [stable, stable]).agree
    found = compare(there, ours, [stable, raced])
    assert found.agree and found.steps == 1 and found.note == "TensorFlow differs from itself by 2e-01 in step 1"


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS / "child"))
    yield importlib.import_module("recorder")
    for name in ("recorder", "stand_ins"):
        del sys.modules[name]


def test_random_numbers_are_found_behind_queues_and_iterators(recorder):
    queue = tf.FIFOQueue(10, tf.float32, [[]])
    element = queue.dequeue()
    assert recorder.nature([element * 2.0]) == (False, False)
    queue.enqueue(tf.random_shuffle([1.0, 2.0])[0])
    assert recorder.nature([element * 2.0]) == (True, False)
    numbers = tf.data.Dataset.range(5)
    assert recorder.nature([numbers.make_initializable_iterator().get_next()]) == (False, False)
    assert recorder.nature([numbers.shuffle(5).make_initializable_iterator().get_next()]) == (True, False)


def test_random_numbers_are_found_behind_names(recorder):
    graph = tf.get_default_graph()
    drawn = tf.identity(tf.random_uniform([2]), name="drawn")
    elements = recorder.flat([["drawn:0"], {"a": "drawn"}, drawn, "missing:0"], graph)
    assert elements == [drawn, drawn.op, drawn, "missing:0"]
    assert recorder.nature(recorder.flat("drawn", graph)) == (True, False)


def test_folders_are_listed_in_the_order_of_names(recorder, tmp_path):
    names = sorted(f"{7 * i % 10}.txt" for i in range(10))
    for name in reversed(names):
        (tmp_path / name).touch()
    stand_ins = sys.modules["stand_ins"]
    with stand_ins.SortedEntries(os.scandir(tmp_path)) as entries:
        assert [entry.name for entry in entries] == names
    assert stand_ins.in_order(lambda folder: [p.name for p in Path(folder).iterdir()])(tmp_path) == names


def test_a_record_is_written_by_the_programs_own_process(recorder, tmp_path, monkeypatch):
    made = recorder.Recorder({"record": str(tmp_path / "record.json")})
    made.finish()
    assert json.loads((tmp_path / "record.json").read_text())["ended"] == "whole"
    made.ended = "cut"
    monkeypatch.setattr(os, "getpid", lambda: -1)
    made.finish()
    assert json.loads((tmp_path / "record.json").read_text())["ended"] == "whole"
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


def test_times_of_steady_steps(scripts):
    ratio = scripts.compare.time_ratio
    there = record(times=[["1|(2,)", [9.0, 2.0, 2.0, 2.0, 2.0, 2.0]], ["1|", [1.0]]])
    assert ratio(there, record(times=[["1|(2,)", [90.0] + [5.0] * 5]])) == 2.5
    assert ratio(there, record(times=[["1|", [1.0]]])) is None


def test_reasons(scripts):
    reason = scripts.compare.reason
    assert reason(result(-24, timed_out=True)) == "not at its end after 80 s of processor time"
    assert reason(result(None, timed_out=True)).startswith("ended: it only waited")
    assert reason(result(1, output="Traceback\n  File x\nValueError: bad\nbye\n")) == "ValueError: bad"
    assert reason(result(1, output="LookupError:\n****\n  Resource punkt not found.\n")).endswith("punkt not found.")
    assert reason(result(1, output="usage: a.py [-h]\na.py: error: no b\n")) == "a.py: error: no b"
    assert reason(result(2)) == "ended with 2"
    assert reason(result(255, output="--lr LR  a rate\n")) == "ended with 255 after: --lr LR  a rate"


def test_a_program_that_only_waits_is_ended(scripts, monkeypatch):
    monkeypatch.setattr(scripts.run, "LOOK_EACH", 1)
    monkeypatch.setattr(scripts.run, "MOST_IDLE", 1)
    assert scripts.run.code_of(subprocess.Popen(["sh", "-c", "exit 3"], start_new_session=True), 20) == 3
    assert scripts.run.code_of(subprocess.Popen(["sleep", "30"], start_new_session=True), 20) is None


def test_a_cell_names_no_folder_of_this_machine(scripts):
    cell = scripts.report.cell
    assert cell("at /home/me/env/lib/python3.7/site-packages/a.py") == "at site-packages/a.py"
    assert cell("MatMul (defined at /home/me/env/lib/python") == "MatMul (defined at lib/python"
    assert cell("\x1b[93mpunkt\x1b[0m not found") == "punkt not found"


def test_the_page_counts_its_lines(scripts, tmp_path):
    program = scripts.table.Program("a/b", "c", "x|y.py", True)
    ran = result(of=record(step([[1.0]])))
    failed = result(1, output="TypeError: no (/home/me/lib/python3.7/site-packages/x.py)")
    lines = [(program, ran, ran), (program, ran, failed), (program, failed, None), (program, None, None)]
    lines = [(*line, None) for line in lines]
    counts = scripts.report.write_page(lines, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "- 1 of 2 run here, 50.0 %" in counts and "2 run there" in counts and counts in page
    assert "2 of these were last run here on 2026-11-26, at commits up to 0123abcd" in counts
    assert "| a/b | x/y.py | yes | 1.15.5 | no |  |  | TypeError: no (site-packages/x.py) |" in page
