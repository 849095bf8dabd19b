"""The recipe for conda asks for what pyproject.toml asks for, with conda's names."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tfnb.release import VERSION

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).resolve().parents[2]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# conda's dask brings what its dashboard needs.
CONDA_NAMES = {"dask": "dask-core"}


def wanted(text):
    """(name, bounds) of a requirement."""
    requirement = Requirement(text)
    assert not requirement.marker, text
    return CONDA_NAMES.get(requirement.name, requirement.name), str(requirement.specifier)


def listed(kind):
    found = [re.fullmatch(r"([\w.-]+)(?: (\S+))?", line) for line in RECIPE["requirements"][kind]]
    return sorted((match[1], str(Requirement(f"x{match[2] or ''}").specifier)) for match in found)


def test_it_needs_what_the_package_needs():
    project = PROJECT["project"]
    expected = [wanted(line) for line in project["dependencies"]]
    assert [line for line in project["dependencies"] if "[" in line] == ["pyopencl[pocl]>=2025.1"]
    assert listed("run") == sorted([*expected, ("pocl", ""), ("python", project["requires-python"])])
    build = [wanted(line) for line in PROJECT["build-system"]["requires"]]
    assert listed("host") == sorted([*build, ("pip", ""), ("python", project["requires-python"])])


def test_it_is_the_same_package():
    project = PROJECT["project"]
    assert (RECIPE["package"]["name"], RECIPE["context"]["version"]) == (project["name"], VERSION)
    assert RECIPE["about"]["license"] == project["license"]
    scripts = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts
