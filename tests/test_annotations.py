"""In the packages at the core, no parameter is annotated just `Any`: mypy would check nothing that is passed to it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = (
    "caches.py",
    "client/api.py",
    "client/io",
    "client/logging",
    "client/namespace.py",
    "codegen",
    "datasets",
    "devices",
    "dimension.py",
    "disk_cache.py",
    "doctor",
    "errors.py",
    "frontend.py",
    "ir/graphdef",
    "ir/scalar",
    "ir/step_graph",
    "lessons",
    "notebook/builder/files",
    "notebook/builder/inside",
    "notebook/builder/lessons",
    "notebook/builder/runs",
    "notebook/builder/trust",
    "notebook/charts",
    "notebook/graph",
    "notebook/protocol",
    "notebook/server",
    "notebook/traces",
    "notebook/viewer",
    "ops/checkpoint",
    "ops/dataset",
    "ops/logging",
    "ops/random",
    "ops/training",
    "passes",
    "placement",
    "runtime",
    "session",
    "settings.py",
    "size_terms.py",
    "size_trace.py",
    "sizes.py",
    "suggestions.py",
    "summary",
    "system",
    "train/hooks",
    "types.py",
    "upcalls.py",
)


def annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, str]]:
    """Name and annotation of each parameter that has one."""
    arguments = [arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    return [(arg.arg, ast.unparse(arg.annotation)) for arg in arguments if arg.annotation is not None]


def any_parameters(source: str) -> list[str]:
    """Function and name of each parameter whose annotation is exactly `Any`."""
    return [
        f"{function.name}({name})"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for name, annotation in annotated(function)
        if annotation == "Any"
    ]


@pytest.mark.parametrize("part", CORE)
def test_no_parameter_is_just_any(part):
    path = ROOT / "tfnb" / part
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    found = {str(f.relative_to(ROOT)): names for f in files if (names := any_parameters(f.read_text("utf-8")))}
    assert files and found == {}


def test_such_a_parameter_is_found():
    source = "def f(a: int, *b: Any, c: list[Any], **d: Any) -> Any:\n    async def g(e: Any = None): pass"
    assert any_parameters(source) == ["f(b)", "f(d)", "g(e)"]


# ---- shares over the whole package, which may fall and not rise ----------------------------------

# Of the parameters and of the results, the percentage that is just `Any`: in the core, and in tfnb/v1.
LIMITS = {"core": (1.0, 9.4), "v1": (6.2, 8.8)}
LONGEST_IN_CORE = 70  # lines of a function: the constructor of Variable; wanted are 60


@cache
def _functions(room: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of the core, or of tfnb/v1."""
    files = [f for f in (ROOT / "tfnb").rglob("*.py") if (f.relative_to(ROOT).parts[1] == "v1") == (room == "v1")]
    nodes = [node for f in files for node in ast.walk(ast.parse(f.read_text("utf-8")))]
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def any_shares(functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> tuple[float, float]:
    """Percentages of annotated parameters, and of annotated results, that are exactly `Any`."""
    of_parameters = [annotation == "Any" for f in functions for _, annotation in annotated(f)]
    of_results = [ast.unparse(f.returns) == "Any" for f in functions if f.returns is not None]
    return 100 * sum(of_parameters) / len(of_parameters), 100 * sum(of_results) / len(of_results)


@pytest.mark.parametrize("room", LIMITS)
def test_the_shares_of_any_do_not_rise(room):
    parameters, results = any_shares(_functions(room))
    assert parameters <= LIMITS[room][0] and results <= LIMITS[room][1]


def test_shares_count_what_is_annotated():
    tree = ast.parse("def f(a: int, b: Any, c) -> Any: pass\ndef g(d: list[Any], e: str) -> None: pass")
    assert any_shares([node for node in tree.body if isinstance(node, ast.FunctionDef)]) == (25, 50)


def test_no_function_of_the_core_is_longer_than_a_page():
    long = [f.name for f in _functions("core") if (f.end_lineno or f.lineno) - f.lineno >= LONGEST_IN_CORE]
    assert long == []
