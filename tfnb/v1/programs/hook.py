"""`import tensorflow` means tfnb: `install`, `uninstall`, and the real TensorFlow beside it.

A finder in `sys.meta_path` creates the modules `tensorflow` and `tensorflow.*` when they are first named. Each is a
view of a module of tfnb: an attribute is looked up there on first use. Invariant: only the entries "tensorflow" and
"tensorflow.*" of `sys.modules` and one entry of `sys.meta_path` change, and `uninstall` puts back what was there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from tfnb.client.namespace import ABSENT, value_in
from tfnb.errors import FailedPreconditionError
from tfnb.ir.graphdef.encode import PRODUCER
from tfnb.ir.scopes import Names
from tfnb.v1.names.views import VIEWS
from tfnb.v1.programs.eras import case_matters, replacements, version_of
from tfnb.v1.programs.missing import missing_module, missing_name

__all__ = ["install", "installation", "installed", "real_tensorflow", "tensorflow_of", "uninstall"]

_ROOT = "tensorflow"
# tensorboard.compat uses its own small TensorFlow when it can import this module.
_NO_TENSORFLOW = "tensorboard.compat.notf"
# The modules of tfnb's source that are public names too; others, such as tfnb.session, are no names of TensorFlow.
_PUBLIC_SOURCES = {
    "tfnb.errors",
    "tfnb.summary",
    "tfnb.train",
    "tfnb.v1.estimators.api",
    "tfnb.v1.estimators.export",
    "tfnb.v1.estimators.inputs",
    "tfnb.train.testing",
}
# Modules that a function of the same name hides in their package, as `from tensorflow.contrib.framework.python.ops
# import arg_scope` gives the function; an import of the whole path still finds the module.
_HIDDEN_MODULES = {"contrib.framework.python.ops.arg_scope"}


# Names that came with the meaning of 1.x, beside an older name whose function has it in 1.x alone: concat, mod.
_NEW_AT_ONCE = {"concat_v2", "floormod"}


_attributes_of: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__


class TensorFlowModule(ModuleType):
    """A module `tensorflow.PATH` that shows a module of tfnb.

    An attribute is looked up when it is used; one who asks for the dictionary of the module gets all public names.
    """

    def __init__(self, family: _Family, path: str, place: ModuleType) -> None:
        super().__init__(f"{_ROOT}.{path}" if path else _ROOT, place.__doc__)
        self.__family, self.__place, self.__below = family, place, path
        # with a path it is a package, so that modules below it can be imported
        _attributes_of(self).update(__path__=[], __file__=str(sys.modules["tfnb"].__file__))

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        for name in dir(self):
            getattr(self, name, None)  # which keeps the value
        return _attributes_of(self)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # Python looks for a module of each name that is not an attribute
            return [public for public in dir(self) if hasattr(self, public)]
        path = f"{self.__below}.{name}" if self.__below else name
        if name.startswith("__") and name.endswith("__"):
            raise missing_name(self, name, path)
        value = self.__family.value_of(self.__place, name, path)
        if value is ABSENT:
            raise missing_name(self, name, path)
        if path in _HIDDEN_MODULES:
            value = getattr(value, name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # the import of a module below this one ends with setting it as an attribute
        if not (isinstance(value, TensorFlowModule) and f"{self.__below}.{name}" in _HIDDEN_MODULES):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        places = [self.__place, *(p for p in map(_public, VIEWS.get(self.__below, ())) if p is not None)]
        shown = (n for place in places for n in dir(place) if _is_public(place, n, vars(place).get(n)))
        return sorted({n for n in (*shown, *_attributes_of(self)) if not n.startswith("_")})


def _public(path: str) -> ModuleType | None:
    """The module tfnb.`path`, if it is a public name."""
    value: Any = sys.modules["tfnb"]
    for part in filter(None, path.split(".")):
        value = getattr(value, part, None)
    return value if isinstance(value, ModuleType) else None


def _is_public(place: ModuleType, name: str, value: object) -> bool:
    """Whether the attribute `name` of a module of tfnb is a public name, and not a module that its source imports."""
    if type(value) is not ModuleType or getattr(value, "__file__", None) is None:
        return True
    if value.__name__.startswith("tfnb."):
        return value.__name__ in _PUBLIC_SOURCES
    return getattr(place, "__file__", None) is None or (place.__name__, name) == ("tfnb.train.testing", "mock")


class _Family:
    """The views of one installation, which share the version and the era's replacements.

    replacements: from the id of a public object of tfnb to the object that stands for it.
    """

    def __init__(self, version: str, replacements: Mapping[int, object]) -> None:
        self.modules: dict[str, TensorFlowModule] = {}
        self._replacements = replacements
        self._constants = {
            "__version__": version,
            "VERSION": version,
            **dict.fromkeys(("__git_version__", "GIT_VERSION"), f"tfnb-{sys.modules['tfnb'].__version__}"),
            **dict.fromkeys(("__compiler_version__", "COMPILER_VERSION"), "OpenCL"),
            "GRAPH_DEF_VERSION": PRODUCER,
            "GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
            "GRAPH_DEF_VERSION_MIN_PRODUCER": 0,
        }

    def module(self, path: str, place: ModuleType) -> TensorFlowModule:
        """The view tensorflow.`path` of `place`, created at most once."""
        view = self.modules.get(path)
        if view is None:
            view = self.modules.setdefault(path, TensorFlowModule(self, path, place))
            view.__spec__ = ModuleSpec(view.__name__, _finder, is_package=True)
            view.__loader__, view.__package__ = _finder, view.__name__
            if path in ("", "compat.v1", "python.framework.versions"):
                _attributes_of(view).update(self._constants)
        return view

    def value_of(self, place: ModuleType, name: str, path: str) -> Any:
        """The attribute `name` of `place` as programs see it, or `ABSENT`."""
        value = value_in(place, name)
        if value is ABSENT or not _is_public(place, name, value):
            return ABSENT
        if type(value) is not ModuleType:
            if name in _NEW_AT_ONCE:
                return value
            return self._replacements.get(id(value), value)
        view = self.module(path, value)
        if _finder.family is self:
            sys.modules.setdefault(view.__name__, view)
        return view


def _may_be_missing() -> bool:
    """Says whether who asks takes no for an answer: pydoc, which asks for names, or a call of `__import__` with names
    in `fromlist`, of which Python passes over those that are no modules.
    """
    frame: FrameType | None = sys._getframe(2)
    of_list = False
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        of_list |= frame.f_code.co_name == "_handle_fromlist"
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") == "pydoc":
        return frame is not None
    return of_list and frame.f_code.co_code[frame.f_lasti] != opmap["IMPORT_NAME"]  # no statement `from m import name`


class _Finder(MetaPathFinder, Loader):
    """Finds the modules `tensorflow` and `tensorflow.*` while it is in `sys.meta_path`."""

    def __init__(self) -> None:
        self.family: _Family | None = None
        self.era: str | None = None
        self.set_aside: dict[str, ModuleType] = {}  # the modules of a real TensorFlow that was imported before
        self.lock = threading.RLock()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how to load a module of TensorFlow, None for other modules.

        Raises `MissingModuleError` for a module of TensorFlow that tfnb does not have.
        """
        if fullname == _NO_TENSORFLOW:
            return ModuleSpec(fullname, self)
        root, _, below = fullname.partition(".")
        if root != _ROOT or self.family is None:
            return None
        if below and self._view(below) is None:
            place, _, name = below.rpartition(".")
            if name in dir(self._view(place)) or _may_be_missing():
                return None
            raise missing_module(below)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Returns the view for a module that `find_spec` has found."""
        return None if spec.name == _NO_TENSORFLOW else self._view(spec.name.partition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: attributes of a view are looked up when they are used."""

    def _view(self, below: str) -> TensorFlowModule | None:
        assert self.family is not None
        view: Any = self.family.module("", sys.modules["tfnb"])
        path = ""
        for part in filter(None, below.split(".")):
            path = f"{path}.{part}" if path else part
            view = getattr(view, part, None)
            if path in _HIDDEN_MODULES:
                view = self.family.modules.get(path)
            if not isinstance(view, TensorFlowModule):
                return None
        return view


