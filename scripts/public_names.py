"""Writes the tables of public names, tfnb/public_names.txt and tfnb/v1/names/public_names.txt.

    python scripts/public_names.py [--check]

The definitions are the `API` of the modules that `tfnb/*/api.py` list and the public names of operations. The tables
say where each name is defined, in the form of `entries` in tfnb/client/namespace.py, so that `tf.nn.relu` is found
without an import of anything else. With `--check` nothing is written, and the exit status is 1 if a table is out of
date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from tfnb import ops
from tfnb.client import api as client
from tfnb.client.namespace import Lazy
from tfnb.lessons import api as lessons
from tfnb.notebook import api as notebook
from tfnb.summary import api as summary
from tfnb.train import api as train
from tfnb.v1.names import api as v1
from tfnb.v1.names.aliases import ALIASES

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120
Target = tuple[str, str]  # module, name there


def tables() -> dict[str, str]:
    """Returns the text of each table by its path below the project's root. Raises `ValueError` for a name of two."""
    apart = {"tfnb.lessons.api": lessons.API, "tfnb.summary.api": summary.API, "tfnb.notebook.api": notebook.API}
    core = _targets({"tfnb.ops": ops.API, **_apis(client.MODULES), **_apis(train.MODULES), **apart})
    house = _targets(_apis(v1.MODULES))
    twice = sorted(core.keys() & house.keys())
    if twice:
        raise ValueError(f"{twice[0]} is defined in {core[twice[0]][0]} and in {house[twice[0]][0]}")
    for alias, original in ALIASES.items():
        if alias not in core and alias not in house:
            place, _, name = original.rpartition(".")
            known = core.get(original) or house.get(original)
            at_its_place = known is None or known[0].endswith(".API")
            house[alias] = (f"tf.{place}" if place else "tf", name) if at_its_place else known
    return {"tfnb/public_names.txt": _text(core), "tfnb/v1/names/public_names.txt": _text(house)}


def _apis(modules: tuple[ModuleType, ...]) -> dict[str, Mapping[str, Any]]:
    return {module.__name__: module.API for module in modules}


def _targets(apis: Mapping[str, Mapping[str, Any]]) -> dict[str, Target]:
    """Returns where each dotted public name of the tables is defined."""
    result: dict[str, Target] = {}
    for module, api in apis.items():
        for name, value in api.items():
            if name in result:
                raise ValueError(f"{name} is defined in {result[name][0]} and in {module}")
            result[name] = _definition(value) or (f"{module}.API", name)
    return result


def _definition(value: Any) -> Target | None:
    """Returns the module and the name under which `value` can be imported, None where it has no such name."""
    if isinstance(value, Lazy):
        load = value.load
        return load.args if isinstance(load, partial) and load.func.__name__ == "_imported" else None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, (ModuleType, str)) or not isinstance(module, str) or not isinstance(name, str):
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is value else None


def _text(targets: Mapping[str, Target]) -> str:
    """Returns the lines of a table: names of one module that are in the same places stand together."""
    places: dict[tuple[str, str, str], list[str]] = {}  # from (module, name there, public name) to the places
    for path, (module, name) in targets.items():
        place, _, public = path.rpartition(".")
        name = public if module.endswith(".API") else name  # its keys are the dotted names
        places.setdefault((module, name, public), []).append(place or "tf")
    lines: dict[str, list[str]] = {}
    for (module, name, public), at in places.items():
        lines.setdefault(f"{' '.join(at)} : {module} :", []).append(public if name == public else f"{public}={name}")
    text = ""
    for head, names in lines.items():
        line = head
        for name in names:
            if len(line) + 1 + len(name) > WIDTH and line != head:
                text, line = f"{text}{line}\n", head
            line = f"{line} {name}"
        text = f"{text}{line}\n"
    return text


def main() -> int:
    """Writes the tables or checks them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a table is out of date")
    check = parser.parse_args().check
    old = []
    for name, text in tables().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            old.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and old:
        print(f"out of date, run python scripts/public_names.py: {', '.join(old)}")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
