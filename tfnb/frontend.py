"""The door by which names from outside the core enter: here `tfnb.v1` comes in, programs of TensorFlow 0.6 to 1.15.

The core imports nothing of a house and does not name its modules; a house calls `mount` when `enter` imports it, and
says what it brings. What of the core a house may import stands in docs/architecture.md, and tests/test_layers.py
holds it. Invariant: after `enter` no name is added any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol, cast

__all__ = [
    "Command",
    "ImportHook",
    "Names",
    "commands",
    "constant_classes",
    "enter",
    "graph_functions",
    "import_hook",
    "mount",
    "names",
]

# The modules that call `mount` when they are imported.
HOUSES = ("tfnb.v1",)


class ImportHook(Protocol):
    """What lets `import tensorflow` mean tfnb."""

    def installed(self) -> bool:
        """Returns whether `import tensorflow` means tfnb in this process."""

    def installation(self, era: str | None = None) -> AbstractContextManager[ModuleType]:
        """Lets it mean tfnb within a block."""


class Names(Protocol):
    """A module with the public names that a house brings.

    NAMES: the text of a table in the form of `entries` of tfnb/client/namespace.py. VIEWS: from a dotted module to the
    places whose names it shows. REFUSED_PACKAGES and REFUSED_NAMES: from a dotted name to the reason why it is not
    there.
    """

    NAMES: str
    VIEWS: Mapping[str, Sequence[str]]
    REFUSED_PACKAGES: Mapping[str, str]
    REFUSED_NAMES: Mapping[str, str]


class Command(NamedTuple):
    """A command of `tfnb`, as `tfnb --help` shows it.

    usage: what is written after `tfnb`. summary: one sentence on what it does. module: the dotted module whose `main`
    takes all arguments of the process, the command's name first, and returns the exit status.
    """

    usage: str
    summary: str
    module: str


_names: list[str] = []
_constant_classes: set[tuple[str, str]] = set()
_graph_functions: dict[str, str] = {}  # from a package to the module of its table
_hooks: list[str] = []  # the dotted module of the import hook
_commands: dict[str, Command] = {}


def mount(
    names: str,
    constant_classes: Sequence[tuple[str, str]] = (),
    graph_functions: Mapping[str, str] | None = None,
    import_hook: str = "",
    commands: Mapping[str, Command] | None = None,
) -> None:
    """Brings a house in, whose modules are imported when they are needed.

    names: the dotted module that is a `Names`. constant_classes: (module, name) of classes that hold texts and numbers
    only, which the graph builder may read without being told. graph_functions: from a package to the dotted module
    whose `TABLE` lists its functions that only add to a graph, in the form of
    `tfnb/notebook/builder/trust/listed_functions.py`. import_hook: the dotted module that is an `ImportHook`.
    commands: by the names that are written after `tfnb`; the first of the first house is the one that a program is
    run by, and its name may be left out.
    """
    _names.append(names)
    _constant_classes.update(constant_classes)
    _graph_functions.update(graph_functions or {})
    _hooks.extend([import_hook] if import_hook else [])
    _commands.update(commands or {})


@cache
def enter() -> None:
    """Imports the houses, which mount what they bring."""
    for house in HOUSES:
        import_module(house)


def names() -> tuple[Names, ...]:
    """Imports and returns the tables of the public names that the houses bring."""
    enter()
    return tuple(cast(Names, import_module(module)) for module in _names)


def constant_classes() -> frozenset[tuple[str, str]]:
    """Returns (module, name) of the classes that only hold texts and numbers."""
    return frozenset(_constant_classes)


def graph_functions() -> Mapping[str, str]:
    """Returns the tables of the functions that only add to a graph, by the package below which their modules are."""
    return {package: import_module(module).TABLE for package, module in _graph_functions.items()}


@cache
def import_hook() -> ImportHook:
    """Returns what lets `import tensorflow` mean tfnb, which is imported on first use."""
    enter()
    return cast(ImportHook, import_module(_hooks[0]))


def commands() -> Mapping[str, Command]:
    """Returns the commands of `tfnb` that the houses bring, by name, that which may be left out first."""
    enter()
    return _commands
