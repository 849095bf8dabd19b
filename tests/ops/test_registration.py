"""A family of ops is registered by one line, and one that is misspelt or forgotten is found."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest

import tfnb
from tfnb.errors import NotFoundError
from tfnb.ir.opdef import OpDef
from tfnb.ops import API, CATALOG, FOLDERS, all_families
from tfnb.ops.catalog import Catalog, families_of, later_families_of, later_ops_of

OPS = Path(tfnb.__file__).parent / "ops"
MODULES = sorted(f"tfnb.ops.{path.parent.name}.{path.stem}" for path in OPS.glob("*/*.py") if path.stem != "__init__")
# Send and Recv are the partitioner's; users cannot make them.
NOT_IN_THE_CATALOGUE = {"tfnb.ops.control_flow.send_recv"}


def folder_with(monkeypatch, names, **attributes):
    """A folder `rooms` with a module `family` of these attributes, whose FAMILIES are `names`."""
    folder, family = types.ModuleType("rooms"), types.ModuleType("rooms.family")
    folder.__path__ = []
    folder.FAMILIES = names
    vars(family).update(attributes)
    monkeypatch.setitem(sys.modules, "rooms", folder)
    monkeypatch.setitem(sys.modules, "rooms.family", family)
    return folder


def test_a_family_without_ops_is_an_error(monkeypatch):
    folder = folder_with(monkeypatch, ("family",), OSP=(CATALOG["Add"],), API={"add": None})
    with pytest.raises(NotFoundError, match=r"rooms\.family is named in FAMILIES and defines no OPS"):
        families_of(folder)


def test_a_family_with_nothing_is_an_error(monkeypatch):
    folder = folder_with(monkeypatch, ("family",), OPS=(), APIS={"add": None})
    with pytest.raises(NotFoundError, match="has neither OPS nor API"):
        families_of(folder)


def test_a_misspelt_family_is_an_error(monkeypatch):
    folder = folder_with(monkeypatch, ("familiy",), OPS=(CATALOG["Add"],))
    with pytest.raises(ModuleNotFoundError, match=r"rooms\.familiy"):
        families_of(folder)


def test_a_family_is_what_its_folder_names(monkeypatch):
    folder = folder_with(monkeypatch, ("family",), OPS=(CATALOG["Add"],))
    assert [family.OPS for family in families_of(folder)] == [(CATALOG["Add"],)]


def test_a_later_family_is_imported_when_one_of_its_ops_is_used(monkeypatch):
    folder = folder_with(monkeypatch, (), OPS=(CATALOG["Add"], CATALOG["Sub"]))
    folder.LATER_FAMILIES = {"family": "Add Sub"}
    catalog = Catalog((CATALOG["Mul"],), later=later_ops_of(folder))
    assert sorted(catalog) == ["Add", "Mul", "Sub"] and len(catalog) == 3 and "Sub" in catalog
    family = sys.modules.pop("rooms.family")
    assert catalog["Mul"] is CATALOG["Mul"]  # which does not need the family
    with pytest.raises(ModuleNotFoundError, match=r"rooms\.family"):
        catalog["Sub"]
    sys.modules["rooms.family"] = family
    assert catalog["Sub"] is CATALOG["Sub"] and sorted(catalog) == ["Add", "Mul", "Sub"] and len(catalog) == 3


def test_a_later_family_with_other_ops_than_are_named_is_an_error(monkeypatch):
    folder = folder_with(monkeypatch, (), OPS=(CATALOG["Add"],))
    folder.LATER_FAMILIES = {"family": "Sub"}
    with pytest.raises(NotFoundError, match="names other ops than its OPS"):
        later_families_of(folder)


def test_every_folder_is_in_the_catalogue():
    folders = {path.parent.name for path in OPS.glob("*/__init__.py")}
    assert {folder.__name__ for folder in FOLDERS} == {f"tfnb.ops.{name}" for name in folders}
    assert all(list(folder.FAMILIES) == sorted(set(folder.FAMILIES)) for folder in FOLDERS)


@pytest.mark.parametrize("name", MODULES)
def test_no_op_and_no_function_is_forgotten(name):
    """What a module defines is registered: a module with a table is a family, and what looks like a table is one."""
    module = importlib.import_module(name)
    registered = set(CATALOG.values())
    if name not in NOT_IN_THE_CATALOGUE:
        ops = [value for value in vars(module).values() if isinstance(value, OpDef)]
        assert [op.name for op in ops if op not in registered] == []
    tables = {key for key in ("OPS", "API", "OPERATORS") if key in vars(module)}
    assert not tables or module in all_families()
    for key, value in vars(module).items():
        if isinstance(value, dict) and not key.startswith("_") and key not in ("API", "OPERATORS"):
            functions = [f for f in value.values() if isinstance(f, types.FunctionType)]
            assert all(f in API.values() for f in functions), f"{key} holds functions that are not public: is it API?"
    assert set(vars(module).get("API", ())) <= set(API)
