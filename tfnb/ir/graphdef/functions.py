"""Functions of a GraphDef's library: FunctionDef messages become `Function`s.

In a body a tensor is "argument" or "node:output:number". Only functions that the graph reaches are built, each behind
those it calls. Invariant: no function calls itself, directly or through others, and nesting has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import GraphError, OpError
from tfnb.ir.function import Function, FunctionBuilder
from tfnb.ir.graphdef.attrs import decode_attrs, output_places
from tfnb.ir.graphdef.decode import add_nodes
from tfnb.ir.graphdef.parse import Link, blamed
from tfnb.ir.graphdef.resource_variables import as_reference
from tfnb.ir.graphdef.tensor_proto import decode_dtype
from tfnb.ir.opdef import OpDef
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor

__all__ = ["MAX_DEPTH", "Library"]

MAX_DEPTH = 64  # of functions that call functions
_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
_GRADIENT = "SymbolicGradient"
_INPUT = re.compile(r"(\^?)([^:^]+)(?::([^:]+)(?::(\d{1,9}))?)?\Z")


class Library:
    """The functions of a GraphDef by name, built when the graph wants them.

    find_op: the catalogue; gradient: makes a function's gradient; symbolic: the function that gives the gradients of
    another's results by its arguments.
    """

    def __init__(
        self,
        message: Any,
        find_op: Callable[[str], OpDef],
        gradient: Callable[[Function], Callable[..., Any]],
        symbolic: Callable[[Function], Function],
    ) -> None:
        self.find_op = find_op
        self.gradient = gradient
        self.symbolic = symbolic
        self.defs: dict[str, Any] = {}
        self.made: dict[str, Function] = {}
        self.gradients = {g.function_name: g.gradient_func for g in message.gradient}
        for f in message.function:
            if f.signature.name in self.defs:
                raise GraphError(f"the GraphDef's library has two functions {f.signature.name[:200]!r}")
            self.defs[f.signature.name] = f

    def find(self, name: str) -> OpDef:
        """The op of this name: of the library, else of the catalogue. Raises `GraphError`."""
        if name.startswith(f"{_GRADIENT}:"):
            known = name.partition(":")[2]
            if name not in self.made:
                self.made[name] = self.symbolic(self._function(known))
            return self.made[name].opdef
        return self._function(name).opdef if name in self.defs else self.find_op(name)

    def plain(self, node: Any) -> Any:
        """A NodeDef in the form that is read here.

        One that calls a function by an attribute has that function as its op; resource variables become references.
        """
        node = as_reference(node)
        if node.op not in _CALLS and node.op != _GRADIENT:
            return node
        function = node.attr["f"].func if "f" in node.attr else None
        if function is None or function.name not in self.defs:
            raise blamed(node.name, GraphError(f"{node.op} names no function of the library in its attribute 'f'"))
        found = proto("node_def").NodeDef(name=node.name, device=node.device)
        found.op = function.name if node.op in _CALLS else f"{_GRADIENT}:{function.name}"
        found.input.extend(node.input)
        if "_class" in node.attr:
            found.attr["_class"].CopyFrom(node.attr["_class"])
        return found

    def _function(self, name: str) -> Function:
        for wanted in self._order(name):
            if wanted not in self.made:
                try:
                    self.made[wanted] = self._build(self.defs[wanted])
                except OpError as e:
                    e.message = f"the function {wanted[:200]!r} of the GraphDef: {e.message}"
                    e.args = (e.message,)
                    raise
        return self.made[name]

    def _order(self, name: str) -> list[str]:
        """The functions that `name` needs and that are not built, callees first. Raises `GraphError` for recursion."""
        order: list[str] = []
        open_: dict[str, list[str]] = {name: self._called(name)}
        while open_:
            current = next(reversed(open_))
            if open_[current]:
                following = open_[current].pop()
                if following in open_:
                    raise GraphError(f"the function {following[:200]!r} of the GraphDef calls itself")
                if following not in order and following not in self.made:
                    open_[following] = self._called(following)
                    if len(open_) > MAX_DEPTH:
                        raise GraphError(f"functions of the GraphDef are nested more than {MAX_DEPTH} deep")
            else:
                order.append(current)
                del open_[current]
        return order

    def _called(self, name: str) -> list[str]:
        found = {n.op for n in self.defs[name].node_def}
        found |= {n.attr["f"].func.name for n in self.defs[name].node_def if "f" in n.attr}
        return sorted(found & self.defs.keys())

    def _build(self, message: Any) -> Function:
        signature = message.signature
        if signature.name not in self.made and self._is_op(signature.name):
            raise GraphError("has the name of an op")
        body = FunctionBuilder()
        nodes = [self.plain(n) for n in message.node_def]
        with body.as_default():
            mapped: dict[Link, Any] = {}
            for a in signature.input_arg:
                if a.type_attr or a.type_list_attr or a.number_attr or a.is_ref:
                    raise GraphError(f"the argument {a.name[:80]!r} is of no fixed dtype")
                made = body.add_arg(decode_dtype(a.type), name=a.name)
                if Link(a.name, 0) in mapped or any(n.name == a.name for n in nodes):
                    raise GraphError(f"the name of the argument {a.name[:80]!r} is taken twice")
                mapped[Link(a.name, 0)], mapped[Link(a.name, -1)] = made, made.op
            flat = _Flat({a.name for a in signature.input_arg}, nodes, self.find)
            rewritten = []
            for n in nodes:
                copied = proto("node_def").NodeDef()
                copied.CopyFrom(n)
                try:
                    copied.input[:] = [flat.text(t) for t in n.input]
                except OpError as e:
                    raise blamed(n.name, e) from None
                rewritten.append(copied)
            element = add_nodes(body, rewritten, self.find, mapped)
            results: list[Tensor] = []
            for out in signature.output_arg:
                if out.name not in message.ret:
                    raise GraphError(f"nothing is returned for the output {out.name[:80]!r}")
                t = element(flat.text(message.ret[out.name]))
                if t.dtype is not decode_dtype(out.type):
                    raise GraphError(f"the output {out.name[:80]!r} is {t.dtype.name}, declared otherwise")
                results.append(t)
        names = [a.name for a in signature.output_arg]
        return Function(signature.name, body, results, self._gradient_of, names, None, signature.description)

    def _is_op(self, name: str) -> bool:
        try:
            self.find_op(name)
        except GraphError:
            return False
        return True

    def _gradient_of(self, function: Function) -> Callable[..., Any]:
        name = self.gradients.get(function.name)
        if name is None:
            return self.gradient(function)
        if name not in self.defs:
            raise GraphError(f"the gradient {name[:200]!r} of {function.name!r} is not in the library")
        made = self._function(name).opdef

        def call(op: Any, *dys: Any) -> list[Any]:
            outputs = made(*op.inputs, *dys, graph=op.graph)
            return outputs if isinstance(outputs, list) else [outputs]

        return call


class _Flat:
    """From a body's way to name tensors ("node:output:number") to a graph's ("node:number")."""

    def __init__(self, args: set[str], nodes: list[Any], find: Callable[[str], OpDef]) -> None:
        self.args = args
        self.places: dict[str, Mapping[str, tuple[int, int]]] = {}
        for n in nodes:
            try:
                opdef = find(n.op)
                self.places[n.name] = output_places(opdef, decode_attrs(opdef, n.attr))
            except OpError as e:
                raise blamed(n.name, e) from None

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
