"""Which statements the builder may run by itself, again and again while somebody edits.

Without trust, a statement runs if it is an expression of literals, names, operators and calls of functions that only
add to a graph. With trust (the user has run the code himself), loops, functions and NumPy run as well. What reads or
writes files, runs sessions, prints, or waits is never run. Invariant: an object that a statement can reach and call was
either checked here or was made by calls that were.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tfnb.notebook.builder.calls import Resolve, dotted
from tfnb.types import DType

__all__ = ["may_call", "may_import", "reason_not_to_run"]

# Modules whose functions add operations, or make initialisers, cells, optimizers and the like.
_BUILDS = (
    "tfnb.ops",
    "tfnb.client.compat.contrib_layers",
    "tfnb.client.compat.contrib_seq2seq",
    "tfnb.client.compat.contrib_stacks",
    "tfnb.client.compat.late_names",
    "tfnb.client.compat.raw_ops",
    "tfnb.client.compat.arg_scope",
    "tfnb.client.compat.model_variables",
    "tfnb.client.contrib",
    "tfnb.client.control_flow",
    "tfnb.client.dataset",
    "tfnb.client.distributions",
    "tfnb.client.gradients",
    "tfnb.client.graph.default_graph",
    "tfnb.client.graph.nest",
    "tfnb.client.layers",
    "tfnb.client.logging",
    "tfnb.client.losses_metrics",
    "tfnb.client.rnn",
    "tfnb.client.sync",
    "tfnb.client.variables",
    "tfnb.ir.builder",
    "tfnb.ir.sparse",
    "tfnb.ir.tensor",
    "tfnb.train.input",
    "tfnb.train.optimizers",
    "tfnb.types",
)
_INSIDE = tuple(f"{module}." for module in _BUILDS)
# Among those, what also does something else at once, or calls any Python function later.
_NOT = frozenset(
    "py_func reset_default_graph load_op_library load_library register_op from_generator write_graph write_file "
    "queue_runner start_queue_runners".split()
)
_SINGLE = frozenset(
    {
        ("tfnb.train.saving.saver", "Saver"),
        ("tfnb.client.graph.graph_def", "import_graph_def"),
        ("tfnb.ir.default", "get_default_graph"),
    }
)
_METHODS = frozenset(
    "minimize compute_gradients apply_gradients assign assign_add assign_sub get_shape set_shape as_list "
    "initialized_value read_value value zero_state enqueue enqueue_many dequeue dequeue_many size close_op "
    "as_default name_scope device map batch shuffle repeat prefetch take skip filter get_next make_one_shot_iterator "
    "make_initializable_iterator scatter_update scatter_add scatter_sub stack unstack read write gather concat split "
    "apply call get_slot get_slot_names average sample log_prob prob cdf mean variance entropy stddev mode "
    "get_variable add_variable reuse_variables local_step global_step sparse_read eval_shape is_compatible_with "
    "merge_with with_rank ndims num_elements base_dtype get_tensor_by_name get_operation_by_name "
    "colocate_with_name".split()
)
# With trust, any method but these: they run, wait, read, write or end something.
_RUNNING = frozenset(
    "run eval save restore write tofile dump add_summary add_graph add_event flush start_queue_runners start join "
    "close request_stop wait fit train evaluate predict export_meta_graph next_batch show plot savefig read_text "
    "write_text unlink rmdir mkdir system popen call_command recover_last_checkpoints partial_run load "
    "input exec".split()
)
_HARMLESS = frozenset(
    "abs all any bool dict enumerate filter float frozenset int isinstance len list map max min next range reversed "
    "round set sorted str sum tuple zip callable iter slice divmod complex pow".split()
)
_NUMPY_FILES = ("save", "load", "fromfile", "memmap", "genfromtxt", "from_dlpack", "fromregex", "open", "DataSource")
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
_IDLE = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_WITHOUT_TRUST = (*_EXPRESSIONS, ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
_WAITING = (ast.While, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Yield)
_MODULES = ("tfnb", "tensorflow", "numpy", "math", "__future__", "functools", "itertools", "collections", "typing")


def may_import(tree: ast.stmt) -> bool:
    """Returns whether the statement imports only modules whose import has no effect but the names."""
    if isinstance(tree, ast.Import):
        return all(alias.name.split(".")[0] in _MODULES for alias in tree.names)
    return isinstance(tree, ast.ImportFrom) and not tree.level and (tree.module or "").split(".")[0] in _MODULES


def reason_not_to_run(tree: ast.AST, resolve: Resolve, is_trusted: bool, local: frozenset[str] = frozenset()) -> str:
    """Returns why the builder must not run this statement or expression by itself; "" if it may.

    `local` are names that the statement binds itself, which shadow what `resolve` knows.
    """
    if isinstance(tree, ast.Import | ast.ImportFrom):
        return "" if is_trusted or may_import(tree) else "it imports a module"
    for part in _parts(tree):
        reason = _reason(part, resolve, is_trusted, local)
        if reason:
            return reason
    return ""


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
    if not is_trusted and not isinstance(part, _WITHOUT_TRUST):
        return "it is code that is run only after you have run the cell"
    if isinstance(part, ast.Attribute) and part.attr.startswith("_") and part.attr != "__init__":
        return f"it uses the private name {part.attr}"
    if isinstance(part, ast.BinOp) and not is_trusted and _is_large(part):
        return "it computes with numbers or lists that may be large"
    if isinstance(part, ast.Attribute) or (isinstance(part, ast.Name) and part.id not in local):
        target = resolve(part) if isinstance(getattr(part, "ctx", None), ast.Load) else None
        if callable(target) and not may_call(target, is_trusted) and not _is_method(part, resolve):
            return f"{dotted(part) or 'a function'} does more than build a graph"
        if target is None and isinstance(part, ast.Name) and part.id in vars(builtins):
            if not isinstance(part.ctx, ast.Load):
                return ""
            return "" if is_trusted and part.id in _HARMLESS else _builtin(part.id)
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        return _method_reason(part.func, resolve, is_trusted)
    return ""


def _builtin(name: str) -> str:
    if isinstance(getattr(builtins, name), type) and issubclass(getattr(builtins, name), BaseException):
        return ""
    return f"{name}() is not for building a graph"


def _is_large(part: ast.BinOp) -> bool:
    if isinstance(part.op, ast.Pow | ast.LShift):
        return not (isinstance(part.right, ast.Constant) and isinstance(part.right.value, float | int)) or (
            abs(part.right.value) > 16
        )
    sides = (part.left, part.right)
    return isinstance(part.op, ast.Mult) and any(
        isinstance(s, ast.List | ast.Tuple) or (isinstance(s, ast.Constant) and isinstance(s.value, str | bytes))
        for s in sides
    )


def _is_method(part: ast.AST, resolve: Resolve) -> bool:
    """Is it the attribute of an object, not of a module or a class?"""
    if not isinstance(part, ast.Attribute):
        return False
    owner = resolve(part.value)
    return owner is not None and not isinstance(owner, ModuleType) and not inspect.isclass(owner)


def _method_reason(function: ast.Attribute, resolve: Resolve, is_trusted: bool) -> str:
    if may_call(resolve(function), is_trusted) and not _is_method(function, resolve):
        return ""
    owner = resolve(function.value)
    if isinstance(owner, ModuleType):
        missing = resolve(function) is None  # then the call only raises, and its error says what is missing
        return "" if missing else f"{dotted(function)} does more than build a graph"
    if function.attr in _METHODS:
        return ""
    if is_trusted:
        return f".{function.attr}() is not for building a graph" if function.attr in _RUNNING else ""
    return f".{function.attr}() is run only after you have run the cell"


def may_call(target: Any, is_trusted: bool) -> bool:
    """Returns whether a function or class, called now, only builds."""
    if isinstance(target, DType):
        return True
    function = getattr(target, "__func__", target)
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if (module, name) in _SINGLE:
        return True
    if module in _BUILDS or module.startswith(_INSIDE):
        return name not in _NOT
    if type(target).__module__.startswith("tfnb.") and not inspect.isclass(target) and not module.startswith("numpy"):
        return type(target).__module__.startswith(_BUILDS)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename.startswith("<builder"):
        return True  # the source defines it, and its definition was checked
    if not is_trusted:
        return False
    if isinstance(target, np.ufunc) or module.split(".")[0] == "numpy":
        return not name.startswith(_NUMPY_FILES)
    if module in ("math", "functools", "itertools", "collections", "typing") or target in vars(math).values():
        return True
    return module == "builtins" and name in _HARMLESS
