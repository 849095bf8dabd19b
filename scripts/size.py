"""Prints what has grown past the sizes that the project holds itself to (CONTRIBUTING.md).

Limits: 800 lines a file, 60 lines a function (under 1% of them over), 25 methods a class, and 2
levels of inheritance among classes of our own. It reports and never fails; what fails is
tests/test_layers.py.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES, FUNCTION_LINES, CLASS_METHODS, DEPTH = 800, 60, 25, 2
ROOT = Path(__file__).resolve().parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def lines_of(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def base_names(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases]


def depth(name: str, bases: dict[str, list[str]], above: frozenset[str] = frozenset()) -> int:
    """How many classes of ours stand above `name`."""
    if name in above:
        return 0
    ours = [b for b in bases.get(name, ()) if b in bases]
    return max((1 + depth(b, bases, above | {name}) for b in ours), default=0)


def report(root: Path) -> list[str]:
    files = sorted((root / "tfnb").rglob("*.py"))
    trees = {f.relative_to(root): ast.parse(f.read_text(encoding="utf-8")) for f in files}
    lengths = {f: len((root / f).read_text(encoding="utf-8").splitlines()) for f in trees}
    every = [(f, fn) for f, tree in trees.items() for fn in functions(tree)]
    classes = [(f, c) for f, tree in trees.items() for c in ast.walk(tree) if isinstance(c, ast.ClassDef)]
    bases = {c.name: base_names(c) for _, c in classes}
    out = [f"{f}: {n} lines (limit {FILE_LINES})" for f, n in lengths.items() if n > FILE_LINES]
    long = [(f, fn) for f, fn in every if lines_of(fn) > FUNCTION_LINES]
    out += [f"{f}:{fn.lineno}: {fn.name} has {lines_of(fn)} lines (limit {FUNCTION_LINES})" for f, fn in long]
    for f, c in classes:
        methods = sum(isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef) for m in c.body)
        if methods > CLASS_METHODS:
            out.append(f"{f}:{c.lineno}: {c.name} has {methods} methods (limit {CLASS_METHODS})")
        if depth(c.name, bases) > DEPTH:
            levels = depth(c.name, bases)
            out.append(f"{f}:{c.lineno}: {c.name} inherits through {levels} levels (limit {DEPTH})")
    if lengths and every:
        sizes = [lines_of(fn) for _, fn in every]
        out.append(
            f"{len(lengths)} files, {sum(lengths.values())} lines "
            f"(median {statistics.median(lengths.values()):.0f}, longest {max(lengths.values())}); "
            f"{len(every)} functions (median {statistics.median(sizes):.0f} lines, "
            f"{len(long) / len(every):.1%} over {FUNCTION_LINES}); {len(classes)} classes"
        )
    return out


if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)))
