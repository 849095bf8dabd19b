"""Who may import whom (docs/architecture.md), read from the syntax tree.

An import inside a function, under TYPE_CHECKING or by `import_module` counts like any other, and so does a family of
operations that `FAMILIES` and `LATER_FAMILIES` of a folder name, which `tfnb/ops/catalog.py` imports by that name.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# All packages may also import these; among themselves they must not form a cycle.
BASE = {
    "caches",
    "dimension",
    "disk_cache",
    "errors",
    "release",
    "settings",
    "size_terms",
    "size_trace",
    "sizes",
    "suggestions",
    "system",
    "types",
    "upcalls",
}

MAY_IMPORT: dict[str, set[str]] = {
    "ir": set(),
    "ops": {"ir"},
    "client": {"ir", "ops"},
    "passes": {"ir", "ops"},
    "placement": {"ir", "ops"},
    "codegen": {"ir", "ops"},
    "devices": {"ir", "codegen"},
    "runtime": {"ir", "devices"},
    "session": {"ir", "ops", "passes", "placement", "codegen", "devices", "runtime"},
    "summary": {"ir"},
    "train": {"ir", "ops", "client", "session", "summary"},
    "datasets": set(),
    "lessons": {"ir", "ops", "client", "session", "summary", "train"},
    "frontend": set(),
    "__main__": {"frontend"},
    "preparation": {"ir", "session", "devices"},
}
MAY_IMPORT["notebook"] = set(MAY_IMPORT)
MAY_IMPORT["doctor"] = {"devices", "session", "notebook"}
# Programs of TensorFlow 0.6 to 1.15 are a house of their own, which enters by `frontend`: nothing imports it.
MAY_IMPORT["v1"] = {"ir", "ops", "client", "session", "summary", "train", "datasets", "frontend"}

# Where a module `__getattr__` imports what is slow to import (bokeh: half a second) on first use.
# Jupyter's server loads our part of it at its start, and needs the rest when the first file is opened.
LAZY_EDGES = (
    "tfnb",
    "tfnb.devices.opencl",
    "tfnb.session.dask",
    "tfnb.notebook",
    "tfnb.notebook.server",
    "tfnb.notebook.viewer.chart_theme",
)

# A third-party package that only one place may import.
ONLY_IN = {
    "pyopencl": "tfnb.devices.opencl",
    "dask": "tfnb.session.dask",
    "distributed": "tfnb.session.dask",
    "ipywidgets": "tfnb.notebook",
    "anywidget": "tfnb.notebook",
    "traitlets": "tfnb.notebook",
    "bokeh": "tfnb.notebook",
    "IPython": "tfnb.notebook",
    "jupyter_server": "tfnb.notebook.server",
    "tornado": "tfnb.notebook.server",
}


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name; a package goes by its own name."""
    found = {}
    for path in sorted((root / "tfnb").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def imported(module: str, path: Path, known: dict[str, Path]) -> list[tuple[str, int, bool]]:
    """(dotted target, line, inside a function) for each import of a module, wherever it stands."""
    tree = parsed(path.read_text(encoding="utf-8"))
    deferred = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(outer)
    }
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = []
    for node in ast.walk(tree):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, node.module or ""]).rstrip(".") if node.level else node.module
            # `from package import name` imports a module only where the name is one.
            for alias in node.names:
                full = f"{base}.{alias.name}"
                targets.append(full if full in known else str(base))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                targets = [node.args[0].value]
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["FAMILIES"]:
            strings = (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
            targets = [f"{package}.{name}" for name in strings if isinstance(name, str)]
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["LATER_FAMILIES"]:
            keys = node.value.keys if isinstance(node.value, ast.Dict) else []
            targets = [f"{package}.{key.value}" for key in keys if isinstance(key, ast.Constant)]
        found += [(target, node.lineno, id(node) in deferred) for target in dict.fromkeys(targets)]
    return found


def package_of(module: str) -> str:
    """`ir` for tfnb.ir.step_graph.graph, "" for tfnb itself."""
    return [*module.split("."), ""][1]


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def breaks(root: Path) -> list[str]:
    """Each import that the table forbids, in words."""
    known, out = modules(root), []
    for module, path in known.items():
        home = package_of(module)
        if home and home not in BASE and home not in MAY_IMPORT:
            out.append(f"{module}: package {home} is not in the table")
            continue
        for target, line, deferred in imported(module, path, known):
            where, top = f"{module}:{line}", target.split(".")[0]
            if module == "tfnb":  # the package's edge: may import all, and lazily
                continue
            if deferred and top == "tfnb" and module not in LAZY_EDGES:
                out.append(f"{where} imports {target} inside a function")
            if top in ONLY_IN and not inside(module, ONLY_IN[top]):
                out.append(f"{where} imports {target}, which only {ONLY_IN[top]} may")
            if top != "tfnb":
                continue
            if target not in known:
                out.append(f"{where} imports {target}, which does not exist")
            there = package_of(target)
            if not there:
                out.append(f"{where} imports the package's edge, tfnb")
            elif there != home and there not in BASE | MAY_IMPORT.get(home, set()):
                out.append(f"{where} imports {target}, which {home} may not")
    return out


def cycles(root: Path) -> list[str]:
    """Each cycle of imports among the modules, found by depth-first search."""
    known = modules(root)
    edges = {
        module: {t for t, _, _ in imported(module, path, known) if t in known and t != module}
        for module, path in known.items()
        if module != "tfnb"
    }
    done: set[str] = set()
    out: list[str] = []

    def visit(module: str, trail: list[str]) -> None:
        if module in trail:
            out.append(" -> ".join([*trail[trail.index(module) :], module]))
        elif module not in done:
            for target in sorted(edges.get(module, ())):
                visit(target, [*trail, module])
            done.add(module)

    for module in edges:
        visit(module, [])
    return out


def test_the_table_itself_has_no_cycle():
    for package, targets in MAY_IMPORT.items():
        assert not any(package in MAY_IMPORT[t] for t in targets)


def test_the_document_shows_the_same_table():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = text.split("| package | may also import |\n|---|---|\n")[1].split("\n\n")[0]
    told: dict[str, set[str]] = {}
    for row in rows.splitlines():
        packages, targets = (cell.strip() for cell in row.strip("|").split("|"))
        for package in packages.split(", "):
            told[package] = set() if targets == "-" else set(targets.split(", "))
    told["notebook"] = set(MAY_IMPORT) - {"notebook", "doctor", "v1"}  # "all of the above"
    assert told == MAY_IMPORT


def test_the_core_does_not_name_the_house_of_old_programs():
    core = [path for path in modules(ROOT).values() if path.relative_to(ROOT).parts[1] not in ("v1", "frontend.py")]
    assert len(core) > 700
    named = re.compile(r"tfnb[./]v1\b|\bv1\.(contrib|keras|learn|estimators|programs|names|python_internals)\b")
    texts = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in core
        for node in ast.walk(parsed(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.search(node.value)
    ]
    assert texts == []


def test_no_import_against_the_table():
    assert breaks(ROOT) == []


def test_no_cycles():
    assert cycles(ROOT) == []


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "tfnb" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ir/graph", "from tfnb.ops import math", "ir may not"),
        ("ir/graph", "from .. import ops", "ir may not"),
        ("ir/graph", "from ..ops.math import TANH", "tfnb.ops.math, which ir may not"),
        ("ir/graph", "def f():\n    import tfnb.ir.node", "inside a function"),
        ("ir/graph", "f = lambda: __import__('tfnb.ops')", "ir may not"),
        ("ir/graph", "from importlib import import_module as i\nimport_module('bokeh')", "bokeh"),
        ("ir/graph", "import tfnb", "edge"),
        ("ir/graph", "from tfnb import Session", "edge"),
        ("ir/graph", "if TYPE_CHECKING:\n    from tfnb.client import Variable", "ir may not"),
        ("devices/host", "import pyopencl as cl", "only tfnb.devices.opencl may"),
        ("session/local", "from dask.distributed import Client", "only tfnb.session.dask may"),
        ("train/plot", "from bokeh.plotting import figure", "only tfnb.notebook may"),
        ("extra/thing", "", "not in the table"),
        ("ops/nn/__init__", "FAMILIES = ('missing',)", "tfnb.ops.nn.missing, which does not exist"),
    ],
)
def test_planted_breaks_are_found(tmp_path, name, text, message):
    plant(tmp_path, {"ops/__init__": "", "ops/math": "", "client/__init__": "", name: text})
    assert any(message in found for found in breaks(tmp_path)), breaks(tmp_path)


