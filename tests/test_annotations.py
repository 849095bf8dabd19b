"""In the packages at the core, no parameter is annotated just `Any`: mypy would check nothing that is passed to it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = (
    "caches.py",
    "devices",
    "disk_cache.py",
    "errors.py",
    "passes",
    "placement",
    "session",
    "settings.py",
    "types.py",
)


def any_parameters(source: str) -> list[str]:
    """Function and name of each parameter whose annotation is exactly `Any`."""
    return [
        f"{function.name}({arg.arg})"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for arg in ast.walk(function.args)
        if isinstance(arg, ast.arg) and arg.annotation is not None and ast.unparse(arg.annotation) == "Any"
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
