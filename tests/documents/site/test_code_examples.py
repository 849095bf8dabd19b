"""The code of docs/examples, docs/how-to and docs/explanation prints what stands below it; names have examples.

Each public name of the core should have one. `WITHOUT` is how many have none: it may sink, and never rise.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))
code_examples = import_module("code_examples")
names = import_module("names")

WITHOUT = 55


@pytest.mark.opencl
@pytest.mark.parametrize("page", code_examples.pages(), ids=lambda page: page.stem)
def test_code_prints_what_stands_below_it(page):
    parts = code_examples.read(page)
    wrong = [
        f"{page.relative_to(ROOT)}:{example.lineno + 1}: {example.source}prints\n{got}instead of\n{example.want}"
        for section in parts.sections
        for example, got in code_examples.run(section, parts.head)
    ]
    assert wrong == [], "\n".join(wrong)


def in_docstrings():
    """The names whose docstrings have examples, with these as sections."""
    docs = {d.name: inspect.getdoc(d.value) or "" for d in names.definitions()}
    return {
        name: code_examples.Section(ROOT, f"tf.{name}", f"```python\n{doc}\n```\n", 0)
        for name, doc in docs.items()
        if ">>> " in doc
    }


@pytest.mark.opencl
def test_examples_of_docstrings_print_what_stands_below_them():
    sections = in_docstrings()
    assert "lessons.grade" in sections
    assert {name: wrong for name, section in sections.items() if (wrong := code_examples.run(section))} == {}


def test_names_without_an_example_become_fewer():
    """A name has an example in its docstring, or below a heading of docs/examples with one of its names."""
    known = {*code_examples.by_name(), *in_docstrings()}
    missing = [d.name for d in names.definitions() if not any(n in known for n in (d.name, *d.others))]
    assert len(missing) <= WITHOUT, f"a new public name needs an example in docs/examples; these have none: {missing}"
    assert len(missing) == WITHOUT, f"set WITHOUT to {len(missing)}, so that it cannot rise again"


def test_headings_name_what_the_code_uses():
    public = {name for d in names.definitions() for name in (d.name, *d.others)}
    for name, sections in code_examples.by_name().items():
        assert name in public, f"there is no tf.{name}"
        used = set().union(*(code_examples.names_in(section) for section in sections))
        assert name in used, f"the example of tf.{name} does not use it"


def page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    return code_examples.read(path)


@pytest.mark.opencl
def test_wrong_output_and_errors_are_found(tmp_path):
    code = ">>> x + 1\n2\n>>> x + 2\n4\n>>> tf.no_such_name\n>>> np.float32(2)\nnp.float32(2.0)\n"
    head, (section,) = page(tmp_path, f"# Page\n\n```python\n>>> x = 1\n```\n\n## tf.add\n\n```python\n{code}```\n")
    (sum_, got), (error, report) = code_examples.run(section, head)
    assert (sum_.lineno, got) == (11, "3\n")
    assert error.source == "tf.no_such_name\n" and report.startswith("Traceback") and "no_such_name" in report


def test_what_a_section_is_the_example_of(tmp_path):
    _, (first, second) = page(
        tmp_path, "# P\n\n## tf.add, tf.nn.relu\n\n```python\n>>> tf.nn.relu(1)\n```\n\n## Else\n"
    )
    assert (first.names, second.names) == (("add", "nn.relu"), ())
    assert code_examples.names_in(first) == {"nn", "nn.relu"}
