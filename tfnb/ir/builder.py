"""The graph under construction: append-only, named, scoped (white paper, section 2; OSDI'16, section 3.1).

`GraphBuilder` is what users know as `tf.Graph`. Operations are added by many threads under one lock; `version`
counts them, so a session knows what is new (Session.Extend). Invariant: an operation once added never changes,
except that its static shape may become better known, its device may be set before the first run, a loop's Merge
gets the edge that closes the loop, and an operation may compute the same values in another way (`redefine`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from tfnb.errors import (
    DTypeError,
    FinalizedGraphError,
    GraphError,
    InvalidArgumentError,
    OpError,
)
from tfnb.ir import default
from tfnb.ir.bind import bind, flatten, to_numpy
from tfnb.ir.collect import Collections
from tfnb.ir.const import CONST, MAX_RANK, infer_context, varies, vector_length
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.elements import GraphElements
from tfnb.ir.graphdef.encode import as_graph_def, new_versions
from tfnb.ir.graphdef.message_types import GraphDef, Versions
from tfnb.ir.opdef import OpDef, pack_outputs, ref_inputs
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import CONTEXT
from tfnb.ir.origin import user_origin
from tfnb.ir.record import Attrs
from tfnb.ir.scopes import Later, Names, NameScope, Scopes, check_name
from tfnb.ir.tensor import Tensor, is_tensor_like
from tfnb.types import Dimension, DType, Shape, TensorSpec, as_dtype, as_shape, int32, int64, sizes_array
from tfnb.upcalls import upcall

__all__ = [
    "GraphBuilder",
    "all_or_nothing",
    "claim_frame",
    "claim_name",
    "infer_specs",
    "redefine",
    "replace_input",
    "shorten",
]


def _owners(op: Operation) -> list[Operation]:
    """Returns the operations that made the state which `op` takes as references, as it does to assign to a variable."""
    for t in op.inputs:
        if t.op.specs[t.index].ref:
            break
    else:
        return []
    return [op.inputs[k].op for k in sorted(ref_inputs(op.opdef, op.types)) if op.inputs[k].spec.ref]


def infer_specs(
    opdef: OpDef,
    inputs: Sequence[Tensor],
    attrs: Attrs,
    types: dict[str, Any],
    holds: Callable[[Tensor], bool] | None = None,
) -> list[TensorSpec]:
    """Returns the dtype and static shape of every output. Raises the errors of the op's shape function.

    With `holds`, the shape function knows only constants for which it returns True.
    """
    dtypes: list[tuple[DType, bool]] = []
    for a in opdef.output_args:
        if a.type_list:
            dtypes.extend((d, a.ref) for d in types[a.type])
        else:
            d = types[a.type] if a.type in types else a.dtype or as_dtype(a.type)
            dtypes.extend([(d, a.ref)] * (types[a.number] if a.number else 1))
    if not dtypes:
        if opdef.infer is not None:
            opdef.infer(infer_context(opdef, inputs, attrs, types, holds))
        return []
    context = infer_context(opdef, inputs, attrs, types, holds)
    shapes = opdef.infer(context) if opdef.infer is not None else (Shape(None),) * len(dtypes)
    if isinstance(shapes, Shape):
        shapes = (shapes,)
    if len(shapes) != len(dtypes):
        raise GraphError(f"{opdef.name}: shape function gave {len(shapes)} shapes for {len(dtypes)} outputs")
    specs = [TensorSpec(d, as_shape(s), ref) for (d, ref), s in zip(dtypes, shapes, strict=True)]
    for spec in specs:
        sizes = spec.shape.sizes
        if sizes is not None and len(sizes) > MAX_RANK:
            vector_length(len(sizes), opdef.name)
    return specs


def _sizes(value: Sequence[int] | int, dtype: DType | None) -> np.ndarray:
    """Returns the dimensions of a shape, or one, as int32, or int64 where one is too large or the `dtype` says so."""
    sizes = sizes_array(value)
    if sizes.dtype == np.int64 and dtype is int32:
        raise InvalidArgumentError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({sizes.max()})"
        )
    return sizes.astype(np.int64) if dtype is int64 else sizes


class GraphBuilder(GraphElements, Collections):
    """A dataflow graph that is being built: `tf.Graph`.

    Use `with graph.as_default():` to build into it. Thread-safe: each thread has its own scopes.
    """

    captures = False  # only the body of a function captures tensors of the graph around it

    def __init__(self) -> None:
        GraphElements.__init__(self)
        Collections.__init__(self)
        self._names = Names()
        self.scopes = Scopes()
        self.seed: int | None = None
        self.finalized = False
        self._versions: Versions | None = None
        self.client_state: dict[
            str, Any
        ] = {}  # the state that client packages keep for each graph (variable scopes, ...)

    # building

    @property
    def graph(self) -> GraphBuilder:
        """The graph itself; tensors and operations have this property, too."""
        return self

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function's body."""
        return self.captures

    def _get_control_flow_context(self) -> Any:
        """Returns the cond or while context in which nodes are made, or None. Programs ask by this name."""
        return self.scopes.control_flow

    @property
    def graph_def_versions(self) -> Versions:
        """The VersionDef message that the GraphDefs of this graph carry. A program may change it, which changes nothing
        else.
        """
        if self._versions is None:
            self._versions = new_versions()
        return self._versions

    def apply(self, opdef: OpDef, values: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Adds a node for a call of `opdef`; see `OpDef.__call__`.

        Constants that its inputs become are named after it, as in TensorFlow: `add/y`.
        """
        claimed = ""

        def to_tensor(value: object, dtype: DType | None, ref: bool, input_name: str) -> Tensor:
            nonlocal claimed
            if isinstance(value, Tensor) or hasattr(value, "__tensor__"):
                return self.to_tensor(value, dtype, ref)
            claimed, constant = self.reserve(claimed or name or opdef.name.lstrip("_"), input_name)
            return self.to_tensor(value, dtype, ref, constant)

        try:
            bound = bind(opdef, values, attrs, to_tensor)
            op = self.add_node(opdef, bound.inputs, bound.attrs, bound.types, claimed or name)
        except OpError as e:
            if e.op is None:
                e.args = (f"{e.message}\n  in the call at {user_origin()}",)
                e.message = e.args[0]
            raise
        return pack_outputs(opdef, op.types, op, op.outputs)

    def add_node(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Adds the operation and returns it. Raises `GraphError` or `ShapeError`, and then nothing is added."""
        for t in inputs:
            if t.graph is not self:
                raise GraphError(
                    f"{opdef.name}: the input {t.name} must be from the same graph as the "
                    "operation; build both within one `with graph.as_default():`",
                    t.op,
                )
        specs = self._specs(opdef, inputs, attrs, types)
        scopes = self.scopes
        with self._lock:
            if self.finalized:
                raise FinalizedGraphError("Graph is finalized and cannot be modified.")
            op = Operation(self, opdef, self._full_name(name or opdef.name.lstrip("_")), inputs)
            op.attrs, op.types, op.specs = self._contained(attrs), types, specs
            op.outputs = [Tensor(self, op, i) for i in range(len(specs))]
            op.origin = user_origin()
            op.varies = varies(opdef, inputs)
            if scopes.control:
                op.control_inputs = self._control_inputs(op)
            if scopes.gradients:
                op.gradient_type = scopes.gradient_override(opdef.name)
            self._place(op)
            for t in inputs:
                if t.op.extra and CONTEXT in t.op.extra and not scopes.by_node:
                    t.op.extra[CONTEXT].check_use(t, op, scopes.control_flow)
            if scopes.control_flow is not None:
                scopes.control_flow.add_op(op)
            if scopes.recompute is not None:
                scopes.recompute.add(op)
            self._add(op)
        return op

    def _specs(self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any]) -> list[TensorSpec]:
        """Returns what `infer_specs` does.

        What constants from outside make wrong in a branch or loop is no error yet, for that may never run.
        """
        try:
            return infer_specs(opdef, inputs, attrs, types)
        except OpError:
            context = self.scopes.control_flow
            if context is None or all(t.op.varies for t in inputs):
                raise
            return infer_specs(opdef, inputs, attrs, types, lambda t: context.holds(t.op))

    def reserve(self, name: str, *parts: str) -> list[str]:
        """Reserves the name of an operation in the current scope, and names below it for its constants.

        Returns them as complete names, which end in "/".
        """
        with self._lock:
            full = self._full_name(name)
            return [f"{full}/", *(f"{self._names.unique(f'{full}/{part}')}/" for part in parts)]

    def _full_name(self, name: str | bytes) -> str:
        if isinstance(name, bytes):
            name = name.decode()
        if name.endswith("/"):  # a name that ends in "/" is complete: no scope is put in front of it
            full = name[:-1]
            return full if full not in self._by_name else self._names.unique(full)
        check_name(name, self.scopes.name)
        return self._names.unique(f"{self.scopes.name}/{name}" if self.scopes.name else name)

    def _contained(self, attrs: Attrs) -> Attrs:
        """Returns the attributes with the container of `tf.container`, unless they name a container themselves."""
        containers = self.scopes.containers
        if not containers or not containers[-1] or getattr(attrs, "container", None) != "":
            return attrs
        return dataclasses.replace(attrs, container=containers[-1])

    def _control_inputs(self, op: Operation) -> list[Operation]:
        control_inputs = self.scopes.control_inputs()
        if not control_inputs:
            return []
        data_sources = {t.op for t in op.inputs}
        return [c for c in control_inputs if c not in data_sources]

    def _place(self, op: Operation) -> None:
        """Applies the device scopes, the innermost first; an outer scope only fills parts that are still open."""
        scopes = self.scopes
        if scopes.devices:
            device = DeviceSpec()
            for spec in reversed(scopes.devices):
                if spec is None:
                    break
                text = spec(op) if callable(spec) else spec
                if text:
                    device = device.merged(DeviceSpec.from_string(str(text)))
                    op.device = device.to_string()
        anchors = [*scopes.colocate, *_owners(op)]
        if anchors:
            groups = {name for c in anchors for name in c.colocation or (f"loc:@{c.name}",)}
            op.colocation = tuple(sorted(groups))
            op.device = anchors[-1].device or op.device

    def to_tensor(
        self, value: object, dtype: DType | None = None, ref: bool = False, name: str | None = None
    ) -> Tensor:
        """Returns a tensor of this graph for `value`: a tensor, a variable, or a Python or NumPy value (a new Const).

        `name` is that of the new node; one that ends in "/" is complete, without the current scope. Raises `DTypeError`
        for None, for an operation, and for values that are not of `dtype`.
        """
        if isinstance(value, Tensor):
            return value
        if hasattr(value, "__tensor__"):
            return value.__tensor__(dtype=dtype, as_ref=ref)
        if isinstance(value, (list, tuple)) and any(is_tensor_like(v) for v in flatten(value)):
            return upcall("pack_nested", value, dtype, self, name)
        if isinstance(value, Operation):
            raise DTypeError(f"Can't convert Operation {value.name!r} to Tensor: use one of its outputs", value)
        if isinstance(value, (Shape, Dimension)):
            if dtype not in (None, int32, int64):
                raise DTypeError(f"a {type(value).__name__} becomes a tensor of int32 or int64, not of {dtype}")
            value = _sizes(value.known() if isinstance(value, Shape) else int(value), dtype)
        elif isinstance(value, (list, tuple)) and any(hasattr(v, "value") for v in value):
            value = [int(v) for v in value]
        elif hasattr(value, "value") and hasattr(value, "__index__"):
            value = int(value)
        if value is None:
            raise DTypeError("None is not a value for a tensor")
        return self.constant(to_numpy(value, dtype), name or "Const", dtype)

    def constant(self, array: np.ndarray, name: str = "Const", dtype: DType | None = None) -> Tensor:
        """Adds a Const node with a copy of `array`; later changes of `array` have no effect on it.

        `dtype` is given if it is not the array's own: quantised numbers are stored as plain integers.
        """
        array = np.array(array)
        array.flags.writeable = False
        dtype = as_dtype(array.dtype) if dtype is None else dtype
        return self.add_node(CONST, (), CONST.attrs(value=array), {"dtype": dtype}, name).outputs[0]

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns a GraphDef message of all operations, or of those added after `version` was `from_version`.

        With `add_shapes`, the attributes "_output_shapes" hold the static shapes.
        """
        return as_graph_def(self, from_version, add_shapes)

    def finalize(self) -> None:
        """Makes every later addition of an operation an error, `FinalizedGraphError`."""
        self.finalized = True

    def as_default(self) -> AbstractContextManager[Any]:
        """A context manager that makes this the thread's default graph."""
        return default.pushed(self)

    # scopes

    def name_scope(self, name: str | None) -> NameScope:
        """Returns a context manager: operations made inside have names that begin with `name/`.

        A name that ends in '/' opens an existing scope again; None or '' stands for the root. The value of the `with`
        block is the name of the scope with a '/' at its end.
        """
        return NameScope(self.scopes, name, self._claim_scope)

    def get_name_scope(self) -> str:
        """Returns the name of the current scope without a '/' at its end; "" for the root."""
        return self.scopes.name

    def _claim_scope(self, name: str) -> str:
        with self._lock:
            check_name(name, self.scopes.name)
            return self._names.unique(f"{self.scopes.name}/{name}" if self.scopes.name else name)

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """A context manager: operations made inside run after `control_inputs`; None clears those of outer blocks."""
        if control_inputs is None:
            control_flow = self.scopes.control_flow
            with self.scopes.pushed(self.scopes.control, None):
                self.scopes.control_flow = None
                try:
                    yield
                finally:
                    self.scopes.control_flow = control_flow
            return
        ops = []
        for c in control_inputs:
            element = self.as_graph_element(c)
            ops.append(element.op if isinstance(element, Tensor) else element)
        with self.scopes.pushed(self.scopes.control, tuple(ops)):
            yield

    def device(self, spec: object) -> AbstractContextManager[None]:
        """Returns a context manager: operations made inside get this device, unless an inner block gives another one.

        `spec` is a device name, which may be partial, or a function from the operation to such a name. None clears the
        devices of outer blocks.
        """
        return self.scopes.pushed(self.scopes.devices, None if spec is None else spec if callable(spec) else str(spec))

    @contextmanager
    def colocate_with(self, op: Operation, ignore_existing: bool = False) -> Iterator[None]:
        """A context manager: operations made inside are put on the device of `op`, whatever device blocks enclose it.

        With `ignore_existing` the colocation of outer blocks is cleared, and `op` may be None.
        """
        if op is None and not ignore_existing:
            raise InvalidArgumentError("colocate_with(None) needs ignore_existing=True")
        scopes = self.scopes
        colocate = scopes.colocate
        if ignore_existing:
            scopes.colocate = []
        try:
            if op is None:
                yield
                return
            element = self.as_graph_element(op)
            target = element.op if isinstance(element, Tensor) else element
            with scopes.pushed(scopes.colocate, target), scopes.pushed(scopes.devices, None):
                yield
        finally:
            scopes.colocate = colocate

    def colocate_with_name(self, name: str) -> AbstractContextManager[None]:
        """A context manager: operations made inside are put on the device of an operation that is made later."""
        return self.scopes.pushed(self.scopes.colocate, Later(name))

    def gradient_override_map(self, op_type_map: dict[str, str]) -> AbstractContextManager[None]:
        """A context manager: ops made inside use gradients of other names, as in `{"Square": "MySquareGrad"}`."""
        return self.scopes.pushed(self.scopes.gradients, dict(op_type_map))

    def container(self, name: str) -> AbstractContextManager[None]:
        """A context manager: state that is made inside is put into the named container."""
        return self.scopes.pushed(self.scopes.containers, name)

    def next_seed(self) -> int:
        """Returns the second seed of a random op that is added next, when the graph has a seed and the op has none."""
        return self.version

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a name in the current scope that no operation has yet; `mark_as_used` reserves the name."""
        with self._lock:
            full = f"{self.scopes.name}/{name}" if self.scopes.name else name
            return self._names.unique(full, mark_as_used)


@contextmanager
def all_or_nothing(graph: GraphBuilder) -> Iterator[None]:
    """A context manager: operations added inside are removed if the block ends with an error.

    Other threads that add operations wait until the block has ended.
    """
    with graph._lock:
        version, names = graph.version, graph._names.copy()
        try:
            yield
        except BaseException:
            shorten(graph, version, names)
            raise


def shorten(graph: GraphBuilder, version: int, names: Names) -> None:
    """Removes the operations from number `version` on; `names` are those that were in use before them.

    No session may have seen what is removed. What the client keeps for the graph is left as it is.
    """
    with graph._lock:
        for op in graph._operations[version:]:
            del graph._by_name[op.name]
        del graph._operations[version:]
        graph._names = names
        for readers in graph._consumers.values():
            readers[:] = [r for r in readers if r.id < version]


def claim_name(graph: GraphBuilder, name: str) -> None:
    """Reserves exactly this full name. Raises `GraphError` when an operation has it."""
    with graph._lock:
        if name in graph._by_name:
            raise GraphError(f"the graph has an operation {name!r} already")
        graph._names.mark(name)


def claim_frame(graph: GraphBuilder, name: str) -> str:
    """Reserves a name for the frame of a loop that is read from a file, and returns it: `name` itself if it is free."""
    with graph._lock:
        return graph._names.unique(name)


def replace_input(op: Operation, index: int, value: Tensor) -> None:
    """Makes `value` input `index` of `op`.

    Loops need this, since the edge that closes a loop does not exist yet when its Merge is made.
    """
    graph = op.graph
    with graph._lock:
        old = op.inputs[index]
        op.inputs = (*op.inputs[:index], value, *op.inputs[index + 1 :])
        op.varies = varies(op.opdef, op.inputs)
        graph._consumers[(old.op.id, old.index)].remove(op)
        graph._consumers.setdefault((value.op.id, value.index), []).append(op)


def redefine(op: Operation, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any]) -> None:
    """Makes `op` an operation of another type that computes the same values; its name and its readers stay."""
    graph = op.graph
    with graph._lock:
        for t in op.inputs:
            graph._consumers[(t.op.id, t.index)].remove(op)
        op.opdef, op.inputs, op.attrs, op.types = opdef, tuple(inputs), attrs, types
        op.varies = varies(opdef, inputs)
        for t in op.inputs:
            graph._consumers.setdefault((t.op.id, t.index), []).append(op)
