"""OpDef: everything the system knows of an operation, in one place (white paper, section 2).

Definition, type signature, shape function, gradient and kernels of an op stand together in one `OpDef`;
the catalogue (`tfnb.ops`) is an explicit list of them. Calling an `OpDef` adds a node to a graph.
Invariant: an OpDef is immutable, and what an op *does* is said by its fields, never by its name.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from tfnb.errors import InternalError
from tfnb.ir import default
from tfnb.ir.bounds import Bound
from tfnb.ir.kernelcall import A, KernelCall, KernelSite, Product, TensorInfo
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.types import DType, Shape

__all__ = [
    "LOCAL",
    "GRADIENT_MISSING",
    "NOT_DIFFERENTIABLE",
    "OURS",
    "Arg",
    "AsyncCall",
    "HostCall",
    "Infer",
    "Kind",
    "LowerSite",
    "NoAttrs",
    "OpDef",
    "ReduceSpec",
    "parse_signature",
    "ref_inputs",
]


# metadata of a field of an attrs class that lives in this process and stands in no GraphDef
LOCAL: Mapping[str, bool] = {"local": True}
# of one that TensorFlow's op does not have: where it is set it stands in a GraphDef behind a "_", as TensorFlow allows
OURS: Mapping[str, bool] = {"ours": True}


class Kind(enum.Enum):
    """What role a node plays for the runtime."""

    COMPUTE = "compute"
    CONST = "const"
    PLACEHOLDER = "placeholder"
    VARIABLE = "variable"
    NO_OP = "no_op"
    SWITCH = "switch"
    MERGE = "merge"
    ENTER = "enter"
    EXIT = "exit"
    NEXT_ITERATION = "next_iteration"
    LOOP_COND = "loop_cond"
    CONTROL_TRIGGER = "control_trigger"
    ASYNC = "async"
    SEND = "send"
    RECV = "recv"


class NotDifferentiable:
    """Says explicitly that an op has no gradient (`tf.NotDifferentiable`)."""

    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


class GradientMissing:
    """Says explicitly that an op has a derivative, which tfnb does not compute.

    Gradients that reach the op raise an error, where those of an op that is NOT_DIFFERENTIABLE end without one.
    """

    def __repr__(self) -> str:
        return "GRADIENT_MISSING"


NOT_DIFFERENTIABLE = NotDifferentiable()
GRADIENT_MISSING = GradientMissing()


@record
class NoAttrs:
    """The attributes of an op that has none."""


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument of a signature.

    `type` is a type variable ("T") or a dtype's name; `number` the length variable of "N*T" or None;
    `type_list` says that `type` names a list of dtypes ("[T]"); `ref` that mutable state is wanted.
    """

    name: str
    type: str
    number: str | None = None
    type_list: bool = False
    ref: bool = False


def parse_signature(text: str) -> tuple[Arg, ...]:
    """The arguments of a signature such as `"a: T, b: T"`, `"values: N*T, axis: int32"`,
    `"ref: Ref(T)"`, `"refs: N*Ref(T)"`, `"data: [U]"`. An empty text has none."""
    args = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, kind = (p.strip() for p in part.partition(":"))
        if not kind:
            raise InternalError(f"signature {text!r}: {part!r} has no type")
        number, star, base = kind.partition("*")
        kind, number_var = (base.strip(), number.strip()) if star else (kind, None)
        ref = kind.startswith("Ref(")
        kind = kind.removeprefix("Ref(").removesuffix(")") if ref else kind
        listed = kind.startswith("[")
        args.append(Arg(name, kind.strip("[]"), number_var, listed, ref))
    return tuple(args)


@dataclass(frozen=True, slots=True)
class Infer(Generic[A]):
    """What a shape function may look at.

    `shapes[i]` is the static shape of flat input i; `value(i)` its NumPy value if known at construction,
    else None; `as_shape(i)` the integer vector of input i read as a shape, with unknown dimensions.
    """

    op_name: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]
    attrs: A
    types: Mapping[str, Any]
    value: Callable[[int], Any]
    as_shape: Callable[[int], Shape]


