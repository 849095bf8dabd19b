"""Writes the public names of the installed TensorFlow as JSON: each last part with the whole names that end in it.

    python public_names.py FILE

Runs under Python 3.6 and later.
"""

import json
import sys
import types
from typing import Any

import tensorflow as tf

NOT_API = ("python", "core", "contrib", "tools", "examples")


def collect(module: Any, path: str, names: dict, seen: set) -> None:
    """Adds the names of a module, and of the modules below it, each once."""
    seen.add(id(module))
    for name in dir(module):
        if name.startswith("_") or (not path and name in NOT_API):
            continue
        value, whole = getattr(module, name, None), (path + "." + name).strip(".")
        if isinstance(value, types.ModuleType):
            if not value.__name__.startswith("tensorflow") or id(value) in seen:
                continue
            collect(value, whole, names, seen)
        names.setdefault(name, []).append(whole)


if __name__ == "__main__":
    found = {}
    collect(tf, "", found, set())
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(found, out)
