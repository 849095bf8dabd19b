"""Which statements the builder may run by itself, again and again while somebody edits.

It is a closed world: a statement may use literals, names, operators, and functions that are listed by name, either
because they only add to a graph or because they only compute. Of other objects it may use the attributes and methods
that are listed, so that nothing leads to a function that is not. Loops, functions and classes run if the user has run
this very text, since they may take long. Invariant: an object that a statement can reach and call was either checked
here or was made by calls that were.

The builder draws a program while somebody types it, by running it in a scratch graph; what a page or a notebook sends
must therefore not be able to do anything else. The lists are in `trust`, and a new function is refused until somebody
lists it. Trust belongs to a text, not to a view: what counts as run is the text of a cell that was run, or of a program
that handed it over (`trust/ran_text.py`). The values that placeholders are fed are held to the same lists.
`tests/strangers/test_hostile_code.py` tries what a grammar of Python has to run something.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any

import numpy as np

from tfnb import frontend
from tfnb.notebook.builder.calls import Resolve, dotted
from tfnb.notebook.builder.signatures import opdef_of
from tfnb.notebook.builder.trust.listed_functions import listed
from tfnb.notebook.builder.trust.pure_functions import HARMLESS, MODULES, is_pure
from tfnb.notebook.builder.trust.words import ATTRIBUTES, METHODS
from tfnb.types import DType

__all__ = ["WITHOUT_TRUST", "may_call", "may_import", "reason_not_to_feed", "reason_not_to_run"]

# Classes without functions that build: their members are texts and numbers.
_CONSTANTS = frozenset(
    {
        ("tfnb.client.graph.collection_keys", "GraphKeys"),
        ("tfnb.dimension", "Dimension"),
    }
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, DType)
_EXPRESSIONS = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.keyword,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Subscript,
    ast.Slice,
    ast.Starred,
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.IfExp,
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Set)
# What objects that hold data have: those of this library, and tables of other ones.
_OF_BATCHES = frozenset(
    "batch head iloc images labels next next_batch num_examples one_hot rows test test_images test_labels test_rows "
    "to_numpy train validation".split()
)
_IDLE = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
WITHOUT_TRUST = (*_EXPRESSIONS, ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
_WAITING = (ast.While, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Yield)
_MOST = 1 << 16  # the longest range that a text may have which nobody has run


def may_import(tree: ast.stmt) -> bool:
    """Returns whether the statement imports only modules of a few packages, and runs the code of none.

    A module that is loaded is only bound to a name. What is not loaded may be a file beside the notebook, whatever its
    name is.
    """
    if isinstance(tree, ast.Import):
        return all(_is_loaded(a.name) and a.name.split(".")[0] in MODULES for a in tree.names)
    return _binds_only(tree) and (getattr(tree, "module", None) or "").split(".")[0] in MODULES


def _is_loaded(name: str) -> bool:
    # `import tensorflow` means this library once the hook is installed, so it loads no other file.
    return name in sys.modules or (name.split(".")[0] == "tensorflow" and frontend.import_hook().installed())


def _binds_only(tree: ast.stmt) -> bool:
    """Whether an import binds names of loaded modules, and loads none."""
    if isinstance(tree, ast.Import):
        return all(_is_loaded(a.name) for a in tree.names)
    if not isinstance(tree, ast.ImportFrom) or tree.level or not tree.module or not _is_loaded(tree.module):
        return False
    module = sys.modules.get(tree.module)
    if module is None or tree.module.split(".")[0] in ("tfnb", "tensorflow", "numpy"):
        return True  # their own packages load what belongs to them
    return all(a.name in vars(module) or f"{tree.module}.{a.name}" in sys.modules for a in tree.names if a.name != "*")


def reason_not_to_run(tree: ast.AST, resolve: Resolve, is_trusted: bool, local: frozenset[str] = frozenset()) -> str:
    """Returns why the builder must not run this statement or expression by itself; "" if it may.

    `local` are names that the statement binds itself, which shadow what `resolve` knows.
    """
    if isinstance(tree, ast.Import | ast.ImportFrom):
        allowed = _binds_only(tree) if is_trusted else may_import(tree)
        return "" if allowed else "it imports a module"
    for part in _parts(tree):
        reason = _reason(part, resolve, is_trusted, local)
        if reason:
            return reason
    return ""


def reason_not_to_feed(tree: ast.expr, resolve: Resolve) -> str:
    """Returns why an expression must not be computed as a feed; "" if it may.

    It may also call the functions that the notebook has defined, and use its objects that give batches.
    """
    for part in _parts(tree):
        target = resolve(part) if isinstance(part, ast.Name | ast.Attribute) else None
        if getattr(target, "__module__", "") == "__main__" and callable(target):
            continue
        if isinstance(part, ast.Attribute) and part.attr in _OF_BATCHES and not _is_shared(resolve(part.value)):
            continue
        if not isinstance(part, (*_EXPRESSIONS, *_COMPREHENSIONS)):
            return "it is more than a value"
        reason = _reason(part, resolve, True, frozenset())
        if reason:
            return f"{reason}; compute it in a cell, and feed it by its name"
    return ""


def _is_shared(owner: object) -> bool:
    return isinstance(owner, ModuleType) or inspect.isclass(owner)


def _parts(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a tree that may do something: without constants, and without the words for reading and writing."""
    todo = [tree]
    for part in todo:  # which grows meanwhile
        yield part
        for name in part._fields:
            value = getattr(part, name, None)
            if isinstance(value, list):
                todo += [v for v in value if isinstance(v, ast.AST) and not isinstance(v, ast.Constant)]
            elif isinstance(value, ast.AST) and not isinstance(value, _IDLE):
                todo.append(value)


