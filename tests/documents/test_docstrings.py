"""Every public function, class, method and property has a docstring that says what it takes.

The names are those below `tf`: of the API tables, of the modules that load on first use, and the operations. A method
that has no docstring of its own has that of the method which it overrides, as `help` and Jupyter show it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import tfnb as tf
from tfnb import ops
from tfnb.client.api import API as CLIENT
from tfnb.ir.opdef import OpDef
from tfnb.lessons.api import API as LESSONS
from tfnb.summary.api import API as SUMMARY
from tfnb.train.api import API as TRAIN

API = ops.API | CLIENT | TRAIN | SUMMARY | LESSONS

# Parameters of every operation or layer, which mean the same everywhere: the node's name and the like.
COMMON = {"self", "cls", "name", "scope", "args", "kwargs", "reuse", "dtype", "seed", "collections"}


class Public(NamedTuple):
    """Something that users can reach. `name`: where it is defined, `path`: how a user writes it."""

    name: str
    path: str
    value: Any
    doc: str

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters without a default that are not of every operation."""
        if isinstance(self.value, property):
            return []
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [
            p
            for p in inspect.signature(self.value).parameters.values()
            if p.name not in COMMON and p.kind not in kinds and p.default is p.empty and not p.name.startswith("_")
        ]


def ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] == "tfnb"


def reachable() -> Iterator[tuple[str, Any]]:
    """(path, value) of all public names, without the modules."""
    done: set[int] = set()

    def visit(path: str, value: Any) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, ModuleType):
            yield path, value
        elif value.__name__.split(".")[0] == "tfnb" and getattr(value, "__file__", None) and id(value) not in done:
            done.add(id(value))
            for name in getattr(value, "__all__", ()):
                yield from visit(f"{path}.{name}", getattr(value, name))

    for dotted in API:
        value: Any = tf
        for part in dotted.split("."):
            value = getattr(value, part)
        yield from visit(f"tf.{dotted}", value)
    for name in dir(tf):
        value = getattr(tf, name)
        if name in tf._MODULES or not isinstance(value, ModuleType):
            yield from visit(f"tf.{name}", value)


def members(owner: type) -> Iterator[tuple[str, Any, str]]:
    """(qualified name, function or property, docstring) of what is public in a class and its bases of this package."""
    for base in owner.__mro__:
        for name, member in vars(base).items() if ours(base) else ():
            function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if not name.startswith("_") and (isinstance(function, property) or inspect.isfunction(function)):
                doc = inspect.getdoc(getattr(base, name)) or ""
                yield f"{base.__module__}.{base.__qualname__}.{name}", function, doc


@cache
def public() -> dict[str, Public]:
    found: dict[str, Public] = {}
    for path, value in reachable():
        if isinstance(value, OpDef):
            found.setdefault(f"op {value.name}", Public(f"op {value.name}", path, value, value.doc))
        elif (inspect.isclass(value) or inspect.isfunction(value)) and ours(value):
            name = f"{value.__module__}.{value.__qualname__}"
            found.setdefault(name, Public(name, path, value, value.__doc__ or ""))
            for full, function, doc in members(value) if inspect.isclass(value) else ():
                found.setdefault(full, Public(full, f"{path}.{full.rpartition('.')[2]}", function, doc))
    return found


# What a docstring may say of a parameter instead of its name: the kind of value, a shape, or where it is described.
KIND = re.compile(
    r"""\b(tensor|scalar|vector|matri(x|ce)|batch(es)?|element|row|value|variable|node|operation|list|sequence|tuple
        |string|text|bytes|integer|float|bool|number|int32|int64|float32|dtype|shape|name|path|file|folder|function
        |image|pixel|object|class(es)?)s?\b
        |\([^)]*,[^)]*\)                 # a shape, or a tuple
        |\b([Ss]ee|[Aa]s)\ `|`tf\.       # another docstring
    """,
    re.VERBOSE,
)


def mentions(doc: str, parameter: str) -> bool:
    """Whether a docstring contains a parameter's name, in singular or plural, or each word of it."""
    words = {w.lower().rstrip("s") for w in re.findall(r"[A-Za-z0-9]+", doc)}
    return re.search(rf"\b{parameter}\b", doc) is not None or all(
        part.rstrip("s") in words for part in parameter.lower().split("_") if len(part) > 1
    )


def fault(item: Public) -> str:
    """What is wrong with a docstring, or an empty text."""
    doc = item.doc.strip()
    if not doc:
        return "no docstring"
    first = re.split(r"[.:?](?:[`\")]*)(?:\s|$)", doc)[0]
    if doc[len(first) :].startswith("?"):
        return "a question"
    if not re.search(r"[.:][`\")]*(\s|$)", doc) or len(doc.split()) < 2:
        return "no full sentence"
    if isinstance(item.value, OpDef) or inspect.isclass(item.value) or KIND.search(doc):
        return ""
    missing = [p.name for p in item.parameters if not mentions(doc, p.name)]
    return f"says nothing of {', '.join(missing)}" if missing else ""


def test_the_walk_reaches_the_api():
    assert len(public()) > 1_700
    assert {
        "tfnb.client.layers.dense_layers.Dense.call",
        "tfnb.client.variables.scope.get_variable",
        "tfnb.ir.tensor.Tensor.shape",
        "tfnb.ops.array.shape_ops.expand_dims",
        "tfnb.session.session.Session.run",
        "tfnb.train.saving.saver.Saver.save",
    } <= set(public())


@pytest.mark.parametrize(
    ("doc", "reason"),
    [
        ("", "no docstring"),
        ("Returns", "no full sentence"),
        ("Is it a tensor?", "a question"),
        ("The largest one along `axis`.", "says nothing of labels"),
        ("The label that is the largest along `axis`.", ""),
        ("The largest element along `axis`.", ""),
        ("As `tf.add`.", ""),
    ],
)
def test_a_bad_docstring_is_found(doc, reason):
    def function(labels, name=None): ...

    assert fault(Public("f", "tf.f", function, doc)) == reason


def test_every_docstring_is_complete():
    assert {item.name: reason for item in public().values() if (reason := fault(item))} == {}
