"""Frames and notes: comments of the source that are drawn.

A frame is a comment `# frame Encoder [#88aaff]: conv1, conv2`, a note any other comment that has lines of its own.
Invariant: a comment inside of a statement is a part of that statement, and is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program
from tfnb.notebook.builder.writing import Splice, insertion, spliced
from tfnb.notebook.protocol.builder import Frame, Note, SetFrame, SetNote

__all__ = ["frame_renames", "frames_of", "notes_of", "set_frame", "set_note"]

_FRAME = re.compile(r"# frame (?P<title>.*) \[(?P<colour>[^\[\]]*)\]: ?(?P<nodes>.*)$")
_OWN_LINE = re.compile(r"[ \t\f]*(#[^\r\n]*)")
_MOST_TEXT = 10_000


class _Comment(NamedTuple):
    """A comment on lines of its own: its place and its lines, each with the sign and without indentation."""

    start: int
    end: int
    line: int
    lines: tuple[str, ...]


@remembered("comments of the builder's programs", 8)
def _comments(program: Program) -> tuple[_Comment, ...]:
    """The comments between statements; comments on consecutive lines are one, except frames.

    Between statements there is nothing but comments and the headers of `with` blocks, so a line that begins with "#"
    is a comment.
    """
    comments: list[_Comment] = []
    if "#" not in program.source:
        return ()
    spans = sorted({*((s.start, s.end) for s in program.statements), *_headers(program)})
    k = 0
    for number, line in enumerate(program.places.starts, 1):
        m = _OWN_LINE.match(program.source, line)
        if m is None:
            continue
        start, end, text = m.start(1), m.end(1), m[1]
        while k < len(spans) and spans[k][1] <= start:
            k += 1
        if k < len(spans) and spans[k][0] <= start:
            continue
        last = comments[-1] if comments else None
        joins = last is not None and number == last.line + len(last.lines)
        if last is not None and joins and not _FRAME.match(text) and not _FRAME.match(last.lines[-1]):
            comments[-1] = last._replace(end=end, lines=(*last.lines, text))
        else:
            comments.append(_Comment(start, end, number, (text,)))
    return tuple(comments)


def _headers(program: Program) -> Iterator[tuple[int, int]]:
    """The places of what is opened by the `with` blocks whose statements are nodes."""
    for block in {b for s in program.statements for b in (s.block.chain() if s.block is not None else ())}:
        first, last = block.tree.items[0], block.tree.items[-1]
        yield program.places.span(first.context_expr)[0], program.places.span(last.context_expr)[1]


def frames_of(program: Program) -> list[Frame]:
    """Returns the frames of a source; nodes that are not there any more are left out."""
    frames: list[Frame] = []
    for comment in _comments(program):
        m = _FRAME.match(comment.lines[0])
        if m is not None:
            nodes = [n.strip() for n in m["nodes"].split(",")]
            nodes = [n for n in nodes if n in program.by_id]
            frames.append(
                {"id": f"frame:{len(frames) + 1}", "title": m["title"], "colour": m["colour"], "nodes": nodes}
            )
    return frames


def notes_of(program: Program) -> list[Note]:
    """Returns the notes of a source."""
    notes: list[Note] = []
    for comment in _note_comments(program):
        text = "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in comment.lines)
        notes.append({"id": f"note:{len(notes) + 1}", "text": text, "line": comment.line})
    return notes


def _note_comments(program: Program) -> list[_Comment]:
    return [c for c in _comments(program) if not _FRAME.match(c.lines[0])]


def set_frame(state: State, edit: SetFrame) -> Change:
    """Makes, changes or removes a frame."""
    program = state.program
    nodes = [state.statement(n).id for n in dict.fromkeys(edit["nodes"])]
    title = _one_line(edit["title"], "a title").replace("[", "(").replace("]", ")")
    colour = _one_line(edit["colour"], "a colour").replace("[", "").replace("]", "")
    text = f"# frame {title} [{colour}]: {', '.join(nodes)}"
    if edit["id"]:
        frames = [c for c in _comments(program) if _FRAME.match(c.lines[0])]
        numbers = {f"frame:{k + 1}": c for k, c in enumerate(frames)}
        if edit["id"] not in numbers:
            raise InvalidArgumentError(f"there is no frame {edit['id']} any more")
        comment = numbers[edit["id"]]
        if not nodes:
            return Change(spliced(program.source, [_without(program, comment)]), message="frame removed")
        source = spliced(program.source, [Splice(comment.start, comment.end, text)])
        return Change(source, message=f"frame {title} changed")
    if not nodes:
        raise InvalidArgumentError("a frame needs at least one node")
    first = min((program.by_id[n] for n in nodes), key=lambda s: s.index)
    place = program.places.line_start(first.outer[0])
    source = spliced(program.source, [Splice(place, place, text + program.new_line())])
    return Change(source, message=f"frame {title} around {len(nodes)} nodes")


def set_note(state: State, edit: SetNote) -> Change:
    """Makes, changes or removes a note."""
    program = state.program
    if len(edit["text"]) > _MOST_TEXT:
        raise InvalidArgumentError(f"a note has at most {_MOST_TEXT} characters")
    lines = [f"# {line}".rstrip() for line in re.split(r"\r\n|\r|\n", edit["text"])]
    if any(_FRAME.match(line) for line in lines):
        raise InvalidArgumentError("a note cannot look like a frame")
    if not edit["id"]:
        if not edit["text"].strip():
            raise InvalidArgumentError("a note needs a text")
        if not edit["before"]:
            return Change(spliced(program.source, insertion(program, lines, None)), message="note added")
        statement = state.statement(edit["before"])
        place = program.places.line_start(statement.start)
        indent = program.source[place : statement.start]
        text = "".join(f"{indent if not indent.strip() else ''}{line}{program.new_line()}" for line in lines)
        return Change(spliced(program.source, [Splice(place, place, text)]), message="note added")
    numbers = {f"note:{k + 1}": c for k, c in enumerate(_note_comments(program))}
    if edit["id"] not in numbers:
        raise InvalidArgumentError(f"there is no note {edit['id']} any more")
    comment = numbers[edit["id"]]
    if not edit["text"].strip():
        return Change(spliced(program.source, [_without(program, comment)]), message="note removed")
    indent = program.source[program.places.line_start(comment.start) : comment.start]
    text = (program.new_line() + indent).join(lines)
    return Change(spliced(program.source, [Splice(comment.start, comment.end, text)]), message="note changed")


def _without(program: Program, comment: _Comment) -> Splice:
    return Splice(program.places.line_start(comment.start), program.places.next_line(comment.end), "")


def _one_line(text: str, what: str) -> str:
    if re.search(r"[\r\n]", text) or len(text) > 200:
        raise InvalidArgumentError(f"{what} is one line of at most 200 characters")
    return text.strip()


def frame_renames(program: Program, names: dict[str, str]) -> list[Splice]:
    """The splices that follow nodes in the comments of frames: to their new ids, or out of the frame with ""."""
    splices = []
    for comment in _comments(program):
        m = _FRAME.match(comment.lines[0])
        if m is None:
            continue
        nodes = [n.strip() for n in m["nodes"].split(",") if n.strip()]
        changed = [n for n in (names.get(n, n) for n in nodes) if n]
        if changed == nodes:
            continue
        if not changed:
            splices.append(_without(program, comment))
        else:
            start = comment.start + m.start("nodes")
            splices.append(Splice(start, comment.end, ", ".join(changed)))
    return splices
