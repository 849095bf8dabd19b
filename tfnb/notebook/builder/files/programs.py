"""Python for a graph that has no source: a `tf.Graph`, a GraphDef or a graph file.

One statement is written for each node, or for the nodes of a variable. Each statement is executed as soon as it is
written, in a graph of its own, and must add exactly the nodes that it stands for. Invariant: the program that is
returned builds the graph from which it was written, name by name and attribute by attribute.
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.graph_def import import_graph_def
from tfnb.client.graph.raw_ops import raw_op
from tfnb.errors import OpError, UnimplementedError
from tfnb.ir.builder import GraphBuilder, all_or_nothing
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.building import library
from tfnb.types import DType, Shape

__all__ = ["program_of"]

MOST_ELEMENTS = 1_000  # of a constant that is written into the program
_LOOPS = (Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION, Kind.LOOP_COND)
_PYTHON_CALLS = ("PyFunc", "PyFuncStateless")
_PLACES = ("", "nn.", "math.", "image.", "linalg.", "strings.")
# The functions that have another name than their operation.
_FUNCTIONS: Mapping[str, str] = {
    "BiasAdd": "nn.bias_add",
    "BatchMatMul": "matmul",
    "ConcatV2": "concat",
    "Conv2D": "nn.conv2d",
    "MatMul": "matmul",
    "Max": "reduce_max",
    "Mean": "reduce_mean",
    "Min": "reduce_min",
    "Mul": "multiply",
    "Neg": "negative",
    "Pack": "stack",
    "Select": "where",
    "Unpack": "unstack",
    "ScalarSummary": "summary.scalar",
    "HistogramSummary": "summary.histogram",
    "Prod": "reduce_prod",
    "RealDiv": "divide",
    "Sub": "subtract",
    "Sum": "reduce_sum",
}
_CHANGES = ("Assign", "AssignAdd", "AssignSub")


def program_of(graph: GraphDef) -> str:
    """Returns Python that builds the graph of a GraphDef, one statement for each node or variable.

    A variable that is read, and that only an optimizer changes, becomes trainable: a GraphDef does not say which are.
    Raises `UnimplementedError`, which names the node, for what statements cannot say: loops, functions of the graph's
    library, Python functions, and constants of more than 1,000 elements; and the errors of `tf.import_graph_def` for a
    GraphDef that is damaged.
    """
    if graph.library.function:
        name = graph.library.function[0].signature.name
        raise UnimplementedError(f"the builder cannot write the function {name!r} of the graph's library as statements")
    original = GraphBuilder()
    with original.as_default():
        import_graph_def(graph, name="")
    return _Program(original).text()


class _Program:
    """The statements so far, and the graph that they have built."""

    def __init__(self, original: GraphBuilder) -> None:
        self._operations = original.get_operations()
        self._consumers = _consumers(self._operations)
        self._built = GraphBuilder()
        self._names: dict[str, str] = {}  # operation -> the expression of its result
        self._folded: dict[str, str] = {}  # operation of a variable -> the variable
        self._scope: dict[str, Any] = {"tf": library(), "np": np}
        self._lines: list[str] = []

    def text(self) -> str:
        position = 0
        while position < len(self._operations):
            position += self._write(position)
        numpy = any("np." in line for line in self._lines)
        imports = ["import numpy as np", ""] * numpy + ["import tfnb as tf", ""]
        return "\n".join([*imports, *self._lines, ""])

    def _write(self, position: int) -> int:
        """Writes the statement of the operation at this position; returns how many operations it stands for."""
        op = self._operations[position]
        _refuse(op)
        count = _nodes_of_variable(self._operations, position)
        if count > 1 and self._add(op, self._variable(op, self._operations[position + 1]), count):
            for part in self._operations[position : position + count]:
                self._folded[part.name] = self._names[op.name]
            return count
        for call in self._calls(op):
            if self._add(op, call, 1):
                return 1
        raise UnimplementedError(f"the builder cannot write the node {op.name!r} of type {op.type} as a statement", op)

    def _add(self, op: Operation, call: str, count: int) -> bool:
        """Executes a statement and keeps it, if it adds exactly the next `count` operations of the original."""
        name = self._fresh(op)
        lines = self._within(op, f"{name} = {call}")
        start = len(self._built.get_operations())
        wanted = self._operations[start : start + count]
        scope = dict(self._scope)
        try:
            with all_or_nothing(self._built), self._built.as_default():
                exec("\n".join(lines), scope)
                added = self._built.get_operations()[start:]
                if [a.node_def for a in added] != [w.node_def for w in wanted]:
                    raise UnimplementedError("the statement adds other nodes")
        except (OpError, TypeError, ValueError):
            return False
        self._scope = scope
        self._names[op.name] = name
        self._lines += lines
        return True

    def _within(self, op: Operation, statement: str) -> list[str]:
        """Returns the lines of a statement under what stands around its node: device, colocation, control inputs, and
        the name of another gradient."""
        contexts = []
        if op.gradient_type is not None:
            contexts.append(f"tf.get_default_graph().gradient_override_map({ {op.type: op.gradient_type} })")
        if op.device:
            contexts.append(f"tf.device({op.device!r})")
        partners = [name.removeprefix("loc:@") for name in op.colocation]
        for name in partners:
            if name in self._names or name in self._folded:
                contexts.append(f"tf.colocate_with({self._some_output(name)})")
            elif name != op.name:  # an initial value, whose variable follows
                contexts.append(f"tf.get_default_graph().colocate_with_name({name!r})")
        if op.control_inputs:
            before = ", ".join(self._some_output(c.name) for c in op.control_inputs)
            contexts.append(f"tf.control_dependencies([{before}])")
        if not contexts:
            return [statement]
        return [f"with {', '.join(contexts)}:", f"    {statement}"]

    def _some_output(self, name: str) -> str:
        value = self._scope[self._names.get(name) or self._folded[name]]
        if name in self._folded:
            end = {"Assign": ".initializer", "read": ".value()"}
            return self._folded[name] + (".op" if name in self._names else end[name.rsplit("/", 1)[-1]])
        return self._names[name] + ("[0]" if isinstance(value, list | tuple) else "")

    def _input(self, tensor: Tensor) -> str:
        name = tensor.op.name
        if name in self._folded:
            return self._folded[name]
        several = isinstance(self._scope[self._names[name]], list | tuple)
        return self._names[name] + (f"[{tensor.op.outputs.index(tensor)}]" if several else "")

    def _fresh(self, op: Operation) -> str:
        """Returns a name for the result of the operation: the shortest end of its path that is free."""
        parts = [re.sub(r"\W", "_", part).lower() for part in op.name.split("/")]
        ends = ["_".join(parts[k:]).lstrip("_") for k in range(len(parts) - 1, -1, -1)]
        names = [f"x{end}" if not end or end[0].isdigit() else end for end in ends]
        names += [f"{names[-1]}_{k}" for k in range(2, len(self._operations) + 3)]
        return next(n for n in names if not (n in self._scope or hasattr(builtins, n) or keyword.iskeyword(n)))

    # ---- the calls that may add a node, the most readable first ----------------------------------------------------

    def _calls(self, op: Operation) -> Iterator[str]:
        names = (f"name={op.name!r}", f"name={op.name + '/'!r}")  # with a slash at its end, a name is kept as it is
        for name in names:
            if op.opdef.kind is Kind.CONST:
                yield f"tf.constant({_constant(op)}, {name})"
                continue
            for inputs in self._inputs(op):
                yield from _calls_of_functions(op, inputs, name)

    def _inputs(self, op: Operation) -> list[list[str]]:
        """Returns the expressions of the arguments that are tensors or lists of tensors, in at most two ways.

        A variable stands for the tensor that reads it, or, if the operation takes a reference, for the reference. The
        second way writes out which of them it is, for operations that take either, such as `Identity`.
        """
        ways = []
        refers = any(t.op.name in self._folded for t in op.inputs)
        for write in (self._input, self._reference) if refers else (self._input,):
            rest = iter(op.inputs)
            found = []
            for arg in op.opdef.input_args:
                if arg.number is None and not arg.type_list:
                    found.append(write(next(rest)))
                else:
                    number = op.types[arg.number] if arg.number else len(op.types[arg.type])
                    found.append(f"[{', '.join(write(next(rest)) for _ in range(number))}]")
            ways.append(found)
        return ways

    def _reference(self, tensor: Tensor) -> str:
        if tensor.op.name not in self._folded:
            return self._input(tensor)
        if tensor.op.type == "VariableV2":
            return f"{self._input(tensor)}.op.outputs[0]"
        return f"tf.get_default_graph().get_tensor_by_name({tensor.name!r})"

    def _variable(self, op: Operation, assign: Operation) -> str:
        initial = self._input(assign.inputs[1])
        changes = sum(c.type in _CHANGES and c.inputs[0].op is op for c in self._consumers.get(op.name, ()))
        is_read = bool(self._consumers.get(f"{op.name}/read"))
        trainable = "" if changes == 1 and is_read else ", trainable=False"
        return f"tf.Variable({initial}{trainable}, name={op.name!r})"


def _refuse(op: Operation) -> None:
    why = ""
    if op.opdef.kind in _LOOPS:
        why = "a loop; write tf.while_loop yourself"
    elif op.type in _PYTHON_CALLS:
        why = "a call of a Python function, which a graph does not contain"
    elif op.opdef.kind is Kind.CONST and op.attrs.value.size > MOST_ELEMENTS:
        size = op.attrs.value.size
        why = f"a constant of {size:,} elements, at most {MOST_ELEMENTS:,} are written; keep them in a checkpoint"
    if why:
        raise UnimplementedError(f"the builder cannot write the node {op.name!r} as a statement: it is {why}", op)


def _consumers(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for op in operations:
        for tensor in op.inputs:
            found.setdefault(tensor.op.name, []).append(op)
    return found


def _nodes_of_variable(operations: Sequence[Operation], position: int) -> int:
    """Returns 3 if a variable, its first assignment and its reading begin here, else 1."""
    three = operations[position : position + 3]
    if [op.type for op in three] != ["VariableV2", "Assign", "Identity"]:
        return 1
    variable, assign, read = three
    fits = assign.name == f"{variable.name}/Assign" and read.name == f"{variable.name}/read"
    return 3 if fits and assign.inputs[0].op is variable and read.inputs[0].op is variable else 1


def _public(op_type: str) -> tuple[str, Callable[..., Any]] | None:
    """Returns the function of the public API for an operation, and its path below `tf`."""
    name = _FUNCTIONS.get(op_type) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op_type).lower()
    for place in ("",) if "." in name else _PLACES:
        function: Any = library()
        for part in f"{place}{name}".split("."):
            function = getattr(function, part, None)
        if inspect.isfunction(function):
            return f"{place}{name}", function
    return None


def _calls_of_functions(op: Operation, inputs: Sequence[str], name: str) -> Iterator[str]:
    """Yields the calls of the public function and of the raw operation, where they can say the node's attributes."""
    found = _public(op.type)
    if found is not None:
        path, function = found
        attributes = _attributes(op, inspect.signature(function))
        if attributes is not None:
            yield f"tf.{path}({', '.join([*inputs, *attributes, name])})"
    attributes = _attributes(op, inspect.signature(raw_op(op.type)))
    if attributes is not None:
        given = [f"{key}={value}" for key, value in zip(_raw_inputs(op), inputs, strict=True)]
        yield f"tf.raw_ops.{op.type}({', '.join([*given, *attributes, name])})"


