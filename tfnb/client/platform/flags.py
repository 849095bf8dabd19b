"""Command line flags of programs: `tf.app.flags` (`tf.flags`) and `tf.app.run`, implemented with argparse.

Flags are read from `sys.argv` on first use. Other arguments are left to the program, so those of a notebook kernel
cause no error. Invariant: a flag that is defined again replaces the first, because notebook cells run several times.
"""

from __future__ import annotations

import argparse
import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import TensorLike

__all__ = ["API", "FLAGS", "run"]

_P = ParamSpec("_P")


@dataclass(frozen=True)
class _Flag:
    name: str
    default: Any
    help: str
    kind: Callable[[str], Any]
    choices: tuple[str, ...] | None = None
    short_name: str | None = None
    is_repeated: bool = False  # whether it may be given several times; its value is the list of all


@dataclass(frozen=True)
class DefinedFlag:
    """What `FLAGS.__flags` has for the name of a flag; as a text it is its value."""

    name: str
    value: Any
    default: Any
    help: str

    def __str__(self) -> str:
        return str(self.value)


class UnknownFlagError(InvalidArgumentError, AttributeError):
    """There is no flag of this name."""


class FlagValues:
    """The values of all flags, as attributes: `FLAGS.learning_rate`.

    Assigning to an attribute overrides the command line. Raises `UnknownFlagError` for a flag that is not defined, and
    `InvalidArgumentError` for a value of the wrong type.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_values"] = None  # None until the command line has been read
        self.__dict__["_set"] = {}
        self.__dict__["_required"] = set()
        self.__dict__["_rest"] = []

    def define(self, flag: _Flag) -> None:
        """Adds a flag, or replaces the flag of its name."""
        self._flags[flag.name] = flag
        self._set.pop(flag.name, None)
        self.__dict__["_values"] = None

    def __call__(self, argv: Sequence[str] | None = None) -> list[str]:
        """Reads the flags from `argv` (by default sys.argv) and returns the other arguments, the program's name
        first.
        """
        arguments = list(sys.argv if argv is None else argv)
        parser = _Parser(prog=arguments[0] if arguments else None, allow_abbrev=False)
        for flag in self._flags.values():
            _add(parser, flag)
        parsed, rest = parser.parse_known_args(arguments[1:])
        values = vars(parsed)
        for flag in self._flags.values():
            if flag.is_repeated and values[flag.name] is None:
                values[flag.name] = flag.default
        self.__dict__["_values"] = values
        unset = [n for n in sorted(self._required) if n not in self._set and self._values.get(n) is None]
        if unset:
            raise InvalidArgumentError(f"flag --{unset[0]} must have a value")
        self.__dict__["_rest"] = arguments[:1] + rest
        return list(self._rest)

    _parse_flags = __call__

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":  # which programs print, by `.value` from 1.5 on
            return {f.name: DefinedFlag(f.name, getattr(self, f.name), f.default, f.help) for f in self._flags.values()}
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._flags:
            raise UnknownFlagError(f"no flag named {name!r} was defined; there are {sorted(self._flags)}")
        if name in self._set:
            return self._set[name]
        if self._values is None:
            self()
        return self._values[name]

    def __setattr__(self, name: str, value: TensorLike) -> None:
        if name not in self._flags:
            raise UnknownFlagError(f"no flag named {name!r} was defined; there are {sorted(self._flags)}")
        self._set[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise UnknownFlagError(f"no flag named {name!r} was defined")
        del self._flags[name]
        self._set.pop(name, None)
        self.__dict__["_values"] = None

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def __iter__(self) -> Any:
        return iter(sorted(self._flags))

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns the values of all flags by their names."""
        return {name: getattr(self, name) for name in self}

    def __repr__(self) -> str:
        return f"<tf.flags.FLAGS {self.flag_values_dict()}>"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise InvalidArgumentError(f"command line flags: {message}")


