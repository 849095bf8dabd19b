"""Calls that are tried in a graph of their own, to know what fits before the user does it.

The functions, op definitions and shape functions are the real ones; tensors are placeholders of the same dtype and
static shape. Invariant: nothing that is tried reaches the document's graph.
"""

from __future__ import annotations

import ast
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tfnb.caches import remembered
from tfnb.errors import DTypeError, OpError, PermissionDeniedError, ShapeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import pushed
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.building import library
from tfnb.notebook.builder.catalogue import Entry
from tfnb.notebook.builder.safety import reason_not_to_run
from tfnb.notebook.builder.signatures import Formal, opdef_of, signature_of
from tfnb.notebook.builder.trust.lookup import looked_up_in
from tfnb.ops import CATALOG
from tfnb.types import DType, as_dtype

__all__ = ["Spec", "StandIns", "accepting_port", "result_specs", "spec_of"]

_PLACEHOLDER = CATALOG["Placeholder"]
_LOG = logging.getLogger("tfnb")


class Spec(NamedTuple):
    """The dtype and static shape of a tensor; `is_variable` if it can be assigned to."""

    dtype: DType
    sizes: tuple[int | None, ...] | None
    is_variable: bool = False


def spec_of(value: Any) -> Spec | None:
    """Returns the dtype and shape of a tensor or a variable, or None for anything else."""
    if isinstance(value, Tensor):
        return Spec(value.dtype.base_dtype, value.get_shape().sizes)
    if hasattr(value, "__tensor__") and hasattr(value, "assign"):
        return Spec(value.dtype.base_dtype, value.get_shape().sizes, True)
    return None


def placeholder(spec: Spec) -> Any:
    """Adds a tensor of this dtype and shape to the default graph, or a variable."""
    if spec.is_variable and spec.sizes is not None and None not in spec.sizes:
        tf: Any = library()
        initial = tf.zeros(list(spec.sizes), spec.dtype) if not spec.dtype.is_string else tf.fill(list(spec.sizes), "")
        return tf.Variable(initial)
    return library().placeholder(spec.dtype, spec.sizes)


class StandIns:
    """A scratch graph, in which tensors of a document are represented by placeholders.

    Use it as `with StandIns() as scratch:`; the scratch graph is the default one inside.
    """

    def __init__(self) -> None:
        self.graph = GraphBuilder()
        self._of: dict[int, Any] = {}
        self._kept: list[Any] = []

    def __enter__(self) -> StandIns:
        self._pushed = pushed(self.graph)
        self._pushed.__enter__()
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")
        self._was_silent, _LOG.disabled = _LOG.disabled, True
        return self

    def __exit__(self, *_: object) -> None:
        _LOG.disabled = self._was_silent
        self._warnings.__exit__(None, None, None)
        self._pushed.__exit__(None, None, None)

    def of(self, value: Any) -> Any:
        """Returns what stands for a value: a placeholder for a tensor, the value itself for what is in no graph."""
        if id(value) in self._of:
            return self._of[id(value)]
        spec = spec_of(value)
        stand_in: Any = value
        if spec is not None:
            stand_in = placeholder(spec)
        elif type(value) in (list, tuple):
            stand_in = type(value)(self.of(v) for v in value)
        elif isinstance(value, Operation):
            stand_in = library().no_op()
        self._of[id(value)] = stand_in
        self._kept.append(value)
        return stand_in

    def evaluate(self, text: str, names: Mapping[str, Any]) -> Any:
        """Evaluates a Python expression. Names stand for their values' stand-ins, those that end in "__" for the values
        themselves. Raises `PermissionDeniedError` for what the builder does not run by itself, and what the expression
        raises.
        """
        values = {n: v if n.endswith("__") else self.of(v) for n, v in names.items()}
        known = {"tf": library(), **values}
        tree = ast.parse(text.strip(), "<builder scratch>", "eval")
        reason = reason_not_to_run(tree.body, looked_up_in(known), False)
        if reason:
            raise PermissionDeniedError(f"it is not tried out: {reason}")
        return eval(compile(tree, "<builder scratch>", "eval"), known)


def accepting_port(entry: Entry, spec: Spec, usual: Callable[[str, Formal], str]) -> str | None:
    """Returns the first input of a function that takes a tensor of this dtype and shape, or None.

    `usual(call, formal)` is the text of an argument that is needed and is no tensor, or "".
    """
    return _accepting(entry, spec, usual)


