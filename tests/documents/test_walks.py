"""The walks of CONTRIBUTING.md are true: a real run goes through their functions in this order and never climbs back."""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np
import pytest
from test_layers import BASE, MAY_IMPORT

import tfnb as tf

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^(\d+)\. \[`([\w.]+)`\]\(([\w/]+\.py)\)", re.MULTILINE)
MOST_FILES = 12

# A file of a lower layer that calls a function which it was given, in place of the caller.
CALLS_FOR_THE_CALLER = {"tfnb/runtime/deadline.py"}


class Step(NamedTuple):
    """A step of a walk: a function, by its qualified name, and the file that defines it."""

    function: str
    path: str


class Call(NamedTuple):
    """A call that a run has made, from the nearest function of tfnb above it (None: from the user's code)."""

    path: str
    code: CodeType
    caller: str | None


def walk(title: str) -> list[Step]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition(f"### {title}\n")[2].partition("\n#")[0]
    steps = STEP.findall(section)
    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    return [Step(function, path) for _, function, path in steps]


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


def path_of(frame: FrameType) -> str | None:
    """The path in this repository of the file that a frame runs; None outside tfnb."""
    file = Path(frame.f_code.co_filename)
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT / "tfnb") else None


def calls_of(run: Callable[[], object]) -> list[Call]:
    """The calls of functions of tfnb that `run()` makes in this thread, in order."""
    calls: list[Call] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (path := path_of(frame)) is None:
            return
        above = frame.f_back
        while above is not None and path_of(above) is None:
            above = above.f_back
        calls.append(Call(path, frame.f_code, None if above is None else path_of(above)))

    gc.collect()  # or else what earlier tests have dropped may be freed, and call something, in the middle
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def layers_below(package: str) -> set[str]:
    """The packages that `package` may import, and those that these may import."""
    direct = BASE | MAY_IMPORT.get(package, set()) if package not in BASE else set()
    return direct.union(*(layers_below(p) for p in direct))


def package_of(path: str) -> str:
    return path.split("/")[1].removesuffix(".py")


def out_of_order(steps: list[Step], calls: list[Call]) -> list[str]:
    """The steps that the run did not reach after the steps before them."""
    missing, begin = [], 0
    for step in steps:
        line = first_lines(step.path).get(step.function)
        name = step.function.rpartition(".")[2]
        for n in range(begin, len(calls)):
            code = calls[n].code
            if (calls[n].path, code.co_name, code.co_firstlineno) == (step.path, name, line):
                begin = n + 1
                break
        else:
            missing.append(f"{step.path}:{step.function}")
    return missing


def climbs(steps: list[Step], calls: list[Call]) -> list[str]:
    """The calls from a lower layer into a file of the walk that the run had visited before."""
    files, visited, found = {step.path for step in steps}, set[str](), dict[str, None]()
    for call in calls:
        caller = None if call.caller in CALLS_FOR_THE_CALLER else call.caller
        if caller and call.path in visited and package_of(caller) in layers_below(package_of(call.path)):
            found[f"{caller} calls {call.code.co_name} of {call.path}"] = None
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


WALKS = {"A feed through `Session.run`": feed, "A `while_loop` from client to executor": loop}


@pytest.mark.opencl
@pytest.mark.parametrize("title", WALKS)
def test_a_run_follows_the_walk(title):
    steps = walk(title)
    assert 5 < len(steps) <= MOST_FILES and len({s.path for s in steps}) == len(steps)
    calls = WALKS[title]()
    assert out_of_order(steps, calls) == []
    assert climbs(steps, calls) == []


@pytest.mark.parametrize("title", WALKS)
def test_every_function_of_a_walk_exists(title):
    assert [s for s in walk(title) if s.function not in first_lines(s.path)] == []


def test_a_wrong_walk_is_found():
    """The checks above can fail: for a step too early, a function that did not run, a call from below."""
    code = {name: calls_of.__code__.replace(co_name=name, co_firstlineno=line) for name, line in (("a", 1), ("b", 1))}
    above, below = "tfnb/session/session.py", "tfnb/devices/buffers.py"
    calls = [Call(above, code["a"], None), Call(below, code["b"], above), Call(above, code["b"], below)]
    assert out_of_order([Step("no_such_function", above)], calls) == [f"{above}:no_such_function"]
    assert climbs([Step("a", above), Step("b", below)], calls) == [f"{below} calls b of {above}"]
    assert climbs([Step("a", above), Step("b", below)], calls[:2]) == []
    swapped = walk("A feed through `Session.run`")[::-1]
    ran = [
        Call(s.path, calls_of.__code__.replace(co_name=s.function.rpartition(".")[2], co_firstlineno=line), None)
        for s in swapped[::-1]
        if (line := first_lines(s.path)[s.function])
    ]
    assert out_of_order(swapped[::-1], ran) == [] and len(out_of_order(swapped, ran)) == len(swapped) - 1