def _boolean(text: str) -> bool:
    lower_text = text.lower()
    if lower_text in ("true", "t", "1", "yes", "y"):
        return True
    if lower_text in ("false", "f", "0", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not a boolean; needed true or false")


def _integer(text: str) -> int:
    return int(text, 0)


_integer.__name__ = "integer"  # argparse names the type in its messages


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _add(parser: argparse.ArgumentParser, flag: _Flag) -> None:
    text = flag.help.replace("%", "%%")
    names = [f"--{flag.name}", *([f"-{flag.short_name}"] if flag.short_name else [])]
    if flag.kind is _boolean:
        # only a value after "=" belongs to the flag, never the next word
        parser.add_argument(
            *names, dest=flag.name, nargs="?", const=True, default=flag.default, type=_boolean, help=text
        )
        parser.add_argument(
            f"--no{flag.name}", dest=flag.name, action="store_false", default=flag.default, help=argparse.SUPPRESS
        )
        return
    common: dict[str, Any] = {"dest": flag.name, "type": flag.kind, "help": text, "choices": flag.choices}
    if flag.is_repeated:  # argparse would add to a default list
        parser.add_argument(*names, action="append", default=None, **common)
    else:
        parser.add_argument(*names, default=flag.default, **common)


FLAGS = FlagValues()


def _define(flag: _Flag, required: bool) -> None:
    FLAGS.define(flag)
    if required:
        mark_flag_as_required(flag.name)


def _bounded(kind: Callable[[str], Any], lower: float | None, upper: float | None) -> Callable[[str], Any]:
    """Returns `kind`, restricted to numbers from `lower` to `upper`."""

    def read(text: str) -> Any:
        value = kind(text)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise argparse.ArgumentTypeError(f"{value} is not between {lower} and {upper}")
        return value

    read.__name__ = kind.__name__
    return kind if lower is None and upper is None else read


_ABSL_NAMES = {"name": "flag_name", "default": "default_value", "help": "docstring"}


def _both_names(define: Callable[_P, None]) -> Callable[_P, None]:
    """Returns `define` with absl's names of the first parameters, too, as from TensorFlow 1.5 on."""
    signature = inspect.signature(define)
    absl = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _ABSL_NAMES]

    @functools.wraps(define)
    def defined(*args: _P.args, **kwargs: _P.kwargs) -> None:
        for late, early in _ABSL_NAMES.items():
            if late in kwargs and early not in kwargs:
                kwargs[early] = kwargs.pop(late)
        define(*args, **kwargs)

    own = list(signature.parameters.values())
    defined.__signature__ = signature.replace(parameters=[*own, *absl])  # type: ignore[attr-defined]
    return defined


