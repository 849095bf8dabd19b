"""Variables: mutable state in the graph (white paper, section 2; OSDI'16, section 3.1).

A variable is three nodes: the `VariableV2` that owns the buffer and returns a reference to it, the Assign that
initialises it, and an Identity that reads it. Invariant: the value of a variable lives in a session, never here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tfnb.client.argument_types import DeviceLike
from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.control_context import root_variable
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.nest import flatten
from tfnb.client.variables.creators import CreatedThroughScopes
from tfnb.client.variables.initial_values import guarded
from tfnb.client.variables.reads import implicit_read, read_here
from tfnb.client.variables.replication import VariableAggregation, VariableSynchronization, is_trainable
from tfnb.client.variables.save_slices import SaveSliceInfo, Sliced
from tfnb.client.variables.variable_reference import VariableReference
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.graphdef.message_types import VariableDef
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import CONTEXT
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Runner, Tensor, TensorLike
from tfnb.ops.array.gather import gather
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.strided_slice import IndexKey
from tfnb.ops.array.where_partition import boolean_mask
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.math.compare import LOGICAL_NOT
from tfnb.ops.state.slice_assign import variable_slice
from tfnb.ops.state.variables import (
    ASSIGN,
    IS_VARIABLE_INITIALIZED,
    VARIABLE_V2,
)
from tfnb.types import DType, DTypeLike, ShapeLike, as_dtype, as_shape, unknown_shape
from tfnb.upcalls import upcall

__all__ = ["API", "Variable"]


class Variable(VariableReference, Sliced, metaclass=CreatedThroughScopes):
    """State that survives from step to step of a session.

    `initial_value` is a tensor, a Python or NumPy value, or a callable that returns one. `trainable` adds the variable
    to the trainable variables; `collections` are the names of its collections (by default GLOBAL_VARIABLES).
    `validate_shape=False` allows an initial value of unknown shape; `expected_shape` is checked, and `shape`, which may
    be less definite than the initial value's, becomes the variable's. `trainable` is True by default, and False with
    `VariableSynchronization.ON_READ`. `caching_device` is a device to which the value is read once in a step, for
    the tensors that use it. `variable_def`, alone, names the nodes of a variable that is in the graph already.
    Raises `InvalidArgumentError` without an initial value, and `ShapeError` when its shape is not known.
    """

    SaveSliceInfo = SaveSliceInfo
    _of_resource = False  # whether `repr` names the dtype of a resource variable, or that of a reference

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], Any] | None = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: VariableDef | None = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise InvalidArgumentError("tf.Variable: give variable_def or an initial value")
            self._from_def(variable_def, f"{import_scope}/" if import_scope else "")
            return
        if initial_value is None:
            raise InvalidArgumentError("tf.Variable needs an initial value")
        trainable = is_trainable(trainable, synchronization, aggregation)
        graph = _graph_for(initial_value)
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self._graph = graph
        self._of_resource = bool(use_resource)
        self.trainable = trainable
        if constraint is not None and not callable(constraint):
            raise InvalidArgumentError(f"The `constraint` argument must be a callable, got {constraint!r}")
        self.constraint = constraint
        self.save_slice_info: Any = None  # set for a part of a partitioned variable, and for a slot of a part
        requested_dtype = None if dtype is None else as_dtype(dtype)
        with graph.as_default(), graph.control_dependencies(None):
            with graph.name_scope(name or "Variable") as scope:
                value: Any = initial_value
                if callable(value):
                    with graph.name_scope("Initializer"), graph.device(None), graph.colocate_with_name(scope[:-1]):
                        value = value()
                self._initial = _initial_tensor(graph, value, requested_dtype)
                if not callable(initial_value):
                    _check_outside(self._initial, scope[:-1])
                static = self._initial.shape if validate_shape else unknown_shape
                if validate_shape and use_resource:  # such a variable takes any shape that fits
                    validate_shape = static.is_fully_defined()
                elif validate_shape:
                    _check_known(self._initial, scope[:-1])
                if expected_shape is not None:
                    static = static.merge_with(as_shape(expected_shape))
                if shape is not None:
                    static.merge_with(as_shape(shape))
                    static = as_shape(shape)
                self._cell = VARIABLE_V2(shape=static, dtype=self._initial.dtype, name=scope, graph=graph)
            with graph.name_scope(scope), graph.colocate_with(self._cell.op):
                first = guarded(self._initial, self._cell.op.name)
                self._initializer: Operation = ASSIGN(
                    self._cell, first, validate_shape=validate_shape, name="Assign"
                ).op
                if caching_device is None:
                    self._snapshot: Tensor = self._first_read(IDENTITY(self._cell, name="read"))
            if caching_device is not None:
                no_colocation = graph.colocate_with(None, ignore_existing=True)
                with graph.name_scope(scope), no_colocation, graph.device(None), graph.device(caching_device):
                    self._snapshot = self._first_read(IDENTITY(self._cell, name="read"))
        graph.add_to_collections(keys, self)

    # messages

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the VariableDef message: the names of the variable's nodes, without the prefix `export_scope`."""
        scope = f"{export_scope}/" if export_scope else ""
        info = self.save_slice_info
        return proto("variable").VariableDef(
            save_slice_info_def=info and info.to_proto(export_scope),
            variable_name=self._cell.name.removeprefix(scope),
            initial_value_name=self._initial.name.removeprefix(scope),
            initializer_name=self._initializer.name.removeprefix(scope),
            snapshot_name=self._snapshot.name.removeprefix(scope),
            trainable=self.trainable,
        )

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """Returns the variable whose nodes, in the default graph below `import_scope`, a VariableDef message names."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def _from_def(self, message: VariableDef, scope: str) -> None:
        """Raises `NotFoundError` for a node that is not in the graph, and `DTypeError` for one that is not a
        variable.
        """
        graph = get_default_graph()
        self._graph, self.constraint, self.save_slice_info = graph, None, None
        if message.HasField("save_slice_info_def"):
            part, import_scope = message.save_slice_info_def, scope.rstrip("/") or None
            self.save_slice_info = SaveSliceInfo(save_slice_info_def=part, import_scope=import_scope)
        self._cell = graph.get_tensor_by_name(scope + message.variable_name)
        if not self._cell.spec.ref:
            raise DTypeError(f"{self._cell.name} is not a variable", self._cell.op)
        self._initializer = graph.get_operation_by_name(scope + message.initializer_name)
        initial = message.initial_value_name
        self._initial = graph.get_tensor_by_name(scope + initial) if initial else self._initializer.inputs[-1]
        self._snapshot = self._first_read(graph.get_tensor_by_name(scope + message.snapshot_name))
        trainable = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        self.trainable = message.trainable or any(v._cell == self._cell for v in trainable)

    @property
    def graph(self) -> Any:
        """The graph that holds the variable."""
        return self._graph

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds to what is known of the static shape. Raises `ShapeError` for a shape that does not fit."""
        self._cell.set_shape(shape)
        self._snapshot.set_shape(shape)

    # values

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
        if dtype is not None and dtype is not self.dtype:
            raise DTypeError(f"{self.name} is {self.dtype.name}, needed {dtype.name}; use tf.cast", self.op)
        return self._ref() if as_ref else self.value()

    def _first_read(self, snapshot: Tensor) -> Tensor:
        """Declares that `snapshot`, which is read outside of all contexts, is the value of the variable."""
        reference, name = self._cell, self._cell.op.name

        def again() -> Tensor:
            with reference.graph.colocate_with(reference.op):
                read: Tensor = IDENTITY(reference, name=f"{name}/read")
            return read

        return implicit_read(snapshot, frozenset([root_variable(reference)]), again)

    def value(self) -> Tensor:
        """Returns the variable's value at the place of this call, after the control dependencies in force.

        In the body of a loop that changes the variable, the value is read in each iteration.
        """
        return read_here(self._snapshot)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the rows of the variable at `indices`, as `tf.gather`."""
        rows: Tensor = gather(self._cell, indices, name=name)
        return rows

    def read_value(self) -> Tensor:
        """Returns a new read of the variable, which comes after the control dependencies in force."""
        return IDENTITY(self._cell, name="read_value")

    def initialized_value(self) -> Tensor:
        """Returns the value, or the initial value while there is none: for the initial values of other variables."""
        with self._graph.control_dependencies(None):
            return cond(
                IS_VARIABLE_INITIALIZED(self._cell),
                lambda: IDENTITY(self._cell, name="read_value"),
                lambda: self._initializer.inputs[-1],
                name="initialized_value",
            )

    @property
    def initial_value(self) -> Tensor:
        """The tensor with which the variable is initialised."""
        return self._initial

    @property
    def initializer(self) -> Operation:
        """The operation that initialises the variable."""
        return self._initializer

    @property
    def create(self) -> Operation:
        """The operation that initialises the variable, by the name that resource variables have for it."""
        return self._initializer

    def begin_with(self, value: Tensor) -> None:
        """Makes `value`, a tensor of the variable's dtype and shape, the initial value from now on."""
        with self._graph.colocate_with(self._cell.op):
            self._initializer = ASSIGN(self._cell, value).op
        self._initial = value

    def eval(self, session: Runner | None = None) -> Any:
        """Returns the value in `session` or in the default session, as a NumPy array."""
        return self._snapshot.eval(session=session)

    def load(self, value: TensorLike, session: object = None) -> None:
        """Sets the variable to `value` in `session` or in the default session, without adding a node to the graph."""
        upcall("run", self._initializer, {self._initializer.inputs[-1]: np.asarray(value)}, session)

    # operators

    def __getitem__(self, key: IndexKey) -> Tensor:
        return variable_slice(self.value(), self._cell, key)

    def __iter__(self) -> Any:
        raise DTypeError(f"the variable {self.name} is not iterable", self.op)

    def __repr__(self) -> str:
        reference = "" if self._of_resource else "_ref"
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}{reference}>"