def test_allowed_imports_pass(tmp_path):
    plant(
        tmp_path,
        {
            "__init__": "def __getattr__(name):\n    import tfnb.notebook",
            "ir/graph": "import numpy\nfrom tfnb import errors\nfrom tfnb.ir import node",
            "ir/node": "from ..types import DType",
            "errors": "",
            "types": "",
            "devices/opencl/build": "import pyopencl",
            "session/__init__": "",
            "notebook/chart": "import bokeh\nfrom tfnb.session import Session",
        },
    )
    assert breaks(tmp_path) == []
    assert cycles(tmp_path) == []


def test_planted_cycles_are_found(tmp_path):
    plant(
        tmp_path,
        {
            "ir/a": "from tfnb.ir.b import x",
            "ir/b": "def f():\n    from . import c",
            "ir/c": "import tfnb.ir.a",
        },
    )
    assert cycles(tmp_path) == ["tfnb.ir.a -> tfnb.ir.b -> tfnb.ir.c -> tfnb.ir.a"]


def test_a_cycle_through_a_family_that_is_named_by_a_string_is_found(tmp_path):
    plant(
        tmp_path,
        {
            "ops/__init__": "from tfnb.ops import nn",
            "ops/nn/__init__": "FAMILIES = ('softmax',)",
            "ops/nn/softmax": "import tfnb.ops",
        },
    )
    assert cycles(tmp_path) == ["tfnb.ops -> tfnb.ops.nn -> tfnb.ops.nn.softmax -> tfnb.ops"]


def test_the_families_of_operations_are_seen():
    known = modules(ROOT)
    named = {t for m, path in known.items() if path.name == "__init__.py" for t, _, _ in imported(m, path, known)}
    assert {"tfnb.ops.nn.softmax", "tfnb.ops.math.unary", "tfnb.ops.state.variables"} <= named