@remembered("inputs that take a wire", 20_000)
def _accepting(entry: Entry, spec: Spec, usual: Callable[[str, Formal], str]) -> str | None:
    op = opdef_of(entry.function)
    if op is not None:
        return next((a.name for a in op.input_args if op_accepts(op, a.name, spec)), None)
    signature = signature_of(entry.function)
    for formal in signature.formals if signature is not None else ():
        if formal.is_tensor and not formal.is_old and _function_accepts(entry, formal, spec, usual):
            return f"{formal.name}[0]" if formal.is_list else formal.name
    return None


def op_accepts(op: OpDef, name: str, spec: Spec) -> bool:
    """Returns whether an op takes a tensor as its input `name`: by its types, and by its shape function.

    The other inputs have unknown shapes and any type that is allowed.
    """
    types: dict[str, Any] = {}
    for a in op.input_args:
        if a.name != name:
            continue
        if a.ref and not spec.is_variable:
            return False
        if a.type_list or (a.type in op.types and spec.dtype in op.types[a.type]):
            types[a.type] = spec.dtype
        elif a.type in op.types or as_dtype(a.type) is not spec.dtype:
            return False
    with StandIns():
        try:
            values, attrs = _arguments(op, name, spec, types)
        except Exception:
            return True  # the types fit, and what else it needs is not known
        try:
            op(*values, **attrs)
        except Exception as e:  # other arguments are missing, which says nothing about this one
            return not isinstance(e, (ShapeError, DTypeError)) and not (isinstance(e, OpError) and _is_about_rank(e))
        return True


def _is_about_rank(error: BaseException) -> bool:
    return any(word in str(error) for word in ("rank", "shape", "dimension"))


def _arguments(op: OpDef, name: str, spec: Spec, types: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    values: list[Any] = []
    for a in op.input_args:
        if a.name == name:
            value = placeholder(spec)
        else:
            dtype = types.get(a.type) or (op.types[a.type][0] if op.types.get(a.type) else as_dtype(a.type))
            types.setdefault(a.type, dtype)
            value = placeholder(Spec(dtype, None))
            if a.ref:
                value = library().Variable(library().zeros([1], dtype), validate_shape=False)
        values.append([value] if a.number is not None or a.type_list else value)
    inputs = {a.type for a in op.input_args}
    attrs = {t: allowed_dtypes[0] for t, allowed_dtypes in op.types.items() if t not in inputs and allowed_dtypes}
    return values, attrs


def _function_accepts(entry: Entry, formal: Formal, spec: Spec, usual: Callable[[str, Formal], str]) -> bool:
    """Calls a function of Python with the tensor, and with placeholders for the other tensors that it needs."""
    signature = signature_of(entry.function)
    if signature is None:
        return False
    others = [f for f in signature.formals if f.is_needed and f.is_tensor and f is not formal]
    trials = (spec.dtype, *map(as_dtype, ("int32", "float32", "bool", "int64", "string"))) if others else (spec.dtype,)
    for dtype in dict.fromkeys(trials):
        with StandIns() as scratch:
            try:
                arguments: dict[str, Any] = {}
                positional: list[Any] = []
                tensor = placeholder(spec)
                for f in signature.formals:
                    if f is formal:
                        value: Any = [tensor, tensor] if f.is_list and not f.is_variadic else tensor
                    elif f in others:
                        value = placeholder(Spec(dtype, None))
                        value = [value] if f.is_list else value
                    elif text := usual(entry.call, f):
                        value = scratch.evaluate(text, {})
                    elif f.name == "name" and f.is_needed:
                        value = "scratch"
                    else:
                        continue
                    if f.is_variadic:
                        positional.append(value)
                    else:
                        arguments[f.name] = value
                entry.function(*positional, **arguments)
            except Exception:
                continue
            return True
    return False


def result_specs(entry: Entry, usual: Callable[[str, Formal], str]) -> list[Spec]:
    """Returns dtypes and shapes of what a call may make, of inputs of unknown shape; [] if that is not known."""
    return _results(entry, usual)


@remembered("results of calls of the palette", 5000)
def _results(entry: Entry, usual: Callable[[str, Formal], str]) -> list[Spec]:
    signature = signature_of(entry.function)
    if signature is None:
        return []
    for name in ("float32", "int32", "string", "bool"):
        with StandIns() as scratch:
            try:
                arguments = {}
                for f in signature.formals:
                    if f.is_needed and f.is_tensor:
                        value = placeholder(Spec(as_dtype(name), None))
                        arguments[f.name] = [value] if f.is_list else value
                    elif text := usual(entry.call, f):
                        arguments[f.name] = scratch.evaluate(text, {})
                    elif f.name == "name" and f.is_needed:
                        arguments[f.name] = "scratch"
                value = entry.function(**arguments)
            except Exception:
                continue
            values = value if isinstance(value, list | tuple) else [value]
            return [s for s in map(spec_of, values) if s is not None]
    return []
