"""Tensor: the symbolic handle `name:port` of one output of an operation (white paper, section 2).

A handle belongs to a graph under construction: the user's builder, or the edit of a compiler pass. It has a dtype and a
static shape, never a value. Invariant: two handles of one output compare equal and hash alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, SlicedAssignmentError
from tfnb.ir.record import Attrs
from tfnb.ir.scopes import NameScope, Scopes
from tfnb.types import DType, Shape, TensorSpec, as_shape
from tfnb.upcalls import upcall

__all__ = [
    "GraphLike",
    "Runner",
    "SupportsTensor",
    "Tensor",
    "TensorLike",
    "array_of_tensors",
    "is_tensor_like",
]

_RUN_IT = "use value = session.run(tensor)"


class GraphLike(Protocol):
    """A graph to which nodes are added, `ir.builder.GraphBuilder`, as functions that get it from a tensor use it.

    The edit of a compiler pass has of it what gradients and compositions of ops need: all that makes a node.
    """

    client_state: dict[str, Any]
    seed: int | None
    scopes: Scopes

    @property
    def captures(self) -> bool: ...
    @property
    def version(self) -> int: ...
    @property
    def finalized(self) -> bool: ...

    # nodes
    def to_tensor(
        self, value: object, dtype: DType | None = None, ref: bool = False, name: str | None = None
    ) -> Tensor: ...
    def constant(self, array: np.ndarray, name: str = "Const", dtype: DType | None = None) -> Tensor: ...
    def add_node(
        self, opdef: Any, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> Any: ...
    def apply(self, opdef: Any, values: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any: ...
    def reserve(self, name: str, *parts: str) -> list[str]: ...
    def unique_name(self, name: str, mark_as_used: bool = True) -> str: ...
    def next_seed(self) -> int: ...

    # what is there
    def get_operations(self) -> list[Any]: ...
    def get_operation_by_name(self, name: str) -> Any: ...
    def get_tensor_by_name(self, name: str) -> Tensor: ...
    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any: ...
    def consumers(self, tensor: Tensor) -> list[Any]: ...
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any: ...
    def prevent_feeding(self, tensor: Tensor) -> None: ...
    def prevent_fetching(self, op: Any) -> None: ...

    # collections
    @property
    def collections(self) -> list[str]: ...
    def add_to_collection(self, name: str, value: object) -> None: ...
    def add_to_collections(self, names: Iterable[str] | str, value: object) -> None: ...
    def get_collection(self, name: str, scope: str | None = None) -> list[Any]: ...
    def get_collection_ref(self, name: str) -> list[Any]: ...
    def get_all_collection_keys(self) -> list[str]: ...
    def clear_collection(self, name: str) -> None: ...

    # blocks
    def as_default(self) -> AbstractContextManager[Any]: ...
    def name_scope(self, name: str | None) -> NameScope: ...
    def get_name_scope(self) -> str: ...
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]: ...
    def device(self, spec: object) -> AbstractContextManager[None]: ...
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]: ...
    def colocate_with_name(self, name: str) -> AbstractContextManager[None]: ...
    def gradient_override_map(self, op_type_map: dict[str, str]) -> AbstractContextManager[None]: ...
    def container(self, name: str) -> AbstractContextManager[None]: ...
    def finalize(self) -> None: ...


class TensorSource(Protocol):
    """A producer of tensors: an Operation, or a node of a pass's edit."""

    specs: list[TensorSpec]

    def set_spec(self, index: int, spec: TensorSpec, /) -> None:
        """Replaces the dtype and static shape of an output."""


class Runner(Protocol):
    """An object that computes tensors and runs operations, such as a session."""

    def run(self, fetches: object, /) -> Any:
        """Returns the values of `fetches`."""


