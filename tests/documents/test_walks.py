"""The walks of docs/architecture.md are true: a real run goes through their steps in this order and never climbs back."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from recorded_calls import Call, calls_in_a_new_process, calls_of
from test_layers import BASE, MAY_IMPORT

import tfnb as tf
from tfnb import ops
from tfnb.client.rnn import cells
from tfnb.frontend import import_hook
from tfnb.ops.nn import activations
from tfnb.v1.names import internal_modules

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^(\d+)\. \[`([\w.]+)`\]\(\.\./([\w/]+\.py)\)", re.MULTILINE)

# A file of a lower layer that calls a function which it was given, in place of the caller.
CALLS_FOR_THE_CALLER = {"tfnb/runtime/deadline.py"}


class Step(NamedTuple):
    """A step of a walk: what it looks at, by its qualified name, and the file that defines it."""

    name: str
    path: str


def walk(title: str) -> list[Step]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition(f"### {title}\n")[2].partition("\n#")[0]
    steps = STEP.findall(section)
    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    return [Step(name, path) for _, name, path in steps]


def first_lines(path: str) -> dict[str, int]:
    """The line on which the code of each function of a file begins, decorators included, by qualified name."""
    found: dict[str, int] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                found[prefix + child.name] = min([child.lineno, *(d.lineno for d in child.decorator_list)])
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse((ROOT / path).read_text(encoding="utf-8")), "")
    return found


def names_of(path: str) -> set[str]:
    """The functions of a file, and the classes and tables at its top."""
    tops: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            tops.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            tops.update(target.id for target in targets if isinstance(target, ast.Name))
    return {*first_lines(path), *tops}


def layers_below(package: str) -> set[str]:
    """The packages that `package` may import, and those that these may import."""
    direct = BASE | MAY_IMPORT.get(package, set()) if package not in BASE else set()
    return direct.union(*(layers_below(p) for p in direct))


def package_of(path: str) -> str:
    return path.split("/")[1].removesuffix(".py")


def out_of_order(steps: list[Step], calls: list[Call]) -> list[str]:
    """The functions among the steps that the run did not reach after the functions before them."""
    missing, begin = [], 0
    for step in steps:
        line = first_lines(step.path).get(step.name)
        if line is None:  # a class or a table, which does not run
            continue
        name = step.name.rpartition(".")[2]
        for n in range(begin, len(calls)):
            if calls[n][:3] == (step.path, name, line):
                begin = n + 1
                break
        else:
            missing.append(f"{step.path}:{step.name}")
    return missing


def climbs(steps: list[Step], calls: list[Call]) -> list[str]:
    """The calls from a lower layer into a file of the walk that the run had visited before."""
    files, visited, found = {step.path for step in steps}, set[str](), dict[str, None]()
    for call in calls:
        caller = None if call.caller in CALLS_FOR_THE_CALLER else call.caller
        if caller and call.path in visited and package_of(caller) in layers_below(package_of(call.path)):
            found[f"{caller} calls {call.name} of {call.path}"] = None
        if call.path in files:
            visited.add(call.path)
    return list(found)


def feed() -> list[Call]:
    """A feed of 64 KB, which goes to the device where it lies, into a step that is compiled already."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 128])
        y = tf.nn.relu(tf.matmul(x, tf.ones([128, 128])) + 1.0)
        batch = np.ones((128, 128), np.float32)
        session.run(y, {x: batch})
        results = []
        calls = calls_of(lambda: results.append(session.run(y, {x: batch})))
        np.testing.assert_array_equal(results[0], np.full((128, 128), 129.0))
    return calls


def loop() -> list[Call]:
    """A `while_loop` from its construction to its first run."""
    with tf.Graph().as_default(), tf.Session() as session:
        results = []

        def build_and_run() -> None:
            i, x = tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2.0), (0, tf.ones([3])))
            results.append(session.run((i, x)))

        calls = calls_of(build_and_run)
        assert results[0][0] == 5 and results[0][1].tolist() == [32.0] * 3
    return calls


