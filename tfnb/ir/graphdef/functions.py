"""Functions of a GraphDef's library: FunctionDef messages become `Function`s.

In a body the name of a tensor is "argument" or "node:output:number". Only functions that the graph reaches are built,
each after those that it calls. A function whose arguments are handles of variables is built for their dtypes. `If`,
`While` and `Case` become functions that are composed of those that they name. Invariant: no function calls itself,
directly or through others, and nesting has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tfnb.errors import GraphError, OpError
from tfnb.ir.function import Function, FunctionBuilder
from tfnb.ir.graphdef.attrs import decode_attrs, output_places
from tfnb.ir.graphdef.decode import add_nodes
from tfnb.ir.graphdef.message_types import FunctionDef, FunctionDefLibrary, NodeDef, OpSignature, Repeated
from tfnb.ir.graphdef.parse import Link, blamed
from tfnb.ir.graphdef.resource_variables import LOOPS, Handles
from tfnb.ir.graphdef.tensor_proto import decode_dtype
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.types import DType, bool_, resource, variant

__all__ = ["MAX_DEPTH", "Forms", "Library"]

MAX_DEPTH = 64  # the most functions that call each other in a row
_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_GRADIENT = "SymbolicGradient"
_OF_VARIANTS = {"ZerosLike": "VariantZerosLike", "AddN": "VariantAddN"}
_INPUT = re.compile(r"(\^?)([^:^]+)(?::([^:]+)(?::(\d{1,9}))?)?\Z")


class _Call(NamedTuple):
    """A call of functions by their names.

    `op` is the calling op ("" if a node names the function as its op), `dtype` the dtype of the condition. `handles`
    has for each argument the number of the variable's dtype, or 0 if the argument is not the handle of a variable.
    """

    op: str
    functions: tuple[str, ...]
    dtype: DType | None
    handles: tuple[int, ...]


def _condition(node: NodeDef) -> DType | None:
    """Returns the dtype of the condition of an `If`; None for any other node."""
    if node.op not in ("If", "StatelessIf"):
        return None
    return decode_dtype(node.attr["Tcond"].type) if "Tcond" in node.attr else bool_


def _of_variants(node: NodeDef) -> NodeDef | None:
    """Returns an op on variants under the name that the op has in tfnb; None for any other node."""
    if node.op not in _OF_VARIANTS or node.attr["T"].type != variant.enum:
        return None
    renamed: NodeDef = proto("node_def").NodeDef(name=node.name, device=node.device, op=_OF_VARIANTS[node.op])
    renamed.input.extend(node.input)
    if "N" in node.attr:
        renamed.attr["N"].CopyFrom(node.attr["N"])
    return renamed


class Forms(Protocol):
    """The functions that the library composes of other functions."""

    def gradient(self, function: Function) -> Callable[..., Any]:
        """Returns the gradient function of calls of `function`."""

    def symbolic(self, function: Function) -> Function:
        """Returns the function (arguments, gradients of results) -> gradients of arguments."""

    def branches(self, dtype: DType | None, functions: Sequence[Function]) -> Function:
        """Returns the function (condition, arguments) -> results that calls one of `functions`.

        With a `dtype`, which is that of the condition, the first function is called if the condition is true, else the
        second. Without a `dtype`, the condition is the number of the function to call.
        """

    def loop(self, cond: Function, body: Function) -> Function:
        """Returns the function (loop variables) -> loop variables that runs `body` as long as `cond` is true."""


class Library:
    """The functions of a GraphDef by name, built when the graph needs them. `find_op` looks in the catalogue."""

    def __init__(self, message: FunctionDefLibrary, find_op: Callable[[str], OpDef], forms: Forms) -> None:
        self.find_op = find_op
        self.forms = forms
        self.defs: dict[str, FunctionDef] = {}
        self.built: dict[str, Function] = {}
        self.calls: dict[str, _Call] = {}
        self.names: set[str] = set()
        self.gradients = {g.function_name: g.gradient_func for g in message.gradient}
        for f in message.function:
            if f.signature.name in self.defs:
                raise GraphError(f"the GraphDef's library has two functions {f.signature.name[:200]!r}")
            self.defs[f.signature.name] = f

    def find(self, name: str) -> OpDef:
        """Returns the op of this name, from the library or the catalogue. Raises `GraphError` if there is none."""
        if name in self.built:
            return self.built[name].opdef
        if name in self.calls:
            self.built[name] = self._called_as(self.calls[name])
            return self.built[name].opdef
        return self._function(name).opdef if name in self.defs else self.find_op(name)

    def _called_as(self, call: _Call) -> Function:
        if call.op in LOOPS:
            cond, body = (self._function(name, call.handles) for name in call.functions)
            return self.forms.loop(cond, body)
        if call.op in _BRANCHES:
            functions = [self._function(name, call.handles) for name in call.functions]
            return self.forms.branches(call.dtype, functions)
        function = self._function(call.functions[0], call.handles)
        return self.forms.symbolic(function) if call.op == _GRADIENT else function

    def plain(self, nodes: Repeated[NodeDef], handles: Handles) -> list[NodeDef]:
        """NodeDefs in the form that is read here.

        A node that calls functions by attributes gets a name for this call as its op. Resource variables become
        reference variables.
        """
        plain_nodes = []
        for n in nodes:
            call = self._call(n, handles) or _of_variants(n)
            plain_nodes.extend(handles.plain(n) if call is None else [call])
        return [*plain_nodes, *handles.branches()]

    def _call(self, node: NodeDef, handles: Handles) -> NodeDef | None:
        """Returns the NodeDef of a call of functions, None for any other node.

        Raises `GraphError` for functions that are not in the library.
        """
        if node.op in self.defs:
            names: Sequence[str] = (node.op,)
        elif node.op in _CALLS or node.op == _GRADIENT:
            names = self._named(node, "f")
        elif node.op in LOOPS:
            names = self._named(node, "cond", "body")
        elif node.op in ("If", "StatelessIf"):
            names = self._named(node, "then_branch", "else_branch")
        elif node.op in _BRANCHES:
            names = self._named(node, *(["branches"] * len(node.attr["branches"].list.func)))
        else:
            return None
        data = [t for t in node.input if not t.startswith("^")]
        argument_handles = [handles.resolve(t) for t in (data[1:] if node.op in _BRANCHES else data)]
        kinds = tuple(0 if h is None else h.dtype for h in argument_handles)
        is_plain = node.op not in (*LOOPS, *_BRANCHES, _GRADIENT) and not any(kinds)
        dtype = _condition(node)
        by_dtype = "" if dtype is None else f" by {dtype.name}"
        key = (
            names[0]
            if is_plain
            else f"{node.op}{by_dtype} of {', '.join(names)}{f' for {kinds}' if any(kinds) else ''}"
        )
        if not is_plain:
            self.calls[key] = _Call("" if node.op in self.defs else node.op, tuple(names), dtype, kinds)
        call_node: NodeDef = proto("node_def").NodeDef(name=node.name, device=node.device, op=key)
        call_node.input.extend(handles.inputs(node))
        if "_class" in node.attr:
            call_node.attr["_class"].CopyFrom(node.attr["_class"])
        return call_node

    def _named(self, node: NodeDef, *attrs: str) -> list[str]:
        """Returns the names of the functions that attributes of a node name.

        The attribute "branches" is a list, and is given once for each of its elements. Raises `GraphError` if there is
        no function of such a name.
        """
        names = []
        for k, attr in enumerate(attrs):
            value = node.attr.get(attr, None)
            is_list = value is not None and attr == "branches"
            function = None if value is None else value.list.func[k] if is_list else value.func
            if function is None or function.name not in self.defs:
                raise blamed(
                    node.name, GraphError(f"{node.op} names no function of the library in its attribute {attr!r}")
                )
            names.append(function.name)
        if not names:
            raise blamed(node.name, GraphError(f"{node.op} names no functions"))
        return names

    def _function(self, name: str, handles: tuple[int, ...] = ()) -> Function:
        """Returns the function, after building it if necessary.

        Arguments for which `handles` has the number of a dtype are variables of that dtype.
        """
        order = self._order(name)
        if any(handles):
            key = f"{name} for {handles}"
            if key not in self.built:
                self.built[key] = self._blamed(name, handles)
            return self.built[key]
        for needed in order:
            if needed not in self.built and (needed == name or not self._takes_handles(needed)):
                self.built[needed] = self._blamed(needed, ())
        return self.built[name]

    def _takes_handles(self, name: str) -> bool:
        return any(a.type == resource.enum for a in self.defs[name].signature.input_arg)

    def _blamed(self, name: str, handles: tuple[int, ...]) -> Function:
        try:
            return self._build(self.defs[name], handles)
        except OpError as e:
            e.message = f"the function {name[:200]!r} of the GraphDef: {e.message}"
            e.args = (e.message,)
            raise

    def _order(self, name: str) -> list[str]:
        """Returns the functions that `name` needs and that are not built, callees first, and `name` itself as the last.

        Raises `GraphError` for recursion.
        """
        order: list[str] = []
        pending: dict[str, list[str]] = {name: self._called(name)}
        while pending:
            current = next(reversed(pending))
            if pending[current]:
                callee = pending[current].pop()
                if callee in pending:
                    raise GraphError(f"the function {callee[:200]!r} of the GraphDef calls itself")
                if callee not in order and callee not in self.built:
                    pending[callee] = self._called(callee)
                    if len(pending) > MAX_DEPTH:
                        raise GraphError(f"functions of the GraphDef are nested more than {MAX_DEPTH} deep")
            else:
                order.append(current)
                del pending[current]
        return order

    def _called(self, name: str) -> list[str]:
        names = set()
        for n in self.defs[name].node_def:
            names.add(n.op)
            for value in n.attr.values():
                names.add(value.func.name)
                names.update(f.name for f in value.list.func)
        return sorted(names & self.defs.keys())

    def _build(self, message: FunctionDef, handles: tuple[int, ...]) -> Function:
        signature = message.signature
        if self._is_op(signature.name):
            raise GraphError("has the name of an op")
        if handles and len(handles) != len(signature.input_arg):
            raise GraphError(f"takes {len(signature.input_arg)} arguments, called with {len(handles)}")
        kinds = dict(zip((a.name for a in signature.input_arg), handles, strict=False))
        body_handles = Handles(message.node_def, {name: dtype for name, dtype in kinds.items() if dtype})
        body = FunctionBuilder()
        nodes = self.plain(message.node_def, body_handles)
        with body.as_default():
            arguments = self._arguments(body, signature, nodes, kinds)
            flat = _Flat({a.name for a in signature.input_arg}, nodes, self.find)
            for n in message.node_def:
                if n.op == "ReadVariableOp":
                    flat.places[n.name] = {"value": (0, 1)}
            tensor_names: dict[str, str] = {}
            handle_names = {}
            for out in signature.output_arg:
                if out.name not in message.ret:
                    raise GraphError(f"nothing is returned for the output {out.name[:80]!r}")
                tensor_names[out.name] = message.ret[out.name]
                handle = body_handles.resolve(tensor_names[out.name])
                if handle is not None:  # callers use the handle itself, and never read this result
                    handle_names[len(tensor_names) - 1] = handle.source
                    read = proto("node_def").NodeDef(name=f"{out.name}/handle", op="Identity", input=[handle.source])
                    nodes.append(read)
                    flat.places[read.name] = {"output": (0, 1)}
                    tensor_names[out.name] = f"{read.name}:output:0"
            element = add_nodes(body, [flat.node(n) for n in nodes], self.find, arguments)
            results: list[Tensor] = []
            for k, out in enumerate(signature.output_arg):
                t = element(flat.text(tensor_names[out.name]))
                if k not in handle_names and t.dtype is not decode_dtype(out.type):
                    raise GraphError(f"the output {out.name[:80]!r} is {t.dtype.name}, declared otherwise")
                results.append(t)
        names = [a.name for a in signature.output_arg]
        name = signature.name if signature.name not in self.names else Function.unique_name(signature.name, body)
        self.names.add(name)
        function = Function(name, body, results, self._gradient_of, names, None, signature.description)
        gradient = self.gradients.get(signature.name)
        if gradient in self.defs:
            function.gradient_function = lambda: self._function(gradient)
        function.passed = {
            k: [a.name for a in signature.input_arg].index(n) for k, n in handle_names.items() if n in kinds
        }
        return function

    def _arguments(
        self, body: FunctionBuilder, signature: OpSignature, nodes: Sequence[NodeDef], handles: Mapping[str, int]
    ) -> dict[Link, Any]:
        """Adds the arguments to the body. Returns them by their names in the body."""
        arguments: dict[Link, Any] = {}
        node_names = {n.name for n in nodes}
        for a in signature.input_arg:
            if a.type_attr or a.type_list_attr or a.number_attr:
                raise GraphError(f"the argument {a.name[:80]!r} is of no fixed dtype")
            if Link(a.name, 0) in arguments or a.name in node_names:
                raise GraphError(f"the name of the argument {a.name[:80]!r} is taken twice")
            variable_dtype = handles.get(a.name, 0)
            argument = body.add_arg(
                decode_dtype(variable_dtype or a.type), name=a.name, ref=a.is_ref or bool(variable_dtype)
            )
            arguments[Link(a.name, 0)], arguments[Link(a.name, -1)] = argument, argument.op
        return arguments

    def _is_op(self, name: str) -> bool:
        try:
            self.find_op(name)
        except GraphError:
            return False
        return True

    def _gradient_of(self, function: Function) -> Callable[..., Any]:
        name = self.gradients.get(function.name)
        if name is None:
            return self.forms.gradient(function)
        if name not in self.defs:
            raise GraphError(f"the gradient {name[:200]!r} of {function.name!r} is not in the library")
        opdef = self._function(name).opdef

        def call(op: Operation, *dys: Tensor | None) -> list[Any]:
            outputs = opdef(*op.inputs, *dys, graph=op.graph)
            return outputs if isinstance(outputs, list) else [outputs]

        return call


class _Flat:
    """Converts names of tensors in a body ("node:output:number") to names in a graph ("node:number")."""

    def __init__(self, args: set[str], nodes: list[NodeDef], find: Callable[[str], OpDef]) -> None:
        self.args = args
        self.places: dict[str, Mapping[str, tuple[int, int]]] = {}
        for n in nodes:
            try:
                opdef = find(n.op)
                self.places[n.name] = output_places(opdef, decode_attrs(opdef, n.attr))
                if opdef.body is not None:  # a function that is called by an attribute: all its results are "output"
                    self.places[n.name] = {"output": (0, len(opdef.output_args)), **self.places[n.name]}
            except OpError as e:
                raise blamed(n.name, e) from None

    def node(self, node: NodeDef) -> NodeDef:
        """Returns the NodeDef with a graph's names for its inputs."""
        renamed: NodeDef = proto("node_def").NodeDef()
        renamed.CopyFrom(node)
        try:
            renamed.input[:] = [self.text(t) for t in node.input]
        except OpError as e:
            raise blamed(node.name, e) from None
        return renamed

    def text(self, text: str) -> str:
        match = _INPUT.match(text)
        if match is None:
            raise GraphError(f"{text[:200]!r} names no tensor: needed 'argument', 'node:output:0' or '^node'")
        control, name, output, number = match.groups()
        if control or (name in self.args and output is None):
            return text
        start, count = self.places.get(name, {}).get(output or "", (0, 0))
        if int(number or 0) >= count:
            raise GraphError(f"{text[:200]!r} is no output of a node of the function")
        return f"{name}:{start + int(number or 0)}"
