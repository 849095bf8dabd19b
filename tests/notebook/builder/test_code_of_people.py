"""Code written by people opens, is edited by a random legal edit, and keeps every other byte and its results."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import re
from pathlib import Path

import pytest
from builder_gestures import Editor, add

import tfnb as tf

ROOT = Path(__file__).resolve().parents[3]


def of_examples():
    """The examples, notebooks as one program."""
    for path in sorted((ROOT / "examples").glob("[0-9o-t]*.*")):
        if path.name == "10_builder.ipynb":  # its cells are programs of their own, one with a mistake to mend
            continue
        text = path.read_text("utf-8")
        if path.suffix == ".ipynb":
            cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
            text = "\n".join("".join(c["source"]) for c in cells) + "\n"
        yield path.name, text


def of_model_programs():
    """The bodies of `build(tf, data, rate)` of the programs of 2016, as programs of their own."""
    for path in sorted((ROOT / "tests" / "programs" / "model_programs").rglob("*.py")):
        text = path.read_text("utf-8")
        build = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "build")
        lines = text.splitlines(keepends=True)
        body = lines[build.body[0].lineno - 1 : build.end_lineno]
        body = [re.sub(r"^    ", "", line) for line in body if not re.match(r"    return\b", line)]
        rest = "".join(lines[: build.lineno - 1] + lines[build.end_lineno :])
        yield f"{path.stem}", f"{rest}\nrate = RATE\n" + "".join(body)


def of_benchmarks():
    """The measuring programs, and the programs of 2016 as they are: functions, classes and loops around the graph."""
    for path in sorted(
        [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests" / "programs" / "model_programs").rglob("*.py")]
    ):
        text = path.read_text("utf-8")
        if "tf." in text and len(text) < 12_000:
            yield f"whole_{path.stem}", text


def of_documents():
    """The programs in the documents."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), flags=re.M | re.S)
        for k, block in enumerate(blocks):
            if "tf." in block and "=" in block:
                try:
                    ast.parse(block)
                except SyntaxError:
                    continue
                yield f"{path.stem}_{k}", block


PROGRAMS = [*of_examples(), *of_model_programs(), *of_documents(), *of_benchmarks()]


def test_there_are_the_examples_and_fifty_more():
    assert len(PROGRAMS) >= len(list(of_examples())) + 50


def without_new_lines(source, lines):
    left = source.splitlines(keepends=True)
    for line in lines:
        left.remove(next(x for x in left if x.strip() == line))
    return "".join(left)


def imported(before, after):
    """The import of `tf` that a program without one gets with its first operation."""
    line = "import tfnb as tf"
    return [line] if after.count(line) > before.count(line) else []


@pytest.mark.parametrize(("name", "source"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_it_opens_and_an_edit_leaves_every_other_byte(name, source):
    r = random.Random(name)
    e = Editor(source)
    assert e.drawing["waits_for_line"] == 0 and e.source == source
    named = [
        n
        for n, node in e.nodes.items()
        if n.isidentifier() and not node["source"].startswith(("def", "class", "for", "with"))
    ]
    for _ in range(3):
        node = r.choice(named) if named else ""
        kind = r.choice(["add", "rename", "note", "frame", "move"]) if node else "add"
        if kind == "add":
            drawing = e.attempt(add("tf.identity", [("input", node)] if node else []))
            new = drawing["selected"]
            assert (
                drawing["is_refused"]
                or without_new_lines(e.source, [e.nodes[new[0]]["source"], *imported(source, e.source)]).rstrip()
                == source.rstrip()
            )
        elif kind == "rename":
            e.do({"edit": "rename", "node": node, "name": "renamed__"})
            assert re.sub(r"\brenamed__\b", node, e.source) == source
        elif kind == "note":
            e.do({"edit": "note", "id": "", "text": "a note of a test", "before": node})
            assert without_new_lines(e.source, ["# a note of a test"]) == source
        elif kind == "frame":
            e.do({"edit": "frame", "id": "", "title": "part", "colour": "#123456", "nodes": [node]})
            assert without_new_lines(e.source, [f"# frame part [#123456]: {node}"]) == source
        else:
            e.do({"edit": "move", "positions": {node: [1, 2]}})
            assert e.source == source
        if e.drawing["can_undo"]:
            e.undo()
        assert e.source == source


def graph_of(source, data):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        exec(compile(source, "program", "exec"), {"tf": tf, "data": data, "__name__": "program"})
    return graph.as_graph_def()


@pytest.mark.parametrize(("name", "source"), list(of_model_programs()), ids=[p[0] for p in of_model_programs()])
def test_the_results_stay_the_same(name, source):
    """A rename and a note change nothing that is built, so nothing that is computed."""
    spec = importlib.util.spec_from_file_location("loading", ROOT / "tests" / "programs" / "loading.py")
    loading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loading)
    e = Editor(source)
    before = graph_of(source, loading.Data())
    r = random.Random(name)
    candidates = [n for n, node in e.nodes.items() if n.isidentifier() and node["source"].startswith(n)]
    node = r.choice(candidates)
    e.do(
        {"edit": "rename", "node": node, "name": "renamed__"},
        {"edit": "note", "id": "", "text": "n", "before": "renamed__"},
    )
    assert e.source != source
    assert graph_of(e.source, loading.Data()) == before
