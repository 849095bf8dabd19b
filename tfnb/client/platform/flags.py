"""Command line flags of programs: `tf.app.flags` (`tf.flags`) and `tf.app.run`, on the flags of absl.

TensorFlow took its flags from absl in version 1.5, and programs mix both since then: `absl.flags` with `tf.app.run`, or
`tf.flags` with `absl.app.run`. So the flags are those of `absl.flags.FLAGS`, whoever has defined them. As in TensorFlow
`tf.flags.FLAGS` reads the command line on first use and leaves unknown arguments to the program, such as those of a
notebook's kernel. Invariant: a flag that is defined again replaces the first, because notebook cells run several times.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec

from absl import flags as absl_flags

from tfnb.errors import InvalidArgumentError
from tfnb.suggestions import did_you_mean

__all__ = [
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_enum",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "FLAGS",
    "FlagValues",
    "UnknownFlagError",
    "mark_flag_as_required",
    "mark_flags_as_required",
    "run",
]

_P = ParamSpec("_P")
_HELP = {"help", "helpfull", "helpshort", "helpxml", "?"}


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

    It shows the flags of `absl.flags.FLAGS`, whose methods it has, too. A value that is assigned before the command
    line is read gives way to one that stands there. Raises `UnknownFlagError` for a flag that is not defined, and
    `InvalidArgumentError` for a value of the wrong type.
    """

    def __init__(self, of: absl_flags.FlagValues) -> None:
        self.__dict__["_of"] = of
        self.__dict__["_argv"] = None  # the command line that was read here

    def __call__(self, argv: Sequence[str] | None = None) -> list[str]:
        """Reads the flags from `argv` (by default sys.argv) and returns the other arguments, the program's name
        first.
        """
        arguments = [str(a) for a in (sys.argv if argv is None else argv)] or [""]
        if any(a.lstrip("-") in _HELP for a in arguments[1:]):
            import_module("absl.app").define_help_flags()
        self.__dict__["_argv"] = arguments
        return _read(self._of, arguments)

    _parse_flags = __call__

    def __getattr__(self, name: str) -> Any:
        of = self.__dict__["_of"]
        if name == "__flags":  # which programs print, by `.value` from 1.5 on
            return {n: DefinedFlag(n, getattr(self, n), of[n].default, of[n].help) for n in self}
        if name in of:
            if not of.is_parsed():
                self()
            return getattr(of, name)
        if name.startswith("__") or not hasattr(type(of), name):
            raise self._unknown(name) if not name.startswith("__") else AttributeError(name)
        return getattr(of, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._of:
            raise self._unknown(name)
        try:
            setattr(self._of, name, value)
        except absl_flags.Error as e:
            raise InvalidArgumentError(f"command line flags: {e}") from None

    def __delattr__(self, name: str) -> None:
        if name not in self._of:
            raise self._unknown(name)
        delattr(self._of, name)

    def __getitem__(self, name: str) -> Any:
        if name not in self._of:
            raise KeyError(name)
        return self._of[name]

    def __contains__(self, name: object) -> bool:
        return name in self._of

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._of))

    def __len__(self) -> int:
        return len(self._of)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._of})

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns the values of all flags by their names."""
        return {name: getattr(self, name) for name in self}

    def __repr__(self) -> str:
        return f"<tf.flags.FLAGS {self.flag_values_dict()}>"

    def _unknown(self, name: str) -> UnknownFlagError:
        known = list(self)
        return UnknownFlagError(f"no flag named {name!r} was defined; there are {known}{did_you_mean(name, known)}")

    def define(self, name: str, definition: Callable[..., object], *arguments: object, **options: object) -> None:
        """Calls a function of absl that defines the flag `name`, which may be there.

        If the command line has been read, the new flag has its value from it at once.
        """
        of = options.setdefault("flag_values", self._of)
        if not isinstance(of, absl_flags.FlagValues):
            of = options["flag_values"] = self._of
        if name in of:
            delattr(of, name)
        try:
            definition(name, *arguments, **options)
            if of.is_parsed():
                alone = absl_flags.FlagValues()
                alone[name] = of[name]
                _read(alone, self._argv or sys.argv)
        except absl_flags.Error as e:
            raise InvalidArgumentError(f"command line flags: {e}") from None


def _read(values: absl_flags.FlagValues, arguments: Sequence[str]) -> list[str]:
    try:
        rest: list[str] = values(list(arguments), known_only=True)
    except absl_flags.Error as e:
        raise InvalidArgumentError(f"command line flags: {e}") from None
    return rest


FLAGS = FlagValues(absl_flags.FLAGS)
absl_flags.disclaim_key_flags()  # a flag belongs to the module that calls the functions below

_ABSL_NAMES = {"name": "flag_name", "default": "default_value", "help": "docstring"}
Values = absl_flags.FlagValues  # where a flag is defined, if not in `absl.flags.FLAGS`


def _both_names(define: Callable[_P, None]) -> Callable[_P, None]:
    """Returns `define` with absl's names of the first parameters, too, as from TensorFlow 1.5 on."""
    signature = inspect.signature(define)
    absl = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _ABSL_NAMES]

    @wraps(define)
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
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=text`, and `-short_name`; the default is `default_value`."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_string, default_value, docstring or "", **options)


@_both_names
def DEFINE_integer(
    flag_name: str,
    default_value: int | None,
    docstring: str = "",
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=12`, and `-short_name`; the bounds are allowed values."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(
        flag_name, absl_flags.DEFINE_integer, default_value, docstring or "", lower_bound, upper_bound, **options
    )


