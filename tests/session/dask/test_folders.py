"""The folders of `session/dask` import each other in one direction only: the order that its docstring gives."""

import re
from pathlib import Path

import tfnb.session.dask
from tests.test_layers import imported, modules

PACKAGE = "tfnb.session.dask"
ORDER = ("transport", "observability", "task", "membership", "master")


def test_the_docstring_lists_the_folders_in_this_order():
    assert tuple(re.findall(r"^    (\w+)/ ", tfnb.session.dask.__doc__, re.MULTILINE)) == ORDER


def test_a_folder_imports_only_those_above_it():
    root = Path(__file__).resolve().parents[3]
    known = modules(root)
    upward = []
    for module, path in known.items():
        if not module.startswith(f"{PACKAGE}."):
            continue
        folder = module.split(".")[3]
        for target, line, _ in imported(module, path, known):
            there = target.split(".")[3] if target.startswith(f"{PACKAGE}.") else None
            if folder in ORDER and there in ORDER and ORDER.index(there) > ORDER.index(folder):
                upward.append(f"{module}:{line} imports {target}")
            if folder in ORDER and there in ("server", "cluster"):
                upward.append(f"{module}:{line} imports {target}")
    assert upward == []
