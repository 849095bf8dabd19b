"""`tf.contrib.copy_graph`: operations and variables of a graph are copied to another, with all that they depend on.

Invariant: an operation that was copied to a scope before is found by its name, and is not copied twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.graph_editor.elements import scope_finalize
from tfnb.v1.contrib.graph_editor.select import get_backward_walk_ops
from tfnb.v1.contrib.graph_editor.subgraph import SubGraphView
from tfnb.v1.contrib.graph_editor.transform import Transformer

__all__ = ["copy_op_to_graph", "copy_variable_to_graph", "get_copied_op"]


def _copied_name(name: str, scope: str) -> str:
    return scope_finalize(scope) + name


def copy_variable_to_graph(org_instance: object, to_graph: GraphBuilder, scope: str = "") -> Variable:
    """Returns a variable of `to_graph` that begins with what the initial value of a variable is.

    scope: is put in front of its name. Raises `DTypeError` for another object than a variable.
    """
    if not isinstance(org_instance, Variable):
        raise DTypeError(f"{org_instance!r} is not a Variable")
    graph = org_instance.graph
    keys = []
    for key in graph.get_all_collection_keys():
        if any(member is org_instance for member in graph.get_collection(key)):
            own = key in (GraphKeys.TRAINABLE_VARIABLES, GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
            keys.append(key if own or not scope else _copied_name(key, scope))
    initial = copy_op_to_graph(org_instance.initial_value, to_graph, [], scope)
    with to_graph.as_default(), to_graph.name_scope(None):
        return Variable(
            initial,
            trainable=org_instance.trainable,
            collections=keys,
            name=_copied_name(org_instance.op.name, scope),
        )


def copy_op_to_graph(org_instance: object, to_graph: GraphBuilder, variables: Sequence[Any], scope: str = "") -> Any:
    """Returns the copy in `to_graph` of an operation, a tensor or a variable, with all that it depends on.

    variables: those that `copy_variable_to_graph` has copied. scope: is put in front of names. Raises
    `InvalidArgumentError` when it depends on a variable that was not copied, and `DTypeError` for other objects.
    """
    if isinstance(org_instance, Variable):
        return _found_variable(org_instance, to_graph, variables, scope)
    if not isinstance(org_instance, (Operation, Tensor)):
        raise DTypeError(f"Could not copy instance: {org_instance!r}")
    op = org_instance.op if isinstance(org_instance, Tensor) else org_instance
    known: dict[Any, Any] = {}
    for other in get_backward_walk_ops([op], control_inputs=True):
        found = get_copied_op(other, to_graph, scope)
        if found is not None:
            known[other] = found
        elif other.opdef.name in ("Variable", "VariableV2", "VarHandleOp"):
            raise InvalidArgumentError(
                f"{other.name} is a variable that was not copied; use copy_variable_to_graph before"
            )
    if op not in known:
        known |= _copied(op, known, to_graph, scope)
    made = known[op]
    return made.outputs[org_instance.value_index] if isinstance(org_instance, Tensor) else made


def _copied(op: Operation, known: dict[Any, Any], to_graph: GraphBuilder, scope: str) -> dict[Any, Any]:
    needed = get_backward_walk_ops([op], within_ops_fn=lambda other: other not in known, control_inputs=True)
    transformer = Transformer()

    def outer(info: object, t: Tensor) -> Tensor:
        return known[t.op].outputs[t.value_index]

    def waits_for(info: Any, before: Operation) -> Operation | None:
        return info.transformed_ops.get(before) or known.get(before)

    transformer.transform_external_input_handler = transformer.transform_external_hidden_input_handler = outer
    transformer.transform_original_op_handler = waits_for
    _, info = transformer(SubGraphView(needed), to_graph, scope, "", reuse_dst_scope=True)
    return info.transformed_ops


def _found_variable(variable: Variable, to_graph: GraphBuilder, variables: Sequence[Any], scope: str) -> Variable:
    name = _copied_name(variable.op.name, scope)
    for other in variables:
        if other.graph is to_graph and other.op.name == name:
            return other
    return copy_variable_to_graph(variable, to_graph, scope)


def get_copied_op(org_instance: Operation | Tensor | Variable, graph: GraphBuilder, scope: str = "") -> Any:
    """Returns the copy in `graph` of an operation, a tensor or a variable, or None when it was not copied.

    scope: what was put in front of its name.
    """
    name = _copied_name(org_instance.name, scope)
    try:
        if isinstance(org_instance, (Tensor, Variable)):
            return graph.as_graph_element(name if ":" in name else f"{name}:0")
        return graph.get_operation_by_name(name)
    except (KeyError, LookupError):
        return None
