"""Lists the public names of a TensorFlow 1.x that is installed, with the arguments of those that can be called.

Run by the Python of that TensorFlow, `python3.7 scripts/api_names.py tests/data/api_1_15.tsv`: one line for each name,
with its kind and its arguments, "-" where they cannot be read. What is public outside contrib is what the packages of
its API export. A package of contrib has no such list: a name counts as its own when it stands in the package, or in a
module of the package that defines it.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

COPIES = ("tf.compat.v1", "tf.compat.v2", "tf.contrib", "tf.pywrap_tensorflow")
CONTRIB_DEPTH = 2


def is_module(value: object) -> bool:
    return isinstance(value, types.ModuleType) or type(value).__name__ in ("LazyLoader", "TFModuleWrapper")


def arguments(value: Any, unwrap: Callable[[Any], Any]) -> list[str] | None:
    """The names of the arguments, or None where they cannot be read."""
    function = unwrap(value)[1]
    if inspect.isclass(function):
        if issubclass(function, Exception):
            return None
        maker = function.__init__ if function.__init__ is not object.__init__ else function.__new__
        if maker is object.__new__:
            return None
        function = unwrap(maker)[1]
    try:
        spec = inspect.getfullargspec(function)
    except TypeError:
        return None
    names = [*spec.args, *spec.kwonlyargs]
    return names[1:] if names[:1] in (["self"], ["cls"], ["_cls"]) else names


def exported(module: types.ModuleType, path: str) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of what the packages of the API export, below `path`."""
    for name in dir(module):
        value = getattr(module, name, None)
        dotted = path + "." + name
        if name.startswith("_") or dotted in COPIES:
            continue
        if not is_module(value):
            yield dotted, value
        elif "_api" in value.__name__ or ".api." in value.__name__:
            yield from exported(value, dotted)


def of_contrib(module: types.ModuleType, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of what a package of contrib contains, or a module of it defines."""
    for name in dir(module):
        value = getattr(module, name, None)
        dotted = path + "." + name
        package = dotted.split(".")[2]
        if name.startswith("_"):
            continue
        if is_module(value):
            if ".contrib." in getattr(value, "__name__", "") and name != "python" and depth < CONTRIB_DEPTH:
                yield from of_contrib(value, dotted, depth + 1)
            continue
        origin = str(getattr(value, "__module__", ""))
        own = "contrib." + package in origin
        if depth == 1 or (depth == CONTRIB_DEPTH and own and callable(value)):
            internal = package == "quantization" and "quant" not in name  # it imports all of a private module
            if type(value).__name__ != "_Feature" and not internal:
                yield dotted, value


def main(target: str) -> None:
    import tensorflow as tf
    from tensorflow.python.util import tf_decorator

    names = dict(exported(tf, "tf"))
    names.update(of_contrib(tf.contrib, "tf.contrib"))
    with open(target, "w") as file:
        file.write("symbol\tkind\targuments\n")
        for dotted, value in sorted(names.items()):
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "value"
            given = arguments(value, tf_decorator.unwrap) if kind != "value" else None
            listed = "-" if given is None else ",".join(name for name in given if re.match("^[a-zA-Z]", name))
            file.write(f"{dotted}\t{kind}\t{listed}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
