"""Copies of parts of a graph, in the same graph or another, with other inputs.

Invariant: a copy computes what its original does; the original stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.builder import GraphBuilder, replace_input
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.types import TensorSpec
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.contrib.graph_editor.elements import (
    ControlOutputs,
    flatten_tree,
    get_predefined_collection_names,
    get_unique_graph,
    make_placeholder_from_tensor,
    scope_finalize,
    transform_tree,
)
from tfnb.v1.contrib.graph_editor.select import get_walks_intersection_ops
from tfnb.v1.contrib.graph_editor.subgraph import SubGraphView, ViewLike, make_view

__all__ = ["Transformer", "TransformerInfo", "copy", "copy_with_input_replacements", "graph_replace"]


class TransformerInfo:
    """What a transformation made of each operation and tensor. info: the state of the transformation."""

    def __init__(self, info: _State) -> None:
        self.sgv, self.sgv_ = info.sgv, info.sgv_
        self.graph, self.graph_, self.scope, self.scope_ = info.graph, info.graph_, info.scope, info.scope_
        self.transformed_ops, self.transformed_ts = dict(info.transformed_ops), dict(info.transformed_ts)

    def _found(self, top: object, missing_fn: Callable[[Any], Any] | None, back: bool) -> Any:
        def one(element: object) -> Any:
            table = self.transformed_ts if isinstance(element, Tensor) else self.transformed_ops
            if back:
                table = {new: old for old, new in table.items()}
            if element in table:
                return table[element]
            return None if missing_fn is None else missing_fn(element)

        return transform_tree(top, one)

    def transformed(self, original_top: object, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns what became of operations and tensors, one or a tree of them.

        missing_fn: from one that was not transformed to what is returned for it, by default None.
        """
        return self._found(original_top, missing_fn, False)

    def original(self, transformed_top: object, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns of what operations and tensors are the copies; see `transformed`."""
        return self._found(transformed_top, missing_fn, True)


class _State:
    """The state of a transformation, which handlers get as `info`."""

    def __init__(self, sgv: SubGraphView, dst_graph: GraphBuilder, dst_scope: str, src_scope: str) -> None:
        self.sgv, self.sgv_ = sgv, SubGraphView()
        self.graph, self.graph_ = sgv.graph, dst_graph
        self.scope, self.scope_ = src_scope, dst_scope
        self.transformed_ops: dict[Any, Any] = {}
        self.transformed_ts: dict[Any, Any] = {}

    def new_name(self, name: str) -> str:
        """Returns a name of the source scope in the scope of the copies."""
        if not name.startswith(self.scope):
            raise InvalidArgumentError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]


def replace_t_with_placeholder_handler(info: _State, t: Tensor) -> Tensor:
    """Returns a placeholder in the place of an outer tensor."""
    with info.graph_.as_default():
        return make_placeholder_from_tensor(t, scope=info.scope_)


def keep_t_if_possible_handler(info: _State, t: Tensor) -> Tensor:
    """Returns an outer tensor itself in the same graph, and a placeholder in another."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: _State, elem: Operation | Tensor, elem_: object) -> None:
    """Adds a copy to the collections of its original; those that are not TensorFlow's get a new name."""
    known = set(get_predefined_collection_names())
    for name in elem.graph.get_all_collection_keys():
        if any(member is elem for member in elem.graph.get_collection(name)):
            plain = name in known or not isinstance(name, str)
            other = name if plain else info.scope_ + name.removeprefix(info.scope)
            info.graph_.add_to_collection(other, elem_)


def transform_op_if_inside_handler(info: _State, op: Operation, keep_if_possible: bool = True) -> Operation | None:
    """Returns the copy of an operation, the operation itself in the same graph, or None."""
    if op in info.transformed_ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: _State, op: Operation, new_inputs: Iterable[Tensor], copy_shape: bool = False, nodedef_fn: object = None
) -> tuple[Any, list[Any]]:
    """Returns (copy of an operation with other inputs, its outputs).

    copy_shape: outputs get the static shapes of the originals. nodedef_fn: is refused, since a copy is no message.
    """
    refuse_given("copy_op_handler", "change the copy that it returns", nodedef_fn=nodedef_fn)
    graph = info.graph_
    attrs = op.attrs
    scopes = graph.scopes
    with graph.as_default(), graph.control_dependencies(None), scopes.named(""), scopes.written_by_node():
        made = graph.add_node(op.opdef, list(new_inputs), attrs, op.types, info.new_name(op.name) + "/")
    made.device, made.gradient_type, made.origin = op.device, op.gradient_type, op.origin
    if copy_shape:
        for old, new in zip(op.outputs, made.outputs, strict=True):
            new.set_shape(old.shape)
    return made, list(made.outputs)


