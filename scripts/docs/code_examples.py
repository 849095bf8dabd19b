"""The examples of public names: docs/examples/*.md, and the code of docs/how-to and docs/explanation, which run alike.

    PYTHONPATH=. python scripts/docs/code_examples.py [--write] [PAGE ...]

A page has sections, "## tf.reduce_sum" or "## tf.add, tf.subtract", each with prose and blocks of Python in the form of
the interpreter (`>>> `). A section runs in a graph and a session of its own, with `tf` and `np` there, in a temporary
folder; code before the first section runs before each. `--write` puts what the code prints into the pages: read it
before you commit it, since from then on the tests demand it.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tfnb as tf

__all__ = ["Section", "Sections", "by_name", "names_in", "pages", "read", "run"]

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs/examples", "docs/how-to", "docs/explanation")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Section(NamedTuple):
    """A section of a page. `line` is the number of lines of the page above its text."""

    page: Path
    heading: str
    text: str
    line: int

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted names of which this is the example, without `tf.`."""
        return tuple(part.removeprefix("tf.") for part in self.heading.split(", ") if part.startswith("tf."))

    @property
    def examples(self) -> list[doctest.Example]:
        """The statements in the blocks of code, with what they should print."""
        found = []
        for block in BLOCK.finditer(self.text):
            above = self.line + self.text[: block.start(1)].count("\n")
            for example in doctest.DocTestParser().get_examples(block.group(1)):
                example.lineno += above
                found.append(example)
        return found


class Sections(NamedTuple):
    """A page: what stands before its first section, and the sections."""

    head: Section
    sections: tuple[Section, ...]


def pages() -> list[Path]:
    """Returns the pages whose code runs, in order."""
    return [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]


def read(page: Path) -> Sections:
    """Returns the parts of a page."""
    parts = re.split(r"^## (.*)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections, line = [], parts[0].count("\n")
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        line += 1
        sections.append(Section(page, heading.strip(), text, line))
        line += text.count("\n")
    return Sections(Section(page, "", parts[0], 0), tuple(sections))


@cache
def by_name() -> Mapping[str, tuple[Section, ...]]:
    """Returns the sections of docs/examples by the dotted names in their headings."""
    found: dict[str, tuple[Section, ...]] = {}
    for page in sorted((ROOT / "docs/examples").glob("*.md")):
        for section in read(page).sections:
            for name in section.names:
                found[name] = (*found.get(name, ()), section)
    return found


def names_in(section: Section) -> set[str]:
    """Returns the dotted names after `tf.` that the code of a section uses."""
    found = set()
    for example in section.examples:
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Attribute):
                path = ast.unparse(node)
                if path.startswith("tf."):
                    found.add(path.removeprefix("tf."))
    return found


class Checker(doctest.OutputChecker):
    """Compares output; a number of NumPy 2 (`np.float32(1.0)`) is the same as one of NumPy 1 (`1.0`)."""

    SCALAR = re.compile(r"np\.(?:(?:u?int|float|complex)\d+|str_|bytes_|bool_?)\(((?:[^()]|\([^()]*\))*)\)")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether `got` is what was wanted."""
        plain = [self.SCALAR.sub(r"\1", text) for text in (want, got)]
        return super().check_output(*plain, optionflags)


@contextlib.contextmanager
def _surroundings() -> Iterator[dict[str, Any]]:
    """A graph, a session and a folder of a section's own; yields its variables."""
    home = Path.cwd()
    level = tf.logging.get_verbosity()
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as session:
        os.chdir(folder)
        try:
            yield {"tf": tf, "np": np, "session": session, "__name__": "__main__"}
        finally:
            os.chdir(home)
            tf.logging.set_verbosity(level)


def run(section: Section, head: Section | None = None) -> list[tuple[doctest.Example, str]]:
    """Runs a section after the code in the head of its page; returns the statements that print something else, with a
    report."""
    wrong: list[tuple[doctest.Example, str]] = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
            wrong.append((example, _shortened(got) if got.startswith("Traceback") else got))

        def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, exc_info: Any) -> None:
            wrong.append((example, _shortened("\n" + "".join(traceback.format_exception_only(exc_info[1])))))

    examples = [*(head.examples if head else ()), *section.examples]
    with _surroundings() as variables, contextlib.redirect_stdout(io.StringIO()):
        test = doctest.DocTest(examples, variables, section.heading, str(section.page), section.line, None)
        Runner(Checker(), verbose=False, optionflags=FLAGS).run(test, out=lambda text: None, clear_globs=False)
    return wrong


def _shortened(text: str) -> str:
    """Returns a traceback in the form of doctest, with three points for the calls and for what follows the first line
    of the message."""
    lines = text.splitlines()[1:]
    message = next(number for number, line in enumerate(lines) if re.match(r"\w", line))
    more = "  ...\n" if lines[message + 1 :] else ""
    return f"Traceback (most recent call last):\n    ...\n{lines[message]}\n{more}"


def _corrected(page: Path) -> str:
    """Returns the text of a page with what its code prints."""
    parts = read(page)
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    changes = {}
    for section in parts.sections:
        for example, got in run(section, parts.head):
            changes[example.lineno] = (example, got)
    for number in sorted(changes, reverse=True):
        example, got = changes[number]
        start = number + example.source.count("\n")
        text = "".join(line.rstrip() + "\n" if line.strip() else "<BLANKLINE>\n" for line in got.splitlines())
        lines[start : start + example.want.count("\n")] = [text]
    return "".join(lines)


def main() -> int:
    """Runs the pages, or writes what they print; returns the exit status."""
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    failures = 0
    for page in [Path(a).resolve() for a in arguments] or pages():
        if "--write" in sys.argv:
            page.write_text(_corrected(page), encoding="utf-8")
            continue
        parts = read(page)
        for section in parts.sections:
            for example, got in run(section, parts.head):
                failures += 1
                print(f"{page}:{example.lineno + 1}: {example.source}wanted:\n{example.want}got:\n{got}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