def _raw_inputs(op: Operation) -> list[str]:
    """Returns the names that `tf.raw_ops` gives to the inputs of the operation, in the order of the inputs."""
    parameters = list(inspect.signature(raw_op(op.type)).parameters)
    named = [a.name for a in op.opdef.input_args]
    if set(named) <= set(parameters):
        return named
    fresh = iter([p for p in parameters if p not in named and not hasattr(op.attrs, p) and p != "name"])
    return [n if n in parameters else next(fresh, n) for n in named]


def _attributes(op: Operation, signature: inspect.Signature) -> list[str] | None:
    """Returns the keyword arguments of the attributes that differ from their defaults; None if one cannot be said."""
    inferred = {a.type for a in op.opdef.input_args} | {a.number for a in op.opdef.input_args}
    values = {f: getattr(op.attrs, f) for f in getattr(op.attrs, "__dataclass_fields__", {})}
    values |= {name: value for name, value in op.types.items() if name not in inferred}
    if "dtype" in signature.parameters and "dtype" in op.types:
        values["dtype"] = op.types["dtype"]
    found = {}
    for name, value in values.items():
        parameter = signature.parameters.get(name)
        field = getattr(op.attrs, "__dataclass_fields__", {}).get(name)
        is_default = field is not None and _same(field.default, value)
        if parameter is None and not is_default:
            return None
        # Where the public function's default is None, it leaves the choice to the operation, as with `keep_dims`.
        if parameter is None or _same(parameter.default, value) or (is_default and parameter.default is None):
            continue
        written = _value(value)
        if written is None:
            return None
        found[name] = written
    return [f"{name}={found[name]}" for name in signature.parameters if name in found]


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and bool(a == b) and repr(a) == repr(b)