class Transformer:
    """Copies parts of graphs by functions that can be exchanged.

    transform_op_handler(info, op, new_inputs): returns (copy, outputs). transform_external_input_handler(info, t):
    what an input becomes; transform_external_hidden_input_handler: one that the view does not list.
    assign_collections_handler(info, old, new): for each operation and tensor. transform_original_op_handler(info, op):
    what is waited for instead of an operation, or None.
    """

    def __init__(self) -> None:
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = keep_t_if_possible_handler
        self.transform_external_hidden_input_handler: Callable[..., Any] = keep_t_if_possible_handler
        self.transform_original_op_handler: Callable[..., Any] = transform_op_if_inside_handler

    def __call__(
        self,
        sgv: ViewLike,
        dst_graph: GraphBuilder,
        dst_scope: str,
        src_scope: str = "",
        reuse_dst_scope: bool = False,
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Returns (view of the copies, information) of the operations of `sgv`.

        src_scope: is taken from the names, and dst_scope, made unique unless `reuse_dst_scope`, put in front of them.
        """
        view = make_view(sgv)
        src, dst = scope_finalize(src_scope), scope_finalize(dst_scope)
        if dst and not reuse_dst_scope:
            dst = scope_finalize(dst_graph.unique_name(dst[:-1]))
        if view.graph is dst_graph and not dst:
            dst = src
        info = _State(view, dst_graph, dst, src)
        self._inputs(info)
        self._operations(info)
        self._controls(info)
        info.sgv_ = self._view(info)
        return info.sgv_, TransformerInfo(info)

    def _inputs(self, info: _State) -> None:
        for t in info.sgv.inputs:
            info.transformed_ts[t] = self.transform_external_input_handler(info, t)

    def _operations(self, info: _State) -> None:
        open_inputs: list[tuple[Any, int, Any]] = []
        inside = set(info.sgv.ops)
        for op in _in_order(info.sgv.ops):
            inputs: list[Any] = []
            late: list[int] = []
            for i, t in enumerate(op.inputs):
                if t not in info.transformed_ts and t.op in inside:  # the edge that closes a loop
                    late.append(i)
                elif t not in info.transformed_ts:
                    info.transformed_ts[t] = self.transform_external_hidden_input_handler(info, t)
                inputs.append(info.transformed_ts.get(t))
            if late:
                present = next(t for t in inputs if t is not None)
                inputs = [present if t is None else t for t in inputs]
            made, outputs = self.transform_op_handler(info, op, inputs)
            if late:
                spec = op.specs[0]
                made.specs[0] = TensorSpec(spec.dtype, spec.shape, spec.ref)
            open_inputs += [(made, i, op.inputs[i]) for i in late]
            info.transformed_ops[op] = made
            for old, new in zip(op.outputs, outputs, strict=True):
                new = info.transformed_ts.setdefault(old, new)  # a replaced tensor stays replaced
                self.assign_collections_handler(info, old, new)
            self.assign_collections_handler(info, op, made)
        for made, i, source in open_inputs:
            replace_input(made, i, info.transformed_ts[source])

    def _controls(self, info: _State) -> None:
        for op, made in info.transformed_ops.items():
            if not isinstance(made, Operation) or made is op:
                continue
            waits = [self.transform_original_op_handler(info, before) for before in op.control_inputs]
            made.control_inputs = list(dict.fromkeys(w for w in waits if w is not None))
            names = {f"loc:@{old.name}": f"loc:@{new.name}" for old, new in info.transformed_ops.items()}
            same = info.graph is info.graph_
            made.colocation = tuple(names.get(n, n) for n in op.colocation if same or n in names)

    @staticmethod
    def _view(info: _State) -> SubGraphView:
        ops = list(dict.fromkeys(op for op in info.transformed_ops.values() if isinstance(op, Operation)))
        view = SubGraphView(ops, [info.transformed_ts[t] for t in info.sgv.passthroughs])
        view._inputs = [info.transformed_ts[t] for t in info.sgv.inputs]
        view._outputs = [info.transformed_ts[t] for t in info.sgv.outputs]
        return view


def _in_order(ops: list[Any]) -> list[Any]:
    """Returns operations, each after those that compute its inputs, except for the edges that close loops."""
    inside, done = set(ops), dict[Any, None]()
    for first in ops:
        stack = [(first, iter(first.inputs))]
        seen = {first}
        while stack:
            op, inputs = stack[-1]
            if op in done:
                stack.pop()
                continue
            before = next((t.op for t in inputs if t.op in inside and t.op not in done and t.op not in seen), None)
            if before is None:
                done[op] = None
                stack.pop()
            else:
                seen.add(before)
                stack.append((before, iter(before.inputs)))
    return list(done)


def copy(
    sgv: ViewLike,
    dst_graph: GraphBuilder | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Returns (view of the copies, information) of operations; outer tensors stay, or are placeholders elsewhere."""
    view = make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph
    if graph is None:
        raise InvalidArgumentError("copy: the subgraph is empty")
    return Transformer()(view, graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: ViewLike,
    replacement_ts: Mapping[Any, Any],
    dst_graph: GraphBuilder | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Returns (view of the copies, information) of operations, with other tensors in the place of some inputs.

    replacement_ts: from tensors that the operations read to those that the copies read.
    """
    view = make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph
    if graph is None:
        raise InvalidArgumentError("copy_with_input_replacements: the subgraph is empty")
    transformer = Transformer()

    def replaced(info: _State, t: Tensor) -> Tensor:
        found = replacement_ts.get(t)
        return keep_t_if_possible_handler(info, t) if found is None else found

    transformer.transform_external_input_handler = replaced
    return transformer(view, graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: object,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Returns the target tensors as they would be with other tensors in the place of some that they depend on.

    target_ts: a tensor or a tree of them. replacement_ts: from tensors to those in their place. What depends on the
    former is copied. Raises `InvalidArgumentError` when no target depends on any of them.
    """
    targets = flatten_tree(target_ts)
    graph = get_unique_graph(targets, Tensor)
    replacements = {_tensor(old): _tensor(new) for old, new in replacement_ts.items()}
    ops = get_walks_intersection_ops(list(replacements), targets, control_ios=ControlOutputs(graph))  # type: ignore[arg-type]
    if not ops:
        raise InvalidArgumentError("Targets and replacements are not connected!")
    inside = set(ops)
    # A tensor that is replaced may be computed by an operation that is copied for another one.
    view = SubGraphView(ops)
    view._inputs = list(dict.fromkeys([*view._inputs, *(t for t in replacements if t.op in inside)]))
    _, info = copy_with_input_replacements(view, replacements, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda t: replacements.get(t, t))


def _tensor(value: TensorOrVariable) -> Tensor:
    return value if isinstance(value, Tensor) else value.__tensor__()
