"""What Python had at the time of TensorFlow 1.x and lost since.

`tfnb run` gives it back to a program's process, and what NumPy and SciPy lost (`numpy_names.py`, `scipy_names.py`).
Invariant: what Python has today stays as it is.
"""

from __future__ import annotations

import base64
import builtins
import collections
import collections.abc
import errno
import fractions
import functools
import html.parser
import importlib
import inspect
import json
import math
import os
import random
import sys
import threading
import time
import xml.etree.ElementTree
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from tfnb.v1.programs.numpy_names import add_missing, give_back_numpy
from tfnb.v1.programs.scipy_names import give_back_scipy

__all__ = ["give_back"]

# Modules that an import of TensorFlow loaded on its way, so that programs used them by the name of their package alone:
# `import urllib` and then `urllib.request.urlretrieve`.
_LOADED_WITH_TENSORFLOW = {
    "http": ("client", "cookiejar", "cookies"),
    "multiprocessing": ("pool",),
    "urllib": ("error", "request", "response"),
    "xml.dom": ("minidom",),
}


def give_back() -> None:
    """Gives Python and NumPy in this process what programs of the time use and they no longer have."""
    for name in collections.abc.__all__:
        add_missing(collections, name, getattr(collections.abc, name))
    add_missing(time, "clock", time.process_time)
    add_missing(inspect, "getargspec", _arguments)
    add_missing(fractions, "gcd", math.gcd)
    add_missing(os, "errno", errno)
    add_missing(sys, "setcheckinterval", lambda interval: None)
    add_missing(html.parser.HTMLParser, "unescape", staticmethod(html.unescape))
    add_missing(base64, "encodestring", base64.encodebytes)
    add_missing(base64, "decodestring", base64.decodebytes)
    add_missing(threading.Thread, "isAlive", threading.Thread.is_alive)
    add_missing(xml.etree, "cElementTree", xml.etree.ElementTree)
    sys.modules.setdefault("xml.etree.cElementTree", xml.etree.ElementTree)
    for package, modules in _LOADED_WITH_TENSORFLOW.items():
        _load_on_use(importlib.import_module(package), modules)
    for place, name, change in (
        (builtins, "open", _universal_newlines),
        (json, "load", _without_encoding),
        (json, "loads", _without_encoding),
        (random, "sample", _of_sets),
        (random, "shuffle", _without_source),
    ):
        function = getattr(place, name)
        if not hasattr(function, "given_back"):
            setattr(place, name, _wrapped(function, change))
    give_back_numpy()
    give_back_scipy()


def _load_on_use(package: ModuleType, modules: Collection[str]) -> None:
    """Lets modules of a package be imported when they are first asked for as its attributes."""
    earlier = vars(package).get("__getattr__")
    if hasattr(earlier, "given_back"):
        return

    def find(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package.__name__}.{name}")
        if earlier is not None:
            return earlier(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    vars(find)["given_back"] = True
    vars(package)["__getattr__"] = find


def _wrapped(function: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function`, whose arguments `change` turns into those of today."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = change(*args, **kwargs)
        return function(*args, **kwargs)

    vars(call)["given_back"] = True
    return call


def _universal_newlines(*args: object, **kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The letter U in the mode of `open` asked for what a text file does anyway."""
    if "mode" in kwargs:
        return args, kwargs | {"mode": _without_u(kwargs["mode"])}
    return (args[0], _without_u(args[1]), *args[2:]) if len(args) > 1 else args, kwargs


def _without_u(mode: object) -> Any:
    if not isinstance(mode, str) or "U" not in mode:
        return mode
    mode = mode.replace("U", "")
    return mode if "r" in mode else "r" + mode


def _without_encoding(*args: object, **kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The argument `encoding` of `json.load` was ignored in Python 3."""
    return args, {name: value for name, value in kwargs.items() if name != "encoding"}


def _of_sets(population: object, *args: object, **kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`random.sample` took sets, as tuples of their elements."""
    return (tuple(population) if isinstance(population, collections.abc.Set) else population, *args), kwargs


def _without_source(x: Any, source: Callable[[], float] | None = None, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """`random.shuffle` took a function in place of `random.random`; the order is made by it, and then left alone."""
    source = kwargs.pop("random", source)
    if source is None:
        return (x,), kwargs
    for i in reversed(range(1, len(x))):
        j = int(source() * (i + 1))
        x[i], x[j] = x[j], x[i]
    return ([],), kwargs


def _arguments(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Returns (args, varargs, keywords, defaults) of a function, as `inspect.getargspec` did."""
    ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
    return ArgSpec(*inspect.getfullargspec(function)[:4])
