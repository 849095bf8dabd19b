"""The pages of the reference hold each definition once, with what its definition says of it."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))
as_markdown = import_module("docstrings").as_markdown
names = import_module("names")
reference = import_module("reference")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    reference.write(folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}


def entry(page, name):
    """The directive of a name."""
    return re.search(rf"^`````{{py:\w+}} tf\.{re.escape(name)}\(.*?^`````$", page, re.MULTILINE | re.DOTALL).group()


def test_each_definition_stands_on_one_page(pages):
    found = re.findall(r"^`````{py:\w+} tf\.([\w.]+)", "\n".join(pages.values()), re.MULTILINE)
    assert sorted(found) == sorted(d.name for d in names.definitions()) and len(found) > 1_000


def test_what_an_entry_says(pages):
    text = entry(pages["tf-math"], "sqrt")
    assert "Defined in `tfnb/ops/math/unary.py`. Also `tf.math.sqrt`" in text
    assert "- gradient: yes" in text and "float32" in text and ">>> print(tf.sqrt(" in text
    assert "- gradient: none" in entry(pages["tf-math"], "equal")
    assert "{py:method} run(fetches, feed_dict=None" in entry(pages["tf-session"], "Session")
    assert "direction='ASCENDING'" in entry(pages["tf-array"], "argsort")


def test_every_name_is_listed_at_its_place(pages):
    assert "- `tf.math.sqrt` is [`tf.sqrt`](#tf.sqrt)" in pages["tf.math"]
    assert "`tf.contrib.layers.batch_norm`" in pages["v1.contrib"]


def test_a_renamed_function_stands_under_its_newer_name():
    first = {name: d.name for d in names.definitions() for name in (d.name, *d.others)}
    assert first["neg"] == first["math.negative"] == "negative" and first["math.softmax"] == "nn.softmax"


@pytest.mark.parametrize(
    ("doc", "markdown"),
    [
        ("a * b, and `a * b`.", r"a \* b, and `a * b`."),
        ("See x[0] of <name>.", r"See x\[0\] of \<name\>."),
        ("- one\n- two", "- one\n- two"),
        ("- 1 is less\n", "- 1 is less"),
        ("    code * 2\n    more", "```text\ncode * 2\nmore\n```"),
        (">>> 1\n1", "```python\n>>> 1\n1\n```"),
    ],
)
def test_a_docstring_is_text(doc, markdown):
    assert as_markdown(doc) == markdown
