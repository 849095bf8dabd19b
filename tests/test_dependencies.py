"""Whatever the package or an example imports is installed by a plain `pip install`: it stands in pyproject.toml.

An environment for development has more packages than a user's, so an import of a package that is only there for the
tests works here and fails with users. The imports are read from the source, also those of notebook cells. A cell that
writes a file (`%%writefile`) imports nothing, and a notebook may import the modules that it writes itself.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tfnb.doctor import requirements

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).resolve().parents[1]
# Not named in pyproject.toml, and why that is right.
COME_ALONG = {**requirements.COME_ALONG, "typing_extensions": "anywidget"}
OPTIONAL = {"h5py": "files of Keras weights; tfnb/v1/keras/hdf5.py says what to install"}
WRITTEN = re.compile(r"%%writefile .*?(\w+)\.py$", re.MULTILINE)


def sources() -> Iterator[tuple[str, str, frozenset[str]]]:
    """The name and the Python text of each module of the package and of each example, and the modules it writes."""
    for path in [*ROOT.glob("tfnb/**/*.py"), *ROOT.glob("examples/*.py")]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"), frozenset()
    for path in ROOT.glob("examples/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        written = {text: file[1] for text in texts if (file := WRITTEN.match(text))}
        run = "\n".join(text for text in texts if text not in written)
        run = re.sub(r"^(\s*)[%!].*$", r"\1pass", run, flags=re.MULTILINE)
        yield path.relative_to(ROOT).as_posix(), run, frozenset(written.values())


def imported(tree: ast.AST) -> Iterator[str]:
    """The packages that a program imports, by statements or by `import_module` with a name that stands there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function == "import_module" and not str(node.args[0].value).startswith("."):
                yield str(node.args[0].value)


def test_what_is_imported_is_installed_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[\[<>=! ]", line)[0].lower().replace("_", "-") for line in project["dependencies"]}
    distributions = packages_distributions()
    missing, seen = [], set()
    for file, text, written in sources():
        for name in sorted({name.split(".")[0] for name in imported(ast.parse(text))} - written):
            seen.add(name)
            if name == "tfnb" or name in sys.stdlib_module_names or name in OPTIONAL:
                continue
            come_along = COME_ALONG.get(name)
            names = [come_along] if come_along else distributions.get(name, [name])
            if not declared & {n.lower().replace("_", "-") for n in names}:
                missing.append(f"{file} imports {name}, which no dependency in pyproject.toml brings along")
    assert not missing, "\n".join(missing)
    assert {*COME_ALONG, *OPTIONAL} <= seen, "an exception that nothing needs"
