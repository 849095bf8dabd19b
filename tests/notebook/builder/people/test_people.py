"""Programs with people's habits: random legal edits, after which every other byte and all results are as before."""

from __future__ import annotations

import contextlib
import difflib
import io
import random
import re

import numpy as np
import pytest
from builder_gestures import Editor, add
from people_programs import PROGRAMS

import tfnb as tf

EDITS = 3


def test_there_are_fifty_habits():
    assert len(PROGRAMS) >= 50 and len(set(PROGRAMS.values())) == len(PROGRAMS)


def outcome(source):
    """What a program prints, and its variables that are plain data."""
    names, printed = {"__name__": "__main__"}, io.StringIO()
    with tf.Graph().as_default(), contextlib.redirect_stdout(printed):
        exec(compile(source, "program", "exec"), names)
    data = {n: repr(v) for n, v in names.items() if isinstance(v, bool | int | float | str | np.ndarray)}
    return printed.getvalue(), data


def lines_of(source):
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", source)  # `splitlines` splits at a form feed, too


def untouched(before, after, touched):
    """Are the lines outside of the numbers `touched` there as before, to the byte and in the same order?"""
    matcher = difflib.SequenceMatcher(None, lines_of(before), lines_of(after), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag in ("replace", "delete") and not set(range(start, end)) <= touched:
            return False
    return True


def lines_at(program, statements):
    found = set()
    for s in statements:
        found |= set(range(program.places.line_of(s.start) - 1, program.places.line_of(max(s.start, s.end - 1))))
    return found


def is_operation(text):
    """Does a statement call nothing but the library, so that it can be done twice?"""
    return not text.startswith("del ") and all(
        call.startswith("tf.") and "collection" not in call for call in re.findall(r"([\w.]+)\(", text)
    )


def edits_at(r, node, number, is_tensor, is_pure):
    """The edits that change no result, in a random order."""
    kinds = {
        "add": add("tf.no_op"),
        "rename": {"edit": "rename", "node": node, "name": f"other_{number}"},
        "note": {"edit": "note", "id": "", "text": f"note {number}", "before": node},
        "frame": {"edit": "frame", "id": "", "title": f"part {number}", "colour": "#123456", "nodes": [node]},
        "set": {"edit": "set", "node": node, "name": "name", "text": f"'called_{number}'"},
        "group": {"edit": "group", "nodes": [node], "name": f"group_{number}"},
    }
    if is_tensor:
        kinds["read"] = add("tf.identity", [("input", node)])
    if is_pure:  # a call of anything else may do more than make tensors, and then does it twice
        kinds["duplicate"] = {"edit": "duplicate", "nodes": [node]}
    return r.sample(list(kinds.items()), len(kinds))


@pytest.mark.opencl
@pytest.mark.parametrize(("name", "source"), PROGRAMS.items(), ids=list(PROGRAMS))
def test_random_legal_edits_leave_other_bytes_and_results(name, source):
    r = random.Random(name)
    e = Editor(source, is_trusted=True)
    assert e.source == source and e.drawing["waits_for_line"] == 0
    printed, data = outcome(source)
    assert printed or data
    sources, done, renamed = [source], [], {}
    for number in range(EDITS):
        chosen = r.choice(list(e.nodes))
        is_tensor = any(output["dtype"] for output in e.nodes[chosen]["outputs"][:1])
        for kind, edit in edits_at(r, chosen, number, is_tensor, is_operation(e.nodes[chosen]["source"])):
            before, program = e.source, e.document.program
            drawing = e.attempt(edit)
            if drawing["is_refused"] or e.source == before:
                assert e.source == before and (drawing["message"] or not drawing["is_refused"])
                continue
            if any(n["problem"] is not None for n in e.nodes.values()):  # it says so; the program would not run
                e.undo()
                assert e.source == before
                continue
            touched = set()
            node = edit.get("node") or (edit.get("nodes") or [""])[0]
            if kind == "rename":
                old = program.by_id[node].names[0] if program.by_id[node].names else ""
                assert re.sub(rf"\bother_{number}\b", old, e.source) == before or (
                    node.startswith("line:") and e.source.replace(f"other_{number} = ", "", 1) == before
                )
                touched = None
            elif kind in ("set", "group"):
                statement = program.by_id[node]
                touched = lines_at(program, [statement, *program.readers(statement)])
            assert touched is None or untouched(before, e.source, touched), (kind, before, e.source)
            if kind == "rename":
                renamed[f"other_{number}"] = node
            sources.append(e.source)
            done.append(kind)
            break
    assert len(done) == EDITS, f"only {done} could be done"
    after_printed, after = outcome(e.source)
    assert after_printed == printed, (done, e.source)
    for new, old in reversed(renamed.items()):
        if new in after:
            after[old.partition(":")[0]] = after[new]
    assert {n: after.get(n) for n in data} == data, (done, e.source)
    for former in reversed(sources[:-1]):
        e.undo()
        assert e.source == former
    for later in sources[1:]:
        e.redo()
        assert e.source == later
