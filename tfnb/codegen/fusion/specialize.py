"""Specialisation: a cluster's shape functions run with concrete shapes (OSDI'16, section 3.3).

Values that depend only on shapes, constants and the given `shape_values` are computed here by host kernels and never
become kernels. Without folding, these are only the values that shapes need, and those that the host and the device
compute to the same bit. Invariant: afterwards every input and output of every node has a dtype and a concrete shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tfnb.codegen.fusion.size_values import as_numbers, has_sizes, size_array, symbolic_values
from tfnb.codegen.program import DeviceFacts
from tfnb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ShapeError,
    UnimplementedError,
)
from tfnb.ir.const import MAX_RANK, foldable, vector_length
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall, Infer, Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.sizes import plain
from tfnb.types import DType, Shape, TensorSpec, as_dtype, unknown_shape

__all__ = ["Specialized", "infer_context", "specialize"]

_MAX_FOLD = 4096  # elements: larger values are cheaper to compute than to store in the program


@dataclass(frozen=True, slots=True, eq=False)
class Specialized:
    """The facts about a cluster that hold for concrete shapes.

    By edge: `infos` has the dtype and shape of each edge that is not a reference, `values` the values that are known,
    and `variable_of` the id of the Variable node to which a reference leads. By node id: `inputs` and `outputs` have
    the dtypes and shapes of a node's edges, `initial` and `variables` those of a variable before and after the run, and
    `specs` the declared ones. `reshaped` are the edges whose shape is not the one that the graph says, since it follows
    from a variable that was assigned a value of another shape with `validate_shape=False`. `empty` are the ids of
    variables without a value, and `unset` those of them that are read nevertheless. `shaping` are the ids of the nodes
    whose values fix shapes; `folds` says whether other values are computed too. Dimensions may be formulas
    (`tfnb/sizes.py`); an array of values that has formulas is one of objects.
    """

    infos: dict[Edge, TensorInfo] = field(default_factory=dict)
    inputs: dict[int, tuple[TensorInfo, ...]] = field(default_factory=dict)
    outputs: dict[int, tuple[TensorInfo, ...]] = field(default_factory=dict)
    values: dict[Edge, np.ndarray] = field(default_factory=dict)
    variable_of: dict[Edge, int] = field(default_factory=dict)
    initial: dict[int, TensorInfo] = field(default_factory=dict)
    variables: dict[int, TensorInfo] = field(default_factory=dict)
    specs: dict[int, TensorSpec] = field(default_factory=dict)
    empty: set[int] = field(default_factory=set)
    unset: set[int] = field(default_factory=set)
    reshaped: set[Edge] = field(default_factory=set)
    shaping: frozenset[int] = frozenset()
    folds: bool = True


def specialize(
    cluster: Cluster,
    inputs: Sequence[TensorInfo],
    shape_values: Mapping[Edge, np.ndarray],
    variables: Mapping[int, TensorInfo | None],
    facts: DeviceFacts,
    fold: bool = True,
) -> Specialized:
    """Computes concrete shapes for all nodes of `cluster`, and the values that are known before it runs.

    Without `fold` the value of a node does not depend on the other nodes of the cluster. With it, a sine of a constant
    is computed by the host, and its last bits may differ from those that a device would compute.

    Raises `ShapeError` with the node whose shapes do not fit, `UnimplementedError` for an op or dtype that no kernel
    serves, and `FailedPreconditionError` for a variable that is read before it has a shape.
    """
    shaping = _shaping(cluster)
    specialized = Specialized(shaping=shaping, folds=fold)
    specialized.infos.update(zip(cluster.inputs, inputs, strict=True))
    specialized.values.update({e: np.asarray(v) for e, v in shape_values.items()})
    for e, info in specialized.infos.items():
        if info.size == 0:
            specialized.values.setdefault(e, np.zeros(info.shape, info.dtype.np))
    for e, info, dims in zip(cluster.inputs, inputs, cluster.known_shapes, strict=False):
        if dims and not Shape(dims).is_compatible_with(Shape(info.shape)):
            specialized.reshaped.add(e)
    input_edges = frozenset(cluster.inputs)
    for node in cluster.nodes:
        try:
            _node(specialized, node, input_edges, variables, facts)
        except OpError as e:
            raise e.with_op(node) from None
    return specialized


def _shaping(cluster: Cluster) -> frozenset[int]:
    """Returns the ids of the nodes whose values fix shapes."""
    nodes = cluster.by_id()
    stack = [n.inputs[k].id for n in cluster.nodes for k in n.opdef.shape_inputs if k < len(n.inputs)]
    shaping: set[int] = set()
    while stack:
        i = stack.pop()
        if i in nodes and i not in shaping:
            shaping.add(i)
            stack.extend(e.id for e in nodes[i].inputs if not nodes[i].opdef.shape_only)
    return frozenset(shaping)


def _node(
    specialized: Specialized,
    node: Node,
    fed: frozenset[Edge],
    variables: Mapping[int, TensorInfo | None],
    facts: DeviceFacts,
) -> None:
    kind = node.opdef.kind
    if kind is Kind.VARIABLE:
        _variable(specialized, node, variables.get(node.id))
        return
    if kind is Kind.CONST:
        value, e = node.attrs.value, Edge(node.id, 0)
        info = TensorInfo(as_dtype(value.dtype), value.shape)
        specialized.inputs[node.id], specialized.outputs[node.id] = (), (info,)
        if e not in fed:
            specialized.infos[e], specialized.values[e] = info, value
        return
    specs = tuple(_input_spec(specialized, e) for e in node.inputs)
    for i, spec in enumerate(specs):
        if not spec.shape.is_fully_defined() and i not in node.opdef.writes:
            raise FailedPreconditionError(f"input {i} is a variable without a value: run its initializer first")
    outputs = _infer(specialized, node, specs)
    _note_reads(specialized, node)
    _references(specialized, node, specs, outputs)
    specialized.inputs[node.id] = tuple(_input_info(specialized, e) for e in node.inputs)
    specialized.outputs[node.id] = outputs
    for i, info in enumerate(outputs):
        if (e := Edge(node.id, i)) not in fed and e not in specialized.variable_of:
            specialized.infos[e] = info
    if not _evaluate(specialized, node, outputs, fed):
        _check_served(node, specialized.inputs[node.id] + outputs, facts)


def _variable(specialized: Specialized, node: Node, info: TensorInfo | None) -> None:
    spec = node.specs[0]
    specialized.specs[node.id] = spec
    specialized.variable_of[Edge(node.id, 0)] = node.id
    specialized.inputs[node.id] = specialized.outputs[node.id] = ()
    if info is None:
        specialized.empty.add(node.id)
    if info is None and spec.shape.is_fully_defined():
        info = TensorInfo(spec.dtype, spec.shape.known())
    if info is not None:
        if not spec.shape.is_compatible_with(Shape(info.shape)):
            specialized.reshaped.add(Edge(node.id, 0))
        specialized.variables[node.id] = specialized.initial[node.id] = info


def _input_spec(specialized: Specialized, e: Edge) -> TensorSpec:
    """Returns the dtype and shape of an input, which are known except for a variable without a value."""
    variable = specialized.variable_of.get(e)
    if variable is not None and variable not in specialized.variables:
        return specialized.specs[variable]
    info = _input_info(specialized, e)
    return TensorSpec(info.dtype, Shape(info.shape))


def _input_info(specialized: Specialized, e: Edge) -> TensorInfo:
    variable = specialized.variable_of.get(e)
    return specialized.infos[e] if variable is None else specialized.variables[variable]


def _infer(specialized: Specialized, node: Node, specs: tuple[TensorSpec, ...]) -> tuple[TensorInfo, ...]:
    opdef = node.opdef
    for i in opdef.shape_inputs:
        if i < len(node.inputs) and node.inputs[i] not in specialized.values:
            raise InvalidArgumentError(f"the value of input {i} must be known before the step runs")
    shapes = opdef.infer(_context(specialized, node, specs)) if opdef.infer is not None else ()
    if isinstance(shapes, Shape):
        shapes = (shapes,)
    if not node.specs:
        return ()
    infos = []
    for k, spec in enumerate(node.specs):
        shape = Shape(None) if k >= len(shapes) else shapes[k]
        if shape.is_compatible_with(spec.shape):
            shape = _with_known_sizes(shape, spec.shape)
        elif specialized.reshaped.isdisjoint(node.inputs):
            raise ShapeError(f"output {k} has shape {shape}, but the graph says {spec.shape}")
        else:
            specialized.reshaped.add(Edge(node.id, k))
        if not shape.is_fully_defined():
            raise UnimplementedError(f"the shape {shape} of output {k} depends on data")
        infos.append(TensorInfo(spec.dtype, shape.known()))
    return tuple(infos)


def _with_known_sizes(shape: Shape, known: Shape) -> Shape:
    """Returns `shape` with the sizes that the graph knows, which programs for known sizes use, in place of formulas.

    The shapes are compatible, so a formula has the known size wherever the cluster's program is used.
    """
    if shape.sizes is None or known.sizes is None:
        return shape.merge_with(known)
    return Shape(tuple(d if n is None else n for d, n in zip(shape.sizes, known.sizes, strict=True)))


def infer_context(specialized: Specialized, node: Node) -> Infer:
    """Returns the argument of a shape function when all shapes are known."""
    return _context(specialized, node, tuple(_input_spec(specialized, e) for e in node.inputs))


def _context(specialized: Specialized, node: Node, specs: tuple[TensorSpec, ...], partial: bool = False) -> Infer:
    """Returns the argument of the node's shape function, or with `partial` the argument of its function `partial`.

    A vector that is too long for a shape is an error in a shape function, and ordinary data in `partial`.
    """

    def value(i: int) -> np.ndarray | None:
        return specialized.values.get(node.inputs[i])

    def as_shape(i: int) -> Shape:
        v, length = value(i), _input_info(specialized, node.inputs[i]).size
        if partial and length > MAX_RANK:
            return unknown_shape
        vector_length(length, f"input {i}")
        if v is not None:
            return Shape(tuple(None if d < 0 else d for d in v.reshape(-1)))
        return Shape((None,) * length)

    return Infer(
        node.opdef.name,
        tuple(s.shape for s in specs),
        tuple(s.dtype for s in specs),
        node.attrs,
        node.types,
        value,
        as_shape,
        in_step=True,
    )


def _note_reads(specialized: Specialized, node: Node) -> None:
    """Notes the variables without a value that the node reads, even if the value has no effect."""
    if node.opdef.shape_only:
        return
    alias = node.opdef.alias if node.specs and node.specs[0].ref else None
    for i, e in enumerate(node.inputs):
        variable = specialized.variable_of.get(e)
        if variable in specialized.empty and i not in node.opdef.writes and i != alias:
            specialized.unset.add(variable)


def _references(
    specialized: Specialized, node: Node, specs: tuple[TensorSpec, ...], outputs: tuple[TensorInfo, ...]
) -> None:
    """Follows references through the node, and gives variables the shape of the value that is assigned to them."""
    opdef = node.opdef
    for i in opdef.writes:
        variable = specialized.variable_of.get(node.inputs[i])
        if variable is None:
            raise InvalidArgumentError(f"input {i} is not a variable of this device")
        if len(opdef.writes) == 1 and outputs:
            specialized.variables[variable] = outputs[0]
            specialized.empty.discard(variable)
        elif variable not in specialized.variables:
            raise FailedPreconditionError(f"input {i} is a variable without a value")
    source = opdef.writes[0] if opdef.writes else opdef.alias
    if source is not None and node.specs and node.specs[0].ref:
        variable = specialized.variable_of.get(node.inputs[source])
        if variable is not None:
            specialized.variable_of[Edge(node.id, 0)] = variable


def _evaluate(specialized: Specialized, node: Node, outputs: tuple[TensorInfo, ...], fed: frozenset[Edge]) -> bool:
    """Computes the outputs of the node now if everything on which they depend is known.

    Returns whether no kernel is needed for the node.
    """
    opdef, edges = node.opdef, [Edge(node.id, i) for i in range(len(outputs))]
    if opdef.kind is not Kind.COMPUTE or not outputs or any(e in specialized.variable_of for e in edges):
        return opdef.kind is not Kind.COMPUTE or not outputs and not opdef.writes
    if not foldable(opdef):
        return False
    if node.id not in specialized.shaping and any(not plain(d) for o in outputs for d in o.shape):
        return False  # the number of elements is not known, so a kernel computes them
    if node.id not in specialized.shaping and any(o.size > _MAX_FOLD for o in outputs):
        return False
    if all(o.size == 0 for o in outputs):
        arrays = [np.zeros(o.shape, o.dtype.np) for o in outputs]
    elif not _folds(specialized, node, outputs):
        return False
    else:
        arrays = _host_values(specialized, node, outputs)
    if not arrays:
        return False
    for e, array in zip(edges, arrays, strict=True):
        if e not in fed:
            specialized.values[e] = array
    return True


def _folds(specialized: Specialized, node: Node, outputs: tuple[TensorInfo, ...]) -> bool:
    """Returns whether the node may be computed here.

    Without folding it may if shapes need its value, or if all its values are integers or bools, which are exact.
    """
    if specialized.folds or node.id in specialized.shaping or node.opdef.shape_only:
        return True
    return not any(i.dtype.is_floating for i in (*specialized.inputs[node.id], *outputs))


def _host_values(specialized: Specialized, node: Node, outputs: tuple[TensorInfo, ...]) -> list[np.ndarray]:
    opdef = node.opdef
    if opdef.partial is not None:
        specs = tuple(_input_spec(specialized, e) for e in node.inputs)
        shape = opdef.partial(_context(specialized, node, specs, partial=True))
        if shape is not None and shape.is_fully_defined() and outputs[0].dtype.is_integer:
            return [size_array(shape.known(), outputs[0])]
    kernel = host_kernel(opdef)
    if opdef.shape_only:
        infos = (_input_info(specialized, e) for e in node.inputs)
        arrays = [np.broadcast_to(np.zeros((), i.dtype.np), i.shape) for i in infos]
    else:
        arrays = [specialized.values[e] for e in node.inputs if e in specialized.values]
        is_large = node.id not in specialized.shaping and any(v.size > _MAX_FOLD for v in arrays)
        if len(arrays) < len(node.inputs) or is_large:
            return []
    if kernel is None:
        return []
    if any(has_sizes(v) for v in arrays):
        values = symbolic_values(node, arrays, outputs)
        if values is not None:
            return values
        if node.id not in specialized.shaping:
            return []  # a kernel computes the value from the sizes, which it gets as arguments
        arrays = [as_numbers(v, i.dtype) for v, i in zip(arrays, specialized.inputs[node.id], strict=True)]
    specs = tuple(TensorSpec(o.dtype, Shape(o.shape)) for o in outputs)
    result = kernel(HostCall(node.attrs, node.types, specs, node), *arrays)
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(a, o.dtype.np) for a, o in zip(results, outputs, strict=True)]


def _check_served(node: Node, infos: tuple[TensorInfo, ...], facts: DeviceFacts) -> None:
    opdef = node.opdef
    recipes = (opdef.scalar, opdef.lower, opdef.reduce, opdef.opencl)
    if opdef.alias is None and all(r is None for r in recipes):
        raise UnimplementedError(f"no OpenCL kernel serves {opdef.name}")
    for info in infos:
        _check_dtype(opdef.name, info.dtype, facts)


def _check_dtype(name: str, dtype: DType, facts: DeviceFacts) -> None:
    if not dtype.cl:
        raise UnimplementedError(f"no OpenCL kernel serves {name} with {dtype.name}")
    if dtype.name == "float64" and not facts.fp64:
        raise UnimplementedError(f"{name} with float64: the device has no double precision")