def _graph_for(initial_value: object) -> Any:
    return getattr(initial_value, "graph", None) or get_default_graph()


def _check_outside(initial: Tensor, name: str) -> None:
    """Raises `InvalidArgumentError` where the initial value of the variable `name` is of a loop or conditional."""
    if CONTEXT in initial.op.extra:
        raise InvalidArgumentError(
            f"Initializer for variable {name!r} is from inside a control-flow construct, such as a "
            "loop or conditional; when creating a variable there, use a lambda as the initializer",
            initial.op,
        )


def _check_known(initial: Tensor, name: str) -> None:
    """Raises `ShapeError` where the shape of the initial value of the variable `name` is not fully known."""
    if not initial.shape.is_fully_defined():
        raise ShapeError(
            f"the initial value of the variable {name!r} must have a fully known shape, got "
            f"{initial.shape}; pass validate_shape=False if that is meant",
            initial.op,
        )


def _initial_tensor(graph: GraphBuilder, value: Tensor, dtype: DType | None) -> Tensor:
    if isinstance(value, Tensor) or hasattr(value, "__tensor__"):
        initial: Tensor = graph.to_tensor(value)
        if dtype is not None and initial.dtype is not dtype:
            raise DTypeError(
                f"The dtypes of initial value and variable don't match: {initial.dtype.name} and {dtype.name}",
                initial.op,
            )
        return initial
    with graph.name_scope("initial_value"):
        return graph.to_tensor(value, dtype)


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    def forward(self: Variable, other: TensorLike) -> Any:
        return upcall(name, self, other)

    def backward(self: Variable, other: TensorLike) -> Any:
        return upcall(name, other, self)

    return backward if swap else forward


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
):
    setattr(Variable, f"__{_name}__", _operator(_name))
    setattr(Variable, f"__r{_name}__", _operator(_name, swap=True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Variable, f"__{_name}__", _operator(_name))
for _name in ("neg", "abs", "invert"):
    setattr(Variable, f"__{_name}__", lambda self, _name=_name: upcall(_name, self))
Variable.__array_priority__ = 100  # type: ignore[attr-defined]


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that all steps and tasks share (the collection GLOBAL_VARIABLES).

    `scope` is a regular expression with which the names must begin.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of this process alone, such as counters of metrics (the collection LOCAL_VARIABLES)."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of models that layers create (the collection MODEL_VARIABLES)."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that an optimizer changes by default (the collection TRAINABLE_VARIABLES)."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of which moving averages are kept (the collection MOVING_AVERAGE_VARIABLES)."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[Any], name: str = "init") -> Operation:
    """Returns an operation that runs the initialisers of the variables in `var_list`."""
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Returns an operation that initialises all global variables created so far."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Returns an operation that initialises all local variables created so far."""
    return variables_initializer(local_variables())