def name_of_an_op() -> list[Call]:
    """The first use of `tf.nn.relu` in a new process; what it is made of, in this one."""
    assert tf.nn.relu is ops.API["nn.relu"] and ops.CATALOG["Relu"] is activations.RELU
    assert activations.RELU.api == "nn.relu" and tf.nn.relu.__doc__ == activations.RELU.doc
    assert calls_of(lambda: tf.nn.relu) == []  # nothing is looked up when the name is used again
    paths = {step.path for step in walk("What is `tf.nn.relu`?")}
    calls = calls_in_a_new_process("import tfnb as tf; tf.nn.relu", paths)
    # What is imported then asks modules of tfnb for attributes, too, by `from tfnb.ir import ...`.
    place = "tfnb/client/namespace.py"
    begin = next(n for n, call in enumerate(calls) if call.path != place)
    return calls[:begin] + [call for call in calls[begin:] if call.path != place]


def name_of_the_source() -> list[Call]:
    """An attribute of a module of TensorFlow's source, as a program uses it."""
    found = []
    with import_hook().installation():
        module = import_module("tensorflow.python.ops.rnn_cell_impl")
        calls = calls_of(lambda: found.append(module.LSTMCell))
    place = internal_modules.VIEWS["python.ops.rnn_cell_impl"][0]
    assert place == "nn.rnn_cell" and found == [tf.nn.rnn_cell.LSTMCell] == [cells.API[f"{place}.LSTMCell"]]
    assert cells.API["nn.rnn_cell.LSTMCell"] is cells.LSTMCell
    return calls


# title -> the program, and at most how many files
WALKS: dict[str, tuple[Callable[[], list[Call]], int]] = {
    "A feed through `Session.run`": (feed, 12),
    "A `while_loop` from client to executor": (loop, 12),
    "What is `tf.nn.relu`?": (name_of_an_op, 4),
    "What is `tensorflow.python.ops.rnn_cell_impl.LSTMCell`?": (name_of_the_source, 4),
}


@pytest.mark.opencl
@pytest.mark.parametrize("title", WALKS)
def test_a_run_follows_the_walk(title):
    steps, (run, most) = walk(title), WALKS[title]
    assert most // 2 < len(steps) <= most and len({s.path for s in steps}) == len(steps)
    calls = run()
    assert out_of_order(steps, calls) == []
    assert climbs(steps, calls) == []


def test_the_page_has_no_other_walks():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("\n## Walks\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (.*)$", section, re.MULTILINE) == list(WALKS)


@pytest.mark.parametrize("title", WALKS)
def test_every_name_of_a_walk_exists(title):
    assert [s for s in walk(title) if s.name not in names_of(s.path)] == []


def test_a_wrong_walk_is_found():
    """The checks above can fail: for a step too early, a function that did not run, a call from below."""
    above, below = "tfnb/session/session.py", "tfnb/devices/buffers.py"
    calls = [Call(above, "a", 1, None), Call(below, "b", 1, above), Call(above, "b", 1, below)]
    assert out_of_order([Step("Session.run", above)], calls) == [f"{above}:Session.run"]
    assert climbs([Step("a", above), Step("b", below)], calls) == [f"{below} calls b of {above}"]
    assert climbs([Step("a", above), Step("b", below)], calls[:2]) == []
    swapped = walk("A feed through `Session.run`")[::-1]
    ran = [
        Call(s.path, s.name.rpartition(".")[2], line, None)
        for s in swapped[::-1]
        if (line := first_lines(s.path)[s.name])
    ]
    assert out_of_order(swapped[::-1], ran) == [] and len(out_of_order(swapped, ran)) == len(swapped) - 1
    assert names_of("tfnb/v1/names/internal_modules.py") >= {"VIEWS", "API"}
    assert not {"no_such_function", "VIEW"} & names_of("tfnb/v1/names/internal_modules.py")
