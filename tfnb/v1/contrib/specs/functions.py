"""Functions of one tensor that are composed by operators: f | g, f ** n, f + g, f * g.

Invariant: composing adds nothing to a graph; `funcall` does.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable as AnyCallable
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import InvalidArgumentError

__all__ = ["Callable", "Composable", "Composition", "External", "Function", "Import", "Operator", "check_keywords"]

QUOTED = re.compile(r""""([^"\\]|\\.)*"|'([^'\\]|\\.)*'""")
KEYWORDS = re.compile(r"\b(import|while|def|exec)\b")
_STATE = {"debug": False}
debug_ = False


def check_keywords(spec: str) -> None:
    """Raises `InvalidArgumentError` for a text that holds import, while, def or exec outside of quotes."""
    match = KEYWORDS.search(QUOTED.sub("", spec))
    if match:
        raise InvalidArgumentError(f"keyword '{match.group(1)}' found in spec")


def get_positional(
    args: Sequence[Any], kw: Mapping[str, Any], kw_overrides: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """Returns (arguments, keywords), where keywords "_0", "_1" and so on have become arguments of these numbers.

    kw_overrides: whether they take the place of arguments that are there.
    """
    result = list(args)
    for key, value in kw.items():
        if key.startswith("_"):
            index = int(key[1:])
            result += [None] * (index + 1 - len(result))
            if kw_overrides or result[index] is None:
                result[index] = value
    return result, {key: value for key, value in kw.items() if not key.startswith("_")}


class Composable:
    """The base of functions of one tensor. Subclasses define `funcall`."""

    def funcall(self, x: object) -> Any:
        """Returns the function of `x`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `funcall`")

    def __or__(self, f: Composable) -> Composable:
        return Composition(self, f)

    def __add__(self, g: Composable) -> Composable:
        return Operator(operator.add, self, g)

    def __mul__(self, g: Composable) -> Composable:
        return Operator(operator.mul, self, g)

    def __pow__(self, n: int) -> Composable:
        if n < 0:
            raise InvalidArgumentError(f"a function can be repeated 0 or more times, not {n}")
        result: Composable = Function(lambda x: x) if n == 0 else self
        for _ in range(n - 1):
            result = Composition(result, self)
        return result


class Callable(Composable):
    """The function `f` of Python."""

    def __init__(self, f: AnyCallable[[Any], Any]) -> None:
        self.f = f

    def funcall(self, x: object) -> Any:
        """Returns f(x)."""
        return self.f(x)


class Operator(Composable):
    """The operator `op` of the values of several functions `args`."""

    def __init__(self, op: AnyCallable[..., Any], *args: Composable) -> None:
        self.op, self.funs = op, args

    def funcall(self, x: object) -> Any:
        """Returns the operator of the functions of `x`."""
        return self.op(*(f.funcall(x) for f in self.funs))


class Composition(Composable):
    """The function `g` of the function `f`."""

    def __init__(self, f: Composable, g: Composable) -> None:
        self.f, self.g = f, g

    def funcall(self, x: object) -> Any:
        """Returns g(f(x))."""
        return self.g.funcall(self.f.funcall(x))


class Function(Composable):
    """A function `f` with further arguments; calling it adds arguments, and `funcall` calls `f`.

    Raises `InvalidArgumentError` for what cannot be called.
    """

    def __init__(self, f: AnyCallable[..., Any], *args: object, **kw: object) -> None:
        if not callable(f):
            raise InvalidArgumentError(f"{f} is not callable")
        self.f, self.args, self.kw = f, list(args), kw

    def __call__(self, *args: object, **kw: object) -> Function:
        return Function(self.f, *args, *self.args, **{**self.kw, **kw})

    def funcall(self, x: object) -> Any:
        """Returns f(x, *args, **kw)."""
        args, kw = get_positional(self.args, self.kw)
        if _STATE["debug"]:
            logging.info("specs: %s of %s, %s, %s", self.f, x, args, kw)
        return self.f(x, *args, **kw)


def External(module_name: str, function_name: str) -> Function:
    """Returns the function of a module of Python as one that composes."""
    return Function(getattr(import_module(module_name), function_name))


def Import(statements: str) -> Function:
    """Returns the function `f` that statements of Python define, as one that composes.

    Raises `InvalidArgumentError` when they define none.
    """
    names: dict[str, Any] = {}
    exec(statements, names)
    if "f" not in names:
        raise InvalidArgumentError(f'failed to define "f": {statements}')
    return Function(names["f"])


def debug(mode: bool = True) -> None:
    """Sets by `mode` whether each call of a function is logged."""
    _STATE["debug"] = mode
