"""`tfnb check PROGRAM`: reads a program without running it and says what is missing and what will differ.

Names and the forms of calls are compared with tfnb's own; differences.json, written from the tables of
docs/differences.md and docs/hints.md, says which operations have other values and which parameters have no effect.
Invariant: nothing of the program is executed.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import json
import sys
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError
from tfnb.v1.names.refused import advice
from tfnb.v1.programs.errors import syntax_error
from tfnb.v1.programs.hook import tensorflow_of
from tfnb.v1.programs.names import Use, uses
from tfnb.v1.programs.notebooks import NotebookCode
from tfnb.v1.programs.runner import NOTEBOOK

__all__ = ["Report", "check", "check_files"]

_ABSENT = object()
# Functions with two meanings that no type tells apart, so that only the era does: from how many positional arguments on
# this matters, and what changed.
_ERA_DECIDES = {
    "nn.weighted_cross_entropy_with_logits": (2, "0.x gave the logits first, 1.x the targets"),
    "nn.log_poisson_loss": (2, "0.x gave the logarithm of the prediction first, 1.x the targets"),
    **dict.fromkeys(("div", "floordiv"), (0, "0.x cut the fraction of a negative quotient of integers off")),
    "mod": (0, "in 0.x the remainder had the sign of the first argument"),
    "losses.mean_pairwise_squared_error": (0, "up to 1.5 the pairs of an element with itself counted"),
    "metrics.mean_per_class_accuracy": (0, "up to 1.5 a class without labels counted as 0, and as a class"),
    "image.adjust_gamma": (0, "up to 1.5 the result was float32 whatever the image"),
}
# Functions that take a positional argument of earlier versions for another one, whatever the era: from how many on.
_MOVED = {
    "contrib.rnn.LSTMBlockCell": (3, "the third argument was use_peephole up to 1.0 and clip_cell up to 1.3"),
    "train.SyncReplicasOptimizer": (3, "total_num_replicas was the sixth argument up to 0.12, and is the third"),
}


@dataclass
class Report:
    """What a program uses, by line.

    missing: names and modules that tfnb lacks. calls: arguments that tfnb's function does not take. guarded: missing
    names that the program tries and can do without. without_effect: parameters that are taken and change nothing.
    differs: operations whose results may differ, and calls whose meaning depends on the era.
    """

    missing: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    guarded: list[str] = field(default_factory=list)
    without_effect: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    names: int = 0

    def __str__(self) -> str:
        parts = [
            ("missing", self.missing),
            ("arguments that tfnb does not take", self.calls),
            ("missing, but the program can do without", self.guarded),
            ("without effect here", self.without_effect),
            ("differs or may differ", self.differs),
        ]
        lines = [line for title, found in parts if found for line in (f"{title}:", *(f"  {text}" for text in found))]
        return "\n".join([f"{self.names} names of TensorFlow, {len(self.missing)} missing", *lines])


def check(source: str, era: str | None = None, name: str = "<program>", place: Callable[[int], str] = str) -> Report:
    """Reads the text of a program for TensorFlow 0.x or 1.x and returns a `Report`.

    era: see `tfnb.install`. name: stands in messages. place: says where a line of the text is, by default its number.
    Raises `ProgramSyntaxError` if the text is no Python 3.
    """
    try:
        tree = ast.parse(source, name)
    except SyntaxError as error:
        if place is not str:
            name = f"{name}, {place(error.lineno or 1)}"
        raise syntax_error(name, error) from None
    root = tensorflow_of(era)
    report, lines = Report(), _Lines()
    found = uses(tree, lambda path: isinstance(_find(root, path)[0], ModuleType))
    report.names = len({use.path for use in found})
    for use in found:
        _look_up(root, use, era, lines, "complex" in source)
    for kind, texts in lines.texts.items():
        setattr(report, kind, [f"{', '.join(map(place, at))}: {text}" for text, at in texts.items()])
    return report


class _Lines:
    """Findings by kind and text, each with the lines where it stands; a text that occurs again adds its line."""

    def __init__(self) -> None:
        self.texts: dict[str, dict[str, list[int]]] = {}

    def add(self, kind: str, text: str, line: int) -> None:
        at = self.texts.setdefault(kind, {}).setdefault(text, [])
        if line not in at:
            at.append(line)


def _find(root: ModuleType, path: str) -> tuple[Any, str]:
    """Returns the object of a dotted name and "", or `_ABSENT` and the shortest beginning of the name that is missing.

    Attributes of an object that is no module or class, as in `tf.app.flags.FLAGS.batch`, are not looked up, since the
    program may define them.
    """
    value: Any = root
    parts = path.split(".") if path else []
    for count, part in enumerate(parts):
        if not isinstance(value, ModuleType | type):
            return value, ""
        if not hasattr(value, part):
            return _ABSENT, ".".join(parts[: count + 1])
        value = getattr(value, part)
    return value, ""


def _look_up(root: ModuleType, use: Use, era: str | None, lines: _Lines, with_complex: bool) -> None:
    value, gone = _find(root, use.path)
    if value is _ABSENT:
        place, _, name = gone.rpartition(".")
        near = difflib.get_close_matches(name, dir(_find(root, place)[0]), 3, 0.8)
        similar = "similar: " + ", ".join(f"tf.{place}.{n}".replace("..", ".") for n in near) if near else ""
        hint = advice(gone) or similar
        lines.add("guarded" if use.guarded else "missing", f"tf.{gone}" + (f" ({hint})" if hint else ""), use.line)
        return
    if use.call is None or isinstance(value, ModuleType):
        return
    for text in _unbound(value, use.call):
        lines.add("calls", f"tf.{use.path}: {text}", use.line)
    given = {keyword.arg for keyword in use.call.keywords}
    for text in _ineffective(value, given):
        lines.add("without_effect", f"tf.{use.path}: {text}", use.line)
    for text in _differences(use.path, with_complex):
        lines.add("differs", f"tf.{use.path}: {text}", use.line)
    count, change = _ERA_DECIDES.get(use.path, (0, ""))
    if era is None and change and len(use.call.args) >= count:
        lines.add("differs", f"tf.{use.path}: {change}; say --era", use.line)
    count, change = _MOVED.get(use.path, (0, ""))
    if change and len(use.call.args) >= count:
        lines.add("differs", f"tf.{use.path}: {change}; give it by its name", use.line)


def _unbound(called: object, call: ast.Call) -> list[str]:
    """Returns the arguments of a call that the callable does not accept, in words."""
    if not callable(called):
        return []
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # a type of C without a signature
        return []
    out = []
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        try:
            signature.bind_partial(*[None] * len(call.args))
        except TypeError:
            out.append(f"{len(call.args)} positional arguments")
    for keyword in call.keywords:
        if keyword.arg is not None:
            try:
                signature.bind_partial(**{keyword.arg: None})
            except TypeError:
                out.append(f"{keyword.arg}=")
    return out


@remembered("differences", 1)
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(Path(__file__).with_name("differences.json").read_text(encoding="utf-8"))
    return tables


def _ineffective(called: object, given: set[str | None]) -> list[str]:
    """Returns those of the `given` keywords that have no effect, each with the reason."""
    name = getattr(called, "__qualname__", getattr(called, "__name__", ""))
    rows = _tables()["without effect"]
    return [f"{key}= ({why})" for key, where, why in rows if key in given and ("*" in where or name in where)]


def _differences(path: str, with_complex: bool) -> list[str]:
    """Returns why the results of a public name's operation may differ; `nn.top_k` stands for TopK and TopKV2.

    Reasons that concern complex numbers are left out unless `with_complex`, as most programs have none.
    """
    wanted = path.rpartition(".")[2].replace("_", "").lower()
    return [
        reason for reason, ops in _tables()["values"] if wanted in ops and (with_complex or "complex" not in reason)
    ]


def check_files(paths: Sequence[str], era: str | None = None) -> int:
    """Prints the report of each program and notebook, and of those in folders; returns 1 if anything is missing, or
    nothing could be read, else 0.
    """
    files = [f for p in map(Path, paths) for f in (_programs(p) if p.is_dir() else [p])]
    status = int(not files)
    if not files:
        sys.stdout.write(f"no program and no notebook in {', '.join(paths)}\n")
    for path in files:
        try:
            report = _check_file(path, era)
        except (InvalidArgumentError, OSError) as error:
            sys.stdout.write(f"{path}: {error}\n")
            status = 1
            continue
        if report.names:
            sys.stdout.write(f"{path}: {report}\n")
        status |= bool(report.missing or report.calls)
    return status


def _programs(folder: Path) -> list[Path]:
    """The programs and notebooks below a folder, without the copies that Jupyter keeps of notebooks."""
    found = (path for path in folder.rglob("*") if path.suffix in (".py", NOTEBOOK) and path.is_file())
    return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)


def _check_file(path: Path, era: str | None) -> Report:
    """Returns the report of a file. Raises `OSError`, and `InvalidArgumentError` for a text that is no program."""
    if path.suffix == NOTEBOOK:
        code = NotebookCode.read(path)
        return check(code.text, era, str(path), code.place)
    with tokenize.open(path) as file:
        return check(file.read(), era, str(path))