_finder = _Finder()


def _take_modules() -> dict[str, ModuleType]:
    """Removes the modules `tensorflow` and `tensorflow.*` from `sys.modules` and returns them."""
    names = [n for n in sys.modules if n == _ROOT or n.startswith(_ROOT + ".")]
    return {n: sys.modules.pop(n) for n in names}


def install(era: str | None = None) -> ModuleType:
    """Makes `import tensorflow` and `import tensorflow.ANY.MODULE` mean tfnb in this process; returns that module.

    era: "0.6", "0.12", "1.5" or "1.15", the version whose meanings, names and `tf.__version__` the program expects;
    without it the types of a call's arguments decide, and `tf.__version__` is that of 1.15. A real TensorFlow that was
    imported before is usable within `real_tensorflow`, and `uninstall` puts it back. Installing again changes the era
    of what is imported from then on, and of the names in graphs that are created from then on. Raises
    `InvalidArgumentError` for another era.
    """
    family = _Family(version_of(era), replacements(era))
    with _finder.lock:
        if _finder in sys.meta_path:
            _take_modules()
        else:
            _finder.set_aside = _take_modules()
            sys.meta_path.insert(0, _finder)
        _finder.family, _finder.era = family, era
        Names.case_matters = case_matters(era)
        return import_module(_ROOT)


