"""Lists and trees of operations and tensors, and names of scopes and placeholders.

Invariant: what is returned is in the order of the graph or of the argument, without repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.placeholder import placeholder
from tfnb.types import DTypeLike, ShapeLike

__all__ = [
    "ControlOutputs",
    "Elements",
    "ListView",
    "check_graphs",
    "get_unique_graph",
    "make_list_of_op",
    "make_list_of_t",
]

_PREFIX = "geph"
# Operations or tensors: those of a graph, of a list, or one.
Elements: TypeAlias = GraphBuilder | Operation | Tensor | Iterable[Any]


class ListView:
    """A list that is only read."""

    def __init__(self, list_: Sequence[Any]) -> None:
        if not isinstance(list_, list):
            raise DTypeError(f"Expected a list, got: {type(list_).__name__}")
        self._list = list_

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, index: Any) -> Any:
        return self._list[index]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._list, *other]


def is_iterable(obj: object) -> bool:
    """Returns whether one can iterate over a value; a tensor is no list of its parts."""
    return not isinstance(obj, (str, bytes, Tensor, Operation)) and hasattr(obj, "__iter__")


def concatenate_unique(la: list[Any], lb: Iterable[Any]) -> list[Any]:
    """Adds the elements of `lb` that `la` lacks to `la`, and returns it."""
    known = set(la)
    for element in lb:
        if element not in known:
            known.add(element)
            la.append(element)
    return la


def flatten_tree(tree: Any, leaves: list[Any] | None = None) -> list[Any]:
    """Adds the leaves of nested lists and dictionaries to `leaves`, by default a new list, and returns it."""
    leaves = [] if leaves is None else leaves
    if isinstance(tree, Mapping):
        for value in tree.values():
            flatten_tree(value, leaves)
    elif is_iterable(tree):
        for value in tree:
            flatten_tree(value, leaves)
    else:
        leaves.append(tree)
    return leaves


def transform_tree(tree: Any, fn: Callable[[Any], Any], iterable_type: type = tuple) -> Any:
    """Returns a tree like nested lists and dictionaries with fn(leaf) for each leaf; lists become `iterable_type`s."""
    if isinstance(tree, Mapping):
        return {key: transform_tree(value, fn, iterable_type) for key, value in tree.items()}
    if is_iterable(tree):
        parts = [transform_tree(value, fn, iterable_type) for value in tree]
        if hasattr(tree, "_fields"):
            return type(tree)(*parts)
        return parts if isinstance(tree, list) else iterable_type(parts)
    return fn(tree)


def check_graphs(*args: Any) -> None:
    """Raises `InvalidArgumentError` unless all arguments that have a graph have the same."""
    graphs = {id(sgv.graph) for sgv in args if getattr(sgv, "graph", None) is not None}
    if len(graphs) > 1:
        raise InvalidArgumentError("the arguments are of different graphs")


def get_unique_graph(
    tops: Any, check_types: type | tuple[type, ...] | None = None, none_if_empty: bool = False
) -> GraphBuilder | None:
    """Returns the graph of operations, tensors or a graph, or of a list of them.

    Raises `DTypeError` for a value of another class, and `InvalidArgumentError` for several graphs, or none.
    """
    if isinstance(tops, GraphBuilder):
        return tops
    elements = list(tops) if is_iterable(tops) else [tops]
    kinds = check_types or (Operation, Tensor)
    for element in elements:
        if not isinstance(element, kinds):
            raise DTypeError(f"Expected an operation or a tensor, got: {element!r}")
    check_graphs(*elements)
    if elements:
        return elements[0].graph
    if none_if_empty:
        return None
    raise InvalidArgumentError("Can't find the unique graph of an empty list")


def _list_of(
    values: Any,
    kind: type,
    of_graph: Callable[[GraphBuilder], list[Any]],
    check: bool,
    graph: bool,
    ignored: type | None,
) -> list[Any]:
    if isinstance(values, GraphBuilder):
        if not graph:
            raise DTypeError("allow_graph is False: cannot convert a tf.Graph.")
        return of_graph(values)
    found = list(values) if is_iterable(values) else [values]
    if ignored is not None:
        found = [v for v in found if not isinstance(v, ignored)]
    if check and found:
        get_unique_graph(found, kind)
    return found


def make_list_of_op(
    ops: Elements, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Any]:
    """Returns a list of operations: those of a graph, of a list, or one.

    check_graph: all must be of one graph. allow_graph: a graph may be given. ignore_ts: tensors are left out. Raises
    `DTypeError` for other values.
    """
    ignored = Tensor if ignore_ts else None
    return _list_of(ops, Operation, lambda graph: list(graph.get_operations()), check_graph, allow_graph, ignored)


def make_list_of_t(
    ts: Elements, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Any]:
    """Returns a list of tensors: those of a graph, of a list, or one; see `make_list_of_op`."""
    return _list_of(ts, Tensor, get_tensors, check_graph, allow_graph, Operation if ignore_ops else None)


def get_tensors(graph: GraphBuilder) -> list[Any]:
    """Returns all tensors of a graph. Raises `DTypeError` for another value."""
    if not isinstance(graph, GraphBuilder):
        raise DTypeError(f"Expected a graph, got: {graph!r}")
    return [t for op in graph.get_operations() for t in op.outputs]


def get_generating_ops(ts: Elements) -> list[Any]:
    """Returns the operations that compute the tensors."""
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Elements) -> list[Any]:
    """Returns the operations that read any of the tensors."""
    tensors = make_list_of_t(ts, allow_graph=False)
    return list(dict.fromkeys(op for t in tensors for op in t.consumers()))


class ControlOutputs:
    """Which operations wait for each operation of a graph."""

    def __init__(self, graph: GraphBuilder) -> None:
        if not isinstance(graph, GraphBuilder):
            raise DTypeError(f"Expected a graph, got: {graph!r}")
        self._graph = graph
        self._outputs: dict[Any, list[Any]] = {}
        self.update()

    @property
    def graph(self) -> GraphBuilder:
        """The graph."""
        return self._graph

    def update(self) -> ControlOutputs:
        """Reads the graph again, after a change, and returns the object."""
        self._outputs = {}
        for op in self._graph.get_operations():
            for before in op.control_inputs:
                self._outputs.setdefault(before, []).append(op)
        return self

    def get_all(self) -> dict[Any, list[Any]]:
        """Returns the operations that wait, by the operation that they wait for."""
        return self._outputs

    def get(self, op: Operation) -> list[Any]:
        """Returns the operations that wait for `op`."""
        return self._outputs.get(op, [])


def scope_finalize(scope: str) -> str:
    """Returns a scope with a "/" at its end."""
    return f"{scope}/" if scope and not scope.endswith("/") else scope


def scope_dirname(scope: str) -> str:
    """Returns the scope around a name, "a/b/" of "a/b/c"."""
    return scope[: scope.rfind("/") + 1]


def scope_basename(scope: str) -> str:
    """Returns a name without the scope around it, "c" of "a/b/c"."""
    return scope[scope.rfind("/") + 1 :]


def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """Returns the name of a placeholder that takes the place of the tensor `t`, in its scope or in `scope`."""
    scope = None if scope is None else scope_finalize(scope)
    if t is None:
        return f"{scope or ''}{prefix}"
    if not isinstance(t, Tensor):
        raise DTypeError(f"Expected a tensor, got: {t!r}")
    name = scope_basename(t.op.name)
    name = name if name.startswith(f"{prefix}__") else f"{prefix}__{name}_{t.value_index}"
    return f"{scope_dirname(t.op.name) if scope is None else scope}{name}"


def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = _PREFIX) -> Tensor:
    """Returns a placeholder of the dtype and shape of a tensor, in the default graph; see `placeholder_name`."""
    return placeholder(t.dtype, t.shape, name=placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: ShapeLike = None, scope: str | None = None, prefix: str = _PREFIX
) -> Tensor:
    """Returns a placeholder of a dtype and a shape, in the default graph."""
    return placeholder(dtype, shape, name=placeholder_name(None, scope, prefix))


def get_predefined_collection_names() -> list[str]:
    """Returns the names of the collections of `tf.GraphKeys`."""
    return [value for name, value in vars(GraphKeys).items() if name.isupper() and isinstance(value, str)]


def find_corresponding_elem(
    target: Tensor | Operation, dst_graph: GraphBuilder, dst_scope: str = "", src_scope: str = ""
) -> Tensor | Operation | None:
    """Returns the operation or tensor of `dst_graph` whose name in `dst_scope` is that of `target` in `src_scope`.

    Returns None when there is none. Raises `InvalidArgumentError` when `target` is not in `src_scope`.
    """
    src, dst = scope_finalize(src_scope), scope_finalize(dst_scope)
    if src and not target.name.startswith(src):
        raise InvalidArgumentError(f"{target.name} does not start with {src}")
    name = dst + target.name[len(src) :]
    try:
        if isinstance(target, Tensor):
            return dst_graph.get_tensor_by_name(name)
        return dst_graph.get_operation_by_name(name)
    except (KeyError, LookupError):
        return None


def find_corresponding(targets: object, dst_graph: GraphBuilder, dst_scope: str = "", src_scope: str = "") -> Any:
    """Returns a tree like `targets` with `find_corresponding_elem` of each operation or tensor."""
    return transform_tree(targets, lambda t: find_corresponding_elem(t, dst_graph, dst_scope, src_scope))