class Tensor:
    """One output of an operation.

    `op` is the producing Operation (or Node of a pass's edit), `index` its output number.
    """

    # Programs set attributes of their own on tensors, and refer to tensors weakly.
    __slots__ = ("__dict__", "__weakref__", "graph", "index", "op")
    graph: GraphLike
    __array_priority__ = 100  # so that NumPy leaves `array + tensor` to the operators of this class
    OVERLOADABLE_OPERATORS: frozenset[str]  # the names of the operators, which a class that stands for a tensor copies

    def __init__(self, graph: Any, op: TensorSource, index: int) -> None:
        self.graph = graph
        self.op: Any = op
        self.index = index

    def __getattr__(self, name: str) -> Any:
        if name == "assign":
            if self.op.type == "StridedSlice":
                raise SlicedAssignmentError(f"Sliced assignment is only supported for variables; {self.name} is none")
            raise SlicedAssignmentError(
                f"the tensor {self.name} cannot be assigned to; a variable can: session.run(variable.assign(value))"
            )
        missing = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name == "numpy":
            raise AttributeError(f"{missing}: {self.name} has no value before a session runs it; {_RUN_IT}")
        raise AttributeError(missing)

    def __float__(self) -> float:
        raise DTypeError(f"float() of the tensor {self.name}, which has no value before a session runs it; {_RUN_IT}")

    def __int__(self) -> int:
        raise DTypeError(f"int() of the tensor {self.name}, which has no value before a session runs it; {_RUN_IT}")

    @property
    def _op(self) -> Any:
        """The operation, by the name in TensorFlow's source that some programs use."""
        return self.op

    @property
    def spec(self) -> TensorSpec:
        """The dtype, the static shape, and whether the tensor is a reference to a variable."""
        return self.op.specs[self.index]

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.op.specs[self.index].dtype

    @property
    def shape(self) -> Shape:
        """The static shape; dimensions that only a run can tell are None."""
        return self.op.specs[self.index].shape

    @property
    def name(self) -> str:
        """The name "operation:output"."""
        return f"{self.op.name}:{self.index}"

    @property
    def device(self) -> str:
        """The device of its operation; "" if none is asked for."""
        return str(self.op.device)

    @property
    def value_index(self) -> int:
        """The number of the output (a name of TensorFlow for `index`)."""
        return self.index

    def get_shape(self) -> Shape:
        """Returns the static shape; dimensions that only a run can tell are None."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Merges `shape` into the static shape. Raises `ShapeError` if the two contradict each other."""
        spec = self.spec
        self.op.set_spec(self.index, TensorSpec(spec.dtype, spec.shape.merge_with(as_shape(shape)), spec.ref))

    @property
    def _shape(self) -> Shape:
        """The static shape, by the name under which some programs replace it, also by a less exact one."""
        return self.spec.shape

    @_shape.setter
    def _shape(self, shape: object) -> None:
        spec = self.spec
        self.op.set_spec(self.index, TensorSpec(spec.dtype, as_shape(shape), spec.ref))

    def consumers(self) -> list[Any]:
        """Returns the operations that read the tensor."""
        return self.graph.consumers(self)

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Runner | None = None) -> Any:
        """Returns the value, computed by `session` or the default session."""
        return upcall("eval", self, feed_dict, session)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Tensor):
            return self.op is other.op and self.index == other.index
        return NotImplemented

    def __hash__(self) -> int:
        return id(self.op) + self.index

    def __nonzero__(self) -> bool:
        return self.__bool__()

    def __bool__(self) -> bool:
        raise DTypeError(
            f"the tensor {self.name} has no truth value while the graph is built; "
            "use tf.cond, tf.where or `is not None`",
            self.op,
        )

    def __iter__(self) -> Iterator[Tensor]:
        n = self.shape.sizes[0] if self.shape.sizes else None
        if n is None:
            raise DTypeError(
                f"'Tensor' object is not iterable: {self.name} has shape {self.shape}, its first dimension is unknown; "
                "`Tensor` objects are not iterable before they have a value",
                self.op,
            )
        return (self[i] for i in range(n))

    def __len__(self) -> int:
        raise DTypeError(f"len() of the tensor {self.name} is not known before it runs; use tf.shape", self.op)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise InvalidArgumentError(
            f"the tensor {self.name} has no value outside a session; use session.run(tensor)", self.op
        )

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __getitem__(self, key: object) -> Tensor:
        return upcall("getitem", self, key)

    if TYPE_CHECKING:
        # The loop below this class makes these operators. The declarations here are for type checkers.
        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __xor__(self, other: TensorLike) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: TensorLike) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...


class SupportsTensor(Protocol):
    """An object that can be used as a tensor: a variable, or indexed slices."""

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor: ...


# An input of an op: a tensor, an object that can be used as one, or a value that becomes a constant.
TensorLike: TypeAlias = (
    Tensor | SupportsTensor | np.ndarray | np.generic | complex | str | bytes | Sequence[Any] | Shape
)


def _operator(name: str, swap: bool = False) -> Callable[..., Any]:
    def forward(self: Tensor, other: TensorLike) -> Tensor:
        try:
            return upcall(name, self, other)
        except TypeError:
            is_of_user = type(other).__module__ not in ("builtins", "numpy") and not isinstance(other, Tensor)
            if is_of_user and hasattr(type(other), f"__r{name}__"):
                return NotImplemented  # the other object's class may know what to do with a tensor
            raise

    def backward(self: Tensor, other: TensorLike) -> Tensor:
        return upcall(name, other, self)

    return backward if swap else forward


def _unary_operator(name: str) -> Callable[[Tensor], Tensor]:
    return lambda self: upcall(name, self)


_SWAPPED = ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge")
_UNARY = ("neg", "abs", "invert")
for _name in _SWAPPED:  # Python 3 never calls __div__; classes that stand for tensors copy all operators
    setattr(Tensor, f"__{_name}__", _operator(_name))
    setattr(Tensor, f"__r{_name}__", _operator(_name, swap=True))
for _name in _COMPARISONS:
    setattr(Tensor, f"__{_name}__", _operator(_name))
for _name in _UNARY:
    setattr(Tensor, f"__{_name}__", _unary_operator(_name))
Tensor.OVERLOADABLE_OPERATORS = frozenset(
    {f"__{n}__" for n in (*_SWAPPED, *(f"r{n}" for n in _SWAPPED), *_COMPARISONS, *_UNARY, "eq", "ne", "getitem")}
)


def is_tensor_like(x: object) -> bool:
    """Returns whether `x` is a tensor, or can be used as one, like a variable or indexed slices."""
    return isinstance(x, Tensor) or hasattr(x, "__tensor__")


def array_of_tensors(values: object) -> np.ndarray | None:
    """Returns an array of objects with the form of nested lists of tensors, or None unless that is what `values` is."""
    sizes = _sizes_of_lists(values)
    if not sizes:
        return None
    result = np.empty(sizes, object)
    for index in np.ndindex(sizes):
        part: Any = values
        for i in index:
            part = part[i]
        result[index] = part
    return result


def _sizes_of_lists(values: object) -> tuple[int, ...] | None:
    """Returns the lengths of nested lists of tensors, () of a tensor, None if lengths differ or a part is no tensor."""
    if not isinstance(values, (list, tuple)):
        return () if is_tensor_like(values) else None
    parts = {_sizes_of_lists(part) for part in values}
    sizes = parts.pop() if len(parts) == 1 else None
    return None if sizes is None else (len(values), *sizes)