def uninstall() -> None:
    """Takes back `install`: afterwards `import tensorflow` means what it meant before.

    Modules that programs have imported in between stay usable. Without an `install` it does nothing.
    """
    with _finder.lock:
        if _finder not in sys.meta_path:
            return
        sys.meta_path.remove(_finder)
        _finder.family = None
        Names.case_matters = case_matters(None)
        _take_modules()
        sys.modules.pop(_NO_TENSORFLOW, None)
        sys.modules.update(_finder.set_aside)
        _finder.set_aside = {}


@contextmanager
def installation(era: str | None = None) -> Iterator[ModuleType]:
    """Installs tfnb within the block: `with installation() as tf:`; afterwards everything is as it was before."""
    with _finder.lock:
        before, active = _finder.era, installed()
    try:
        yield install(era)
    finally:
        if active:
            install(before)
        else:
            uninstall()


def installed() -> bool:
    """Returns whether `import tensorflow` means tfnb."""
    return _finder in sys.meta_path


def tensorflow_of(era: str | None = None) -> ModuleType:
    """Returns the module that `install(era)` would import, without installing it."""
    return _Family(version_of(era), replacements(era)).module("", sys.modules["tfnb"])


@contextmanager
def real_tensorflow() -> Iterator[ModuleType]:
    """Gives the real TensorFlow while tfnb is installed in its place: `with tfnb.real_tensorflow() as real:`.

    Within the block `import tensorflow` means the real one, in all threads, and the next block gives the same module
    again. Use it within a block only: many functions of TensorFlow import other parts of it when they are called, and
    would find tfnb outside. Raises `FailedPreconditionError` if TensorFlow is not installed on this machine.
    """
    with _finder.lock:
        ours, active = {}, installed()
        if active:
            sys.meta_path.remove(_finder)
            ours = _take_modules()
            sys.modules.update(_finder.set_aside)
        try:
            try:
                real = import_module(_ROOT)
            except ModuleNotFoundError as error:
                raise FailedPreconditionError(f"real_tensorflow: {error}; install TensorFlow beside tfnb") from error
            yield real
        finally:
            if active:
                _finder.set_aside = _take_modules()
                sys.modules.update(ours)
                sys.meta_path.insert(0, _finder)
