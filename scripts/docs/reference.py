"""The pages of the reference, from the definitions: signature, docstring, examples; of an op its dtypes and gradient.

Each definition stands on one page, under its first name; the page of a place lists the names that are explained
elsewhere. The names of `tf` itself are many, and stand on a page for each concept, which is the folder of the source.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import code_examples
from docstrings import as_markdown
from names import ROOT, Definition, definitions, names_of_v1, value_of

from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, OpDef
from tfnb.ops import all_families, op_function

__all__ = ["write"]

# The folders of the source whose names make a page of `tf`, with its title. What is elsewhere is "the rest".
CONCEPTS = {
    "graph": "graphs, names and collections",
    "session": "sessions",
    "variables": "variables",
    "gradients": "gradients",
    "control_flow": "control flow",
    "math": "mathematics and reductions",
    "linalg": "linear algebra",
    "array": "arrays: shapes, slices, joins",
    "state": "updates of variables, tensor arrays",
    "random": "random numbers",
    "nn": "parts of networks",
    "conv_pool": "convolution and pooling",
    "image": "images",
    "strings": "strings",
    "sparse": "sparse tensors",
    "sync": "queues and locks",
    "io": "files, readers, records",
    "logging": "assertions, printing, summaries",
    "notebook": "views for notebooks",
    "types": "dtypes and shapes",
    "dataset": "data sets",
    "rest": "other names",
}
# Folders whose few names of `tf` itself stand with those of another.
WITH = {"ir": "graph", "layers": "nn", "lookup": "io", "summary": "logging"}
SHOWN = """Examples begin with `import tfnb as tf` and `import numpy as np`, and have a session:
`session = tf.InteractiveSession()`. The tests run each of them and compare what it prints."""


def write(folder: Path) -> None:
    """Writes the pages and their index into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages: dict[str, list[Definition]] = {}
    for definition in definitions():
        pages.setdefault(_page(definition), []).append(definition)
    for name, found in pages.items():
        (folder / f"{name}.md").write_text("\n\n".join(_whole(name, found)) + "\n", encoding="utf-8")
    for family, names in names_of_v1().items():
        (folder / f"v1.{family}.md").write_text("\n".join(_family(family, names)) + "\n", encoding="utf-8")
    (folder / "index.md").write_text(_index(pages), encoding="utf-8")


def _page(definition: Definition) -> str:
    """The name of the page of a definition: its place, or a concept of `tf`."""
    if definition.place:
        return f"tf.{definition.place}"
    parts = [WITH.get(part, part) for part in _module(definition).split(".")[1:]]
    return "tf-" + next((part for part in parts if part in CONCEPTS), "rest").replace("_", "-")


@cache
def _families() -> dict[str, str]:
    """The modules that define ops, by the names of the ops."""
    return {op.name: family.__name__ for family in all_families() for op in family.OPS}


def _module(definition: Definition) -> str:
    """The module of a definition; of a function that the catalogue derives from an op, that of the op."""
    module = getattr(definition.value, "__module__", None) or ""
    derived = definition.op is not None and module == op_function.__module__
    return _families()[definition.op.name] if derived and definition.op is not None else module


def _title(name: str) -> str:
    return f"tf: {CONCEPTS[name[3:].replace('-', '_')]}" if name.startswith("tf-") else name


def _whole(name: str, found: list[Definition]) -> Iterator[str]:
    """The parts of a page."""
    yield f"# {_title(name)}"
    ordered = sorted(found, key=lambda d: d.name.lower())
    yield " · ".join(f"[{d.name.rpartition('.')[2]}](#tf.{d.name})" for d in ordered)
    yield SHOWN
    yield from (_entry(d) for d in ordered)
    elsewhere = [(n, d) for d in definitions() for n in d.others if f"tf.{n.rpartition('.')[0]}" == name]
    if elsewhere:
        yield "## Explained elsewhere"
        yield "\n".join(f"- `tf.{n}` is [`tf.{d.name}`](#tf.{d.name})" for n, d in sorted(elsewhere))


def _entry(definition: Definition) -> str:
    """A definition as an object of the Python domain, which the search and the index of names know."""
    kind = "class" if inspect.isclass(definition.value) else "function"
    body = [as_markdown(inspect.getdoc(definition.value) or "")]
    if definition.op is not None:
        body.append(_facts(definition.op))
    body += _shown(definition)
    if kind == "class":
        body += _methods(definition.value)
    where = _where(definition)
    others = [f"`tf.{name}`" for name in definition.others]
    body.append(f"Defined in `{where}`." + (f" Also {', '.join(others)}." if others else ""))
    text = "\n\n".join(part for part in body if part)
    return f"`````{{py:{kind}}} tf.{definition.name}{_signature(definition.value)}\n\n{text}\n`````"