def initialize_all_variables() -> Operation:
    """Returns an operation that initialises all global and all local variables created so far.

    TensorFlow 0.x programs had this one initialiser for both kinds.
    """
    return variables_initializer(list(dict.fromkeys([*global_variables(), *local_variables()])))


def group(*inputs: object, name: str | None = None) -> Operation:
    """Returns an operation that is done when all `inputs` (tensors, operations, variables, nested lists) are."""
    flat = [x.op if isinstance(x, IndexedSlices) else x for x in flatten(inputs)]
    graph = graph_of(flat)
    on_device: dict[str, list[Any]] = {}
    for x in flat:
        on_device.setdefault(getattr(x, "device", None) or "", []).append(x)
    with graph.as_default():
        if len(on_device) < 2:
            return _all_done(next(iter(on_device), ""), flat, name or "group_deps")
        with graph.name_scope(name or "group_deps") as scope:
            each = [_all_done(device, on_device[device], None) for device in sorted(on_device)]
            return _all_done("", each, scope)


def _all_done(device: str, operations: Sequence[Any], name: str | None) -> Operation:
    """Returns an operation on `device`, or on that of the place in the program, which runs after `operations`."""
    graph = get_default_graph()
    with graph.control_dependencies(operations), graph.device(device) if device else nullcontext():
        return NO_OP(name=name)


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Any] | None = None) -> list[Any]:
    """Returns the tensors, none of which is available before all of them and `control_inputs` are computed."""
    given_tensors = [t for t in tensors if t is not None]
    graph = given_tensors[0].graph
    with graph.as_default(), graph.name_scope(name or "tuple"):
        gate = group(*given_tensors, *(control_inputs or ()))
        with graph.control_dependencies([gate]):
            return [_passed(t) for t in tensors]