def _reason(part: ast.AST, resolve: Resolve, is_trusted: bool, local: frozenset[str]) -> str:
    if isinstance(part, ast.Import | ast.ImportFrom):
        return "" if may_import(part) else "it imports a module"
    if isinstance(part, _WAITING):
        return "it may not end" if isinstance(part, ast.While) else "it is more than building"
    if not is_trusted and not isinstance(part, WITHOUT_TRUST):
        return "it is code that is run only after you have run the cell"
    if not is_trusted and _is_large(part, resolve):
        return "it computes with numbers or lists that may be large"
    if isinstance(part, ast.Attribute):
        return _attribute_reason(part, resolve)
    if isinstance(part, ast.Name):
        return _name_reason(part, resolve, local)
    return ""


def _name_reason(part: ast.Name, resolve: Resolve, local: frozenset[str]) -> str:
    if not isinstance(part.ctx, ast.Load):
        return ""
    target = resolve(part)
    if target is not None:
        is_refused = callable(target) and not may_call(target) and not _is_made(target)
        # A name that the statement binds as well may still have its old value where it is read.
        return f"{part.id} does more than build a graph" if is_refused else ""
    if part.id in vars(builtins) and part.id not in HARMLESS:
        return _builtin(part.id)
    return ""


def _builtin(name: str) -> str:
    value = getattr(builtins, name)
    if isinstance(value, type) and issubclass(value, Exception | Warning) or isinstance(value, _PLAIN):
        return ""
    return f"{name}() is not for building a graph"


def _attribute_reason(part: ast.Attribute, resolve: Resolve) -> str:
    if part.attr.startswith("_") and part.attr != "__init__":
        return f"it uses the private name {part.attr}"
    owner = resolve(part.value)
    if not isinstance(part.ctx, ast.Load):
        return f"it changes {dotted(part)} for everybody" if _is_shared(owner) else ""
    if isinstance(owner, ModuleType) or (inspect.isclass(owner) and not _is_of_source(owner)):
        return _member_reason(part, owner, resolve)
    if part.attr in ATTRIBUTES or _is_of_source(type(owner)) or _lacks(owner, part.attr):
        return ""
    return f".{part.attr} is not for building a graph"