def _shown(definition: Definition) -> Iterator[str]:
    """The examples of a definition, under whichever of its names they stand."""
    for name in (definition.name, *definition.others):
        yield from (section.text.strip() for section in code_examples.by_name().get(name, ()))


def _signature(value: Any) -> str:
    """The parameters with their defaults, without types."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    empty = inspect.Parameter.empty
    plain = [p.replace(annotation=empty, default=_default(p.default)) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=empty))


class _Text:
    """A default value that is shown by a short text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    """A default as one would write it: `tf.float32`, and for an object that has no such form, three points."""
    if value is inspect.Parameter.empty:
        return value
    text = repr(value)
    short = re.fullmatch(r"<(\w+\.\w+): .*>", text)  # a member of an enumeration
    return _Text(short.group(1)) if short else _Text("...") if "<" in text else value


def _facts(op: OpDef) -> str:
    """What the definition of an op says of it."""
    lines = [f"- operation: `{op.name}`, `({op.inputs}) -> ({op.outputs})`"]
    lines += [f"- `{variable}`: {', '.join(d.name for d in allowed)}" for variable, allowed in op.types.items()]
    if op.grad is NOT_DIFFERENTIABLE or op.grad is None:
        gradient = "none"
    else:
        gradient = "not computed here" if op.grad is GRADIENT_MISSING else "yes"
    return "\n".join([*lines, f"- gradient: {gradient}", f"- devices: {'OpenCL, host' if op.on_device else 'host'}"])


def _methods(owner: type) -> Iterator[str]:
    """The public methods that a class of this package defines itself, with their docstrings."""
    for name, member in sorted(vars(owner).items()):
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(member, property)):
            continue
        doc = as_markdown(inspect.getdoc(getattr(owner, name)) or "")
        kind = "property" if isinstance(member, property) else "method"
        signature = "" if isinstance(member, property) else _signature(getattr(owner, name)).replace("(self, ", "(", 1)
        yield f"````{{py:{kind}}} {name}{signature.replace('(self)', '()')}\n:no-index:\n\n{doc}\n````"


def _where(definition: Definition) -> str:
    """The file of a definition, or for one of another package its module."""
    module = _module(definition)
    source = (ROOT / module.replace(".", "/")).with_suffix(".py")
    package = ROOT / module.replace(".", "/") / "__init__.py"
    return next((str(path.relative_to(ROOT)) for path in (source, package) if path.exists()), module)


def _family(family: str, names: Iterable[str]) -> Iterator[str]:
    """The page of names for programs of the time below one place."""
    yield "---\norphan: true\n---\n"  # the index leads to it; the side bar of every page would grow by a third
    yield f"# tf.{family}, for programs of TensorFlow 1.x\n"
    yield "Names of `tfnb/v1`, with which programs of TensorFlow 0.x and 1.x run as they are.\n"
    for name in names:
        doc = _first_sentence(name)
        yield f"- `tf.{name}`" + (f": {doc}" if doc else "")


def _first_sentence(path: str) -> str:
    value = value_of(path)
    doc = inspect.getdoc(value) if inspect.isclass(value) or inspect.isroutine(value) else ""
    text = re.split(r"(?<=[.:])\s", (doc or "").strip().replace("\n", " "), maxsplit=1)[0]
    return as_markdown(text).lstrip("\\")


def _index(pages: dict[str, list[Definition]]) -> str:
    """The index of the reference."""
    own = [name for name in pages if not name.startswith("tf-")]
    order = [f"tf-{name.replace('_', '-')}" for name in CONCEPTS]
    groups = {
        "The names of tf itself": [name for name in order if name in pages],
        "Modules": sorted(own),
    }
    counts = f"{len(definitions())} functions and classes of the core, each on the page of its first name."
    parts = ["# Public names", counts]
    for title, names in groups.items():
        lines = "\n".join(names)
        parts.append(f"## {title}\n\n```{{toctree}}\n:titlesonly:\n\n{lines}\n```")
    families = "\n".join(f"- [tf.{family}](v1.{family}.md)" for family in names_of_v1())
    parts.append(f"## For programs of TensorFlow 1.x\n\n{families}")
    return "\n\n".join(parts) + "\n"