def _passed(t: Tensor) -> Any:
    """Returns the same value after the control dependencies in force; None stays None."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(IDENTITY(t.values), t.indices, t.dense_shape)
    return None if t is None else IDENTITY(t)


def report_uninitialized_variables(
    var_list: Iterable[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Returns a string vector: the names of those variables in `var_list` that have no value.

    `var_list` is by default all global and local variables.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    graph = get_default_graph()
    with graph.name_scope(name):
        if not variables:
            return graph.constant(np.empty((0,), object))
        uninitialized = [LOGICAL_NOT(IS_VARIABLE_INITIALIZED(v)) for v in variables]
        names = graph.constant(np.array([v.op.name.encode() for v in variables], object))
        return boolean_mask(names, graph.to_tensor(uninitialized))


def assert_variables_initialized(var_list: Iterable[Any] | None = None) -> Tensor | None:
    """Returns the ranks of all variables, an int32 vector, whose computation reads them.

    A step that needs it, or its `op`, raises `FailedPreconditionError` if a variable has no value. `var_list` is by
    default all global and local variables; without any the result is None.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    if not variables:
        return None
    with variables[0].graph.control_dependencies([v.value().op for v in variables]):
        return PACK([np.int32(v.shape.ndims or 0) for v in variables])


API = {
    "Variable": Variable,
    "global_variables": global_variables,
    "all_variables": global_variables,
    "local_variables": local_variables,
    "model_variables": model_variables,
    "trainable_variables": trainable_variables,
    "moving_average_variables": moving_average_variables,
    "variables_initializer": variables_initializer,
    "initialize_variables": variables_initializer,
    "global_variables_initializer": global_variables_initializer,
    "initialize_all_variables": initialize_all_variables,
    "local_variables_initializer": local_variables_initializer,
    "initialize_local_variables": local_variables_initializer,
    "group": group,
    "tuple": tuple_,
    "report_uninitialized_variables": report_uninitialized_variables,
    "assert_variables_initialized": assert_variables_initialized,
    "GraphKeys": GraphKeys,
}