def _lacks(owner: object, name: str) -> bool:
    """Whether an object is known to have no such attribute: then only its error says so."""
    absent = object()
    if owner is None or inspect.getattr_static(owner, name, absent) is not absent:
        return False
    # What this library's classes find by themselves are inputs of operations, by name.
    return not hasattr(type(owner), "__getattr__") or type(owner).__module__.startswith("tfnb.")


def _member_reason(part: ast.Attribute, owner: ModuleType | type, resolve: Resolve) -> str:
    """Why a member of a module or class may not be used: it is neither listed, nor a module, nor plain data."""
    target = resolve(part)
    if target is None:
        # The member is None, or there is none, and then its error says what is missing.
        return "" if getattr(owner, part.attr, None) is None else f"{dotted(part)} is not for building a graph"
    if isinstance(target, (ModuleType, *_PLAIN)) or may_call(target):
        return ""
    if isinstance(target, tuple) and all(isinstance(v, _PLAIN) for v in target):
        return ""
    if not callable(target) and _is_listed(type(target)):
        return ""
    return f"{dotted(part)} does more than build a graph"


def _is_large(part: ast.AST, resolve: Resolve) -> bool:
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "range":
        return any(not _is_small(bound, resolve) for bound in part.args)
    if not isinstance(part, ast.BinOp):
        return False
    if isinstance(part.op, ast.Pow | ast.LShift):
        return not (isinstance(part.right, ast.Constant) and isinstance(part.right.value, float | int)) or (
            abs(part.right.value) > 16
        )
    sides = (part.left, part.right)
    return isinstance(part.op, ast.Mult) and any(
        isinstance(s, ast.List | ast.Tuple) or (isinstance(s, ast.Constant) and isinstance(s.value, str | bytes))
        for s in sides
    )


def _is_small(tree: ast.expr, resolve: Resolve) -> bool:
    value = tree.value if isinstance(tree, ast.Constant) else resolve(tree)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.operand, ast.Constant):
        value = tree.operand.value
    return isinstance(value, int) and abs(value) <= _MOST


def may_call(target: object) -> bool:
    """Returns whether a function or class, called now, only builds or computes."""
    if isinstance(target, DType) or is_pure(target) or _is_of_source(target):
        return True
    if isinstance(target, MethodType | BuiltinMethodType) and not isinstance(target.__self__, ModuleType | type(None)):
        return _is_listed_method(target)
    if not inspect.isclass(target) and not hasattr(target, "__qualname__"):
        return _is_made(target)
    return _is_listed(target)


def _is_made(target: object) -> bool:
    """Is it an object that can be called, as a layer, of a class that a listed function makes?"""
    kind = type(target)
    return not inspect.isroutine(target) and not inspect.isclass(target) and kind.__module__ in _modules()


def _is_of_source(target: object) -> bool:
    """Does the source define it? Then its definition was checked."""
    if inspect.isclass(target):
        return target.__module__ == "__builder__"
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    return code is not None and code.co_filename.startswith("<builder")


def _is_listed(function: Any) -> bool:
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if (module, name) in _names() or (module, name) in _CONSTANTS | frontend.constant_classes():
        return True
    owner, _, method = getattr(function, "__qualname__", "").rpartition(".")
    if owner and (module, owner) in _names() and method in METHODS:
        return True
    try:
        return opdef_of(function) is not None  # it adds one node
    except TypeError:  # not hashable
        return False


def _is_listed_method(method: MethodType | BuiltinMethodType) -> bool:
    """Is it a listed method, of a class that is listed, or of an object that a listed function has made?"""
    owner = method.__self__
    if inspect.isclass(owner) and not _is_listed(owner) and not is_pure(owner):
        return False
    return method.__name__ in METHODS


@cache
def _names() -> frozenset[tuple[str, str]]:
    return frozenset(listed())


@cache
def _modules() -> frozenset[str]:
    """The modules of listed functions, whose classes are those of the objects that these make."""
    return frozenset(module for module, _ in listed())
