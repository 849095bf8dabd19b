"""Networks and parameters from texts, which are statements of Python in the language of `layers` and `parameters`.

A text is a program: one from a stranger is to be trusted like a program from him. Invariant: the names that a text
defines are returned, and no module changes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.v1.contrib.specs import layers, parameters
from tfnb.v1.contrib.specs.functions import check_keywords

__all__ = ["LocalImport", "create_net", "create_net_fun", "eval_params", "eval_spec"]


def _evaluated(text: str, names: Mapping[str, Any], environment: Mapping[str, Any] | None) -> dict[str, Any]:
    check_keywords(text)
    bindings = dict(environment or {})
    exec(text, dict(names), bindings)
    return bindings


def eval_params(params: str, environment: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the environment with the names that a text of parameters defines."""
    return _evaluated(params, {**vars(math), **vars(parameters)}, environment)


def eval_spec(spec: str, environment: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the environment with the names that a text of networks defines."""
    return _evaluated(spec, vars(layers), environment)


def create_net_fun(spec: str, environment: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    """Returns the function `net` that a text defines. Raises `InvalidArgumentError` when it defines none."""
    net = eval_spec(spec, environment).get("net")
    if net is None:
        raise InvalidArgumentError(f"spec failed to create 'net': {spec}")
    return net.funcall


def create_net(spec: str, inputs: object, environment: Mapping[str, Any] | None = None) -> Any:
    """Returns the network `net` of a text, for the tensor `inputs`."""
    return create_net_fun(spec, environment)(inputs)


class LocalImport:
    """A block in which names, those of a module or a dictionary, are global names of the caller's module."""

    def __init__(self, names: ModuleType | Mapping[str, Any]) -> None:
        self.names = dict(names if isinstance(names, Mapping) else vars(names))
        self._old: dict[str, Any] = {}
        self._globals: dict[str, Any] = {}

    def __enter__(self) -> None:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        self._globals = {} if caller is None else caller.f_globals
        self._old = {name: self._globals[name] for name in self.names if name in self._globals}
        self._globals.update(self.names)

    def __exit__(self, *args: object) -> None:
        for name in self.names:
            if name in self._old:
                self._globals[name] = self._old[name]
            else:
                self._globals.pop(name, None)