def _value(value: object) -> str | None:
    """Returns an attribute as an expression, or None for what has no literal, such as a function."""
    if isinstance(value, DType):
        return f"tf.{value.name}"
    if isinstance(value, Shape):
        return "None" if value.sizes is None else repr(value.as_list())
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        parts = [_value(v) for v in value]
        return None if None in parts else f"[{', '.join(p for p in parts if p is not None)}]"
    return repr(value) if value is None or isinstance(value, bool | int | str | bytes) else None


def _constant(op: Operation) -> str:
    """Returns the arguments of `tf.constant` for the value of a constant."""
    array, dtype = op.attrs.value, f"tf.{op.outputs[0].dtype.name}"
    if _has_odd_nan(array):
        return f"np.frombuffer({array.tobytes()!r}, {array.dtype.str!r}).reshape({list(array.shape)}), {dtype}"
    flat = [_number(v) for v in array.reshape(-1)]
    if not flat:
        return f"[], {dtype}, {list(array.shape)}"
    if len(flat) > 1 and len(set(flat)) == 1:
        return f"{flat[0]}, {dtype}, {list(array.shape)}"
    for size in reversed(array.shape):
        flat = [f"[{', '.join(flat[k : k + size])}]" for k in range(0, len(flat), size)]
    return f"{flat[0]}, {dtype}"


def _has_odd_nan(array: np.ndarray) -> bool:
    """Returns whether an array has a NaN whose bits are not those that `np.nan` or `-np.nan` has."""
    if array.dtype.kind not in "fc":
        return False
    parts = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
    bits = parts.view(f"u{parts.itemsize}")[np.isnan(parts)]
    usual = np.array([np.nan, -np.nan], parts.dtype).view(bits.dtype)
    return not bool(np.isin(bits, usual).all())


def _number(value: bytes | str | complex | np.generic) -> str:
    """Returns a literal of the number or string; a float has as many digits as its dtype needs."""
    if isinstance(value, bytes | str | bool | np.bool_ | int | np.integer):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, complex | np.complexfloating):
        return f"complex({_number(value.real)}, {_number(value.imag)})"  # 1 + infj and -0j are no literals
    if np.isfinite(value):
        text = str(value)
        return text if re.search(r"[.e]", text) else f"{text}.0"
    return ("-" if np.signbit(value) else "") + ("np.nan" if np.isnan(value) else "np.inf")