@dataclass(frozen=True, slots=True)
class HostCall(Generic[A]):
    """What a host kernel may look at beside its input arrays.

    `outputs` are the (dtype, static shape) pairs of the outputs; `rng` returns four uint32 words
    (key0, key1, call number, 0) of a random node and counts the call; `op` is the node, for messages and
    resources; `tools` (a `runtime.value_tools.ValueTools`) is for `raw` kernels. `inputs` of the kernel are NumPy
    arrays (strings: object arrays), not to be changed.
    """

    attrs: A
    types: Mapping[str, Any]
    outputs: tuple[Any, ...]
    op: Any
    rng: Callable[[], Any] | None = None
    resources: Any = None
    tools: Any = None


@dataclass(frozen=True, slots=True)
class AsyncCall:
    """What the kernel of an asynchronous op may look at and must call.

    `host` is what host kernels get. The kernel calls `done(outputs)` or `fail(error)` once, from any thread, at once
    or later; `on_cancel(callback)` calls `callback(error)` when the step is stopped, and returns what withdraws it.
    """

    host: HostCall
    done: Callable[[Sequence[Any]], None]
    fail: Callable[[BaseException], None]
    on_cancel: Callable[[Callable[[BaseException], None]], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class LowerSite(Generic[A]):
    """What a `lower` or `reduce` recipe may look at: concrete shapes, attrs, known values.

    `load(i, idx)` is the element of input i at the index tuple (int32 expressions or ints);
    `value(i)` the NumPy value of shape input i; `rng(word)` the runtime state of a random node.
    """

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    attrs: A
    types: Mapping[str, Any]
    value: Callable[[int], Any]
    load: Callable[[int, Sequence[Any]], Expr]
    rng: Callable[[int], Expr]


@dataclass(frozen=True, slots=True)
class ReduceSpec:
    """A reduction of input 0 over `axes` (non-negative, sorted).

    `combine` is sum, prod, max, min, any, all, argmax or argmin (ties: the first index; NaN wins in max/min
    as in TensorFlow). `map` is applied to each element first, `finish` to the result; both are expressions.
    """

    combine: str
    axes: tuple[int, ...]
    keepdims: bool = False
    map: Callable[[Expr], Expr] | None = None
    finish: Callable[[Expr], Expr] | None = None


GradFn = Callable[..., Any]


@dataclass(frozen=True, eq=False, repr=False)
class OpDef:
    """The definition of an operation.

    name, inputs, outputs, doc   identity, signature (see `parse_signature`), docstring
    types        type variable -> allowed dtypes, e.g. {"T": FLOATS}
    attrs        a frozen dataclass of the other attributes, with TensorFlow's names and defaults
    infer        shape function: Infer -> Shape, or a tuple of one per output
    grad         (op, *dys) -> gradient per input (Tensor or None; a tuple when there are several inputs),
                 or NOT_DIFFERENTIABLE, or GRADIENT_MISSING
    host         (HostCall, *arrays) -> array or tuple; the NumPy reference. Elementwise ops get theirs from `scalar`

    One of the following says how OpenCL computes it; none means the op runs on the host only:
    scalar       (attrs, *Expr) -> Expr or a tuple: elementwise with NumPy broadcasting
    lower        (LowerSite, index tuple, output number) -> Expr: an element as a function of its index
    reduce       (LowerSite) -> ReduceSpec
    opencl       (KernelSite) -> tuple[KernelCall, ...]: library kernels of `kernels_cl`
    expand       (op, *inputs) -> Tensor or tuple: a composition of other ops, written as a user would. Beside `alias`,
                 `opencl` or `lower` it rewrites only what those do not take, and gives None for the rest; alone,
                 None (where only a run knows the shapes) leaves the node to the host
    alias        the output is the memory of this input, with another shape (reshape, identity)

    shape_inputs inputs whose *value* fixes shapes or the program; known when a cluster is specialised
    writes       ref inputs that the op updates in place. For `scalar` ops, output k of the expression is the
                 new value of ref input writes[k]; the op's output is the first written ref
    takes_rows   it gives the rows of input 0 whose numbers are in input 1, along axis 0 or the one in input 2
    stateful     never folded or merged with an equal node (random, variables, printing)
    kind         its role for the runtime
    dynamic      output shapes depend on data, so it stays out of clusters
    epilogue     its `opencl` recipe honours KernelSite.epilogue
    product      KernelSite -> the `Product` it is, if generated code may compute it beside what follows, else None
    raw          its host kernel takes and gives runtime values as they are (arrays, or tensors that stay on their
                 device): for ops that keep values or pass them on; `HostCall.tools` works on them
    start        (AsyncCall, *arrays) -> None or a function that says what it waits for: the kernel of an op of kind
                 ASYNC, which may finish later and holds no thread until then
    blocking     its host kernel may take long or wait (a Python function, a file): it gets a thread of its own when
                 something else of the step could go on meanwhile
    bounds       (Infer) -> the bounds of integer inputs, once all shapes are known: indices, labels, starts, lengths.
                 Numbers that the host holds are checked before the op runs on a device
    api          the public names ("nn.relu relu"), for ops whose call needs no wrapper
    partial      (Infer) -> Shape or None: the output, an integer vector, read as a partly known shape
    body         the function (ir.function) that a node of this op calls; the compiler puts its graph in place
    defaults     for graphs from files: the dtype of a type variable that no input determines and that may be left
                 out ({"out_type": int32}), and the one value served of a standard attribute that `attrs` lacks
                 (None: any, for it says nothing about the result)
    """

    name: str
    inputs: str = ""
    outputs: str = ""
    doc: str = ""
    types: Mapping[str, tuple[DType, ...]] = field(default_factory=dict)
    attrs: type = NoAttrs
    infer: Callable[[Infer], Any] | None = None
    grad: GradFn | NotDifferentiable | GradientMissing | None = None
    host: Callable[..., Any] | None = None
    scalar: Callable[..., Any] | None = None
    lower: Callable[[LowerSite, tuple[Expr, ...], int], Expr] | None = None
    reduce: Callable[[LowerSite], ReduceSpec] | None = None
    opencl: Callable[[KernelSite], tuple[KernelCall, ...]] | None = None
    expand: Callable[..., Any] | None = None
    alias: int | None = None
    shape_inputs: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    stateful: bool = False
    kind: Kind = Kind.COMPUTE
    dynamic: bool = False
    epilogue: bool = False
    product: Callable[[KernelSite], Product | None] | None = None
    api: str = ""
    partial: Callable[[Infer], Shape | None] | None = None
    shape_only: bool = False
    takes_rows: bool = False
    raw: bool = False
    body: Any = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    start: Callable[..., Any] | None = None
    blocking: bool = False
    bounds: Callable[[Infer], Sequence[Bound]] | None = None
    input_args: tuple[Arg, ...] = field(init=False)
    output_args: tuple[Arg, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_args", parse_signature(self.inputs))
        object.__setattr__(self, "output_args", parse_signature(self.outputs))

    @property
    def on_device(self) -> bool:
        """Can an OpenCL device compute it, itself or in parts?"""
        return self.expand is not None or self.has_kernel

    @property
    def has_kernel(self) -> bool:
        """Can an OpenCL device compute it as it is?"""
        parts = (self.scalar, self.lower, self.reduce, self.opencl, self.alias)
        return any(p is not None for p in parts)

    def __call__(self, *inputs: object, name: str | None = None, graph: object = None, **attrs: object) -> Any:
        """Add a node: returns its output Tensor, a list of them, or the Operation when there is none.

        Inputs that are not tensors become constants of the type the signature asks for. The graph is that of
        the first tensor among the inputs, else `graph`, else the default graph. `attrs` are attributes
        and those type variables that no input determines.
        """
        target: Any = default.graph_of(inputs) if graph is None else graph
        return target.apply(self, inputs, attrs, name)

    def __repr__(self) -> str:
        return f"<OpDef {self.name}({self.inputs}) -> ({self.outputs})>"


def ref_inputs(opdef: OpDef, types: Mapping[str, Any]) -> frozenset[int]:
    """Which inputs of a node the op takes as references."""
    found: list[int] = []
    place = 0
    for a in opdef.input_args:
        n = len(types[a.type]) if a.type_list else types[a.number] if a.number else 1
        if a.ref:
            found.extend(range(place, place + n))
        place += n
    return frozenset(found)