@_both_names
def DEFINE_float(
    flag_name: str,
    default_value: float | None,
    docstring: str = "",
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=0.5`, and `-short_name`; the bounds are allowed values."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(
        flag_name, absl_flags.DEFINE_float, default_value, docstring or "", lower_bound, upper_bound, **options
    )


@_both_names
def DEFINE_boolean(
    flag_name: str,
    default_value: bool | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines flags `--flag_name`, `--noflag_name` and `-short_name`; the default is `default_value`."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_boolean, default_value, docstring or "", **options)


@_both_names
def DEFINE_enum(
    flag_name: str,
    default_value: str | None,
    enum_values: Sequence[str],
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag whose value is one of `enum_values`; the default is `default_value`."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_enum, default_value, enum_values, docstring or "", **options)


@_both_names
def DEFINE_list(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=a,b,c`, a list of strings."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_list, default_value, docstring or "", **options)


@_both_names
def DEFINE_spaceseplist(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    comma_compat: bool = False,
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name="a b c"`, a list of strings; `comma_compat` lets commas separate them, too."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_spaceseplist, default_value, docstring or "", comma_compat, **options)


@_both_names
def DEFINE_multi_string(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=a --flag_name=b`, the list of all its texts; the default may be one text."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_multi_string, default_value, docstring or "", **options)


@_both_names
def DEFINE_multi_integer(
    flag_name: str,
    default_value: int | Sequence[int] | None,
    docstring: str = "",
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=1 --flag_name=2`, the list of all its integers; the default may be one integer."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(
        flag_name, absl_flags.DEFINE_multi_integer, default_value, docstring or "", lower_bound, upper_bound, **options
    )


@_both_names
def DEFINE_multi_float(
    flag_name: str,
    default_value: float | Sequence[float] | None,
    docstring: str = "",
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=0.5 --flag_name=2`, the list of all its numbers; the default may be one number."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(
        flag_name, absl_flags.DEFINE_multi_float, default_value, docstring or "", lower_bound, upper_bound, **options
    )


@_both_names
def DEFINE_multi_enum(
    flag_name: str,
    default_value: str | Sequence[str] | None,
    enum_values: Sequence[str],
    docstring: str = "",
    short_name: str | None = None,
    required: bool = False,
    flag_values: Values | None = None,
) -> None:
    """Defines a flag `--flag_name=a --flag_name=b`, the list of all its texts, each one of `enum_values`."""
    options = {"short_name": short_name, "required": required, "flag_values": flag_values}
    FLAGS.define(flag_name, absl_flags.DEFINE_multi_enum, default_value, enum_values, docstring or "", **options)


DEFINE_bool = DEFINE_boolean


def mark_flag_as_required(flag_name: str, flag_values: Values | None = None) -> None:
    """Makes reading the flags fail when `flag_name` has no value."""
    absl_flags.mark_flag_as_required(flag_name, flag_values or absl_flags.FLAGS)


def mark_flags_as_required(flag_names: Iterable[str], flag_values: Values | None = None) -> None:
    """Makes reading the flags fail when one of `flag_names` has no value."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


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