@_both_names
def DEFINE_string(
    flag_name: str,
    default_value: str | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=text`, and `-short_name`; the default is `default_value`."""
    _define(_Flag(flag_name, default_value, docstring or "", str, None, short_name), required)


@_both_names
def DEFINE_integer(
    flag_name: str,
    default_value: int | None,
    docstring: str = "",
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=12`, and `-short_name`; the default is `default_value`. The bounds are allowed
    values.
    """
    kind = _bounded(_integer, lower_bound, upper_bound)
    _define(_Flag(flag_name, default_value, docstring or "", kind, None, short_name), required)


@_both_names
def DEFINE_float(
    flag_name: str,
    default_value: float | None,
    docstring: str = "",
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=0.5`, and `-short_name`; the default is `default_value`. The bounds are allowed
    values.
    """
    default = float(default_value) if default_value is not None else None
    kind = _bounded(float, lower_bound, upper_bound)
    _define(_Flag(flag_name, default, docstring or "", kind, None, short_name), required)


@_both_names
def DEFINE_boolean(
    flag_name: str,
    default_value: bool | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines flags `--flag_name`, `--noflag_name`, `--flag_name=true` and `-short_name`; the default is
    `default_value`.
    """
    _define(_Flag(flag_name, default_value, docstring or "", _boolean, None, short_name), required)


@_both_names
def DEFINE_enum(
    flag_name: str,
    default_value: str | None,
    enum_values: Sequence[str],
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag whose value is one of `enum_values`; the default is `default_value`."""
    _define(_Flag(flag_name, default_value, docstring or "", str, tuple(enum_values), short_name), required)


@_both_names
def DEFINE_list(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=a,b,c`, a list of strings; the default is `default_value`."""
    default = _list(default_value) if isinstance(default_value, str) else default_value
    _define(_Flag(flag_name, default, docstring or "", _list, None, short_name), required)


@_both_names
def DEFINE_spaceseplist(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    comma_compat: bool = False,
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name="a b c"`, a list of strings; `comma_compat` lets commas separate them, too."""

    def words(text: str) -> list[str]:
        return (text.replace(",", " ") if comma_compat else text).split()

    default = words(default_value) if isinstance(default_value, str) else default_value
    _define(_Flag(flag_name, default, docstring or "", words, None, short_name), required)


def _define_repeated(flag: _Flag, required: bool) -> None:
    """Defines a flag that may be given several times; its default may be a value, a list of values, or None."""
    default = flag.default
    is_single = isinstance(default, str) or not isinstance(default, Iterable)
    values = None if default is None else [default] if is_single else list(default)
    _define(replace(flag, default=values, is_repeated=True), required)


@_both_names
def DEFINE_multi_string(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=a --flag_name=b`, the list of all its texts; the default may be one text."""
    _define_repeated(_Flag(flag_name, default_value, docstring or "", str, None, short_name), required)


@_both_names
def DEFINE_multi_integer(
    flag_name: str,
    default_value: int | Sequence[int] | None,
    docstring: str = "",
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=1 --flag_name=2`, the list of all its integers; the default may be one integer."""
    kind = _bounded(_integer, lower_bound, upper_bound)
    _define_repeated(_Flag(flag_name, default_value, docstring or "", kind, None, short_name), required)


@_both_names
def DEFINE_multi_float(
    flag_name: str,
    default_value: float | Sequence[float] | None,
    docstring: str = "",
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=0.5 --flag_name=2`, the list of all its numbers; the default may be one number."""
    kind = _bounded(float, lower_bound, upper_bound)
    _define_repeated(_Flag(flag_name, default_value, docstring or "", kind, None, short_name), required)


@_both_names
def DEFINE_multi_enum(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    enum_values: Sequence[str],
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
) -> None:
    """Defines a flag `--flag_name=a --flag_name=b`, the list of all its texts, each one of `enum_values`.

    The default is `default_value`, which may be one text.
    """
    _define_repeated(_Flag(flag_name, default_value, docstring or "", str, tuple(enum_values), short_name), required)


def mark_flag_as_required(flag_name: str) -> None:
    """Makes reading the flags fail when `flag_name` has no value."""
    FLAGS._required.add(flag_name)


def mark_flags_as_required(flag_names: Iterable[str]) -> None:
    """Makes reading the flags fail when one of `flag_names` has no value."""
    for name in flag_names:
        mark_flag_as_required(name)


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> Any:
    """Reads the flags, calls `main(argv)` with the other arguments (by default the program's own `main`), and exits.

    In a notebook it returns the result of `main` instead of ending the kernel. Raises `InvalidArgumentError` for bad
    flags, and when there is no `main`.
    """
    rest = FLAGS(argv)
    main_function = main or getattr(sys.modules["__main__"], "main", None)
    if main_function is None:
        raise InvalidArgumentError("app.run: the program defines no function `main`")
    result = main_function(rest)
    if hasattr(builtins, "__IPYTHON__"):
        return result
    sys.exit(result)


_FUNCTIONS: dict[str, Any] = {
    "FLAGS": FLAGS,
    "DEFINE_string": DEFINE_string,
    "DEFINE_integer": DEFINE_integer,
    "DEFINE_float": DEFINE_float,
    "DEFINE_boolean": DEFINE_boolean,
    "DEFINE_bool": DEFINE_boolean,
    "DEFINE_enum": DEFINE_enum,
    "DEFINE_list": DEFINE_list,
    "DEFINE_multi_enum": DEFINE_multi_enum,
    "DEFINE_multi_float": DEFINE_multi_float,
    "DEFINE_multi_integer": DEFINE_multi_integer,
    "DEFINE_multi_string": DEFINE_multi_string,
    "DEFINE_spaceseplist": DEFINE_spaceseplist,
    "mark_flag_as_required": mark_flag_as_required,
    "mark_flags_as_required": mark_flags_as_required,
}
API: dict[str, Any] = {
    "app.run": run,
    **{f"{prefix}.{name}": value for prefix in ("flags", "app.flags") for name, value in _FUNCTIONS.items()},
}
