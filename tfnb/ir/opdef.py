"""OpDef: everything that the system knows about an op, in one place (white paper, section 2).

Definition, type signature, shape function, gradient and kernels of an op are fields of one `OpDef`; the catalogue
(`tfnb.ops`) is an explicit list of them. Calling an `OpDef` adds a node to a graph. Invariant: an OpDef is immutable,
and the behaviour of an op follows from its fields, never from its name.
"""

from __future__ import annotations

import enum
import itertools
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from tfnb.caches import remembered
from tfnb.errors import InternalError
from tfnb.ir import default
from tfnb.ir.bounds import Bound
from tfnb.ir.kernelcall import A, KernelCall, KernelSite, Product, TensorInfo
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.types import ANY, DType, Shape

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Any, covariant=True)
else:
    from typing import TypeVar

    R = TypeVar("R", covariant=True)
"""What a call of an op returns: `RELU: OpDef[Tensor]`. Where any op may stand, `OpDef` says no more."""

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
    "pack_outputs",
    "parse_signature",
    "ref_inputs",
]


# The metadata of a field of an attrs class that is never written to a GraphDef: an object of this process.
LOCAL: Mapping[str, bool] = {"local": True}
# The metadata of a field that TensorFlow's op does not have. If the field is set, a GraphDef has it under a name that
# begins with "_", as TensorFlow allows.
OURS: Mapping[str, bool] = {"ours": True}
# The metadata of a field that TensorFlow 1.15's op does not have, but that of 2.x: a GraphDef has it if it is set.
LATER: Mapping[str, bool] = {"later": True}


_DTYPES = {d.name: d for d in ANY}


class Kind(enum.Enum):
    """The role of a node for the runtime."""

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
    """The explicit statement that an op has no gradient (`tf.NotDifferentiable`)."""

    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


class GradientMissing:
    """The explicit statement that an op has a derivative, but tfnb does not compute it.

    A gradient that reaches such an op raises an error; one that reaches an op that is NOT_DIFFERENTIABLE ends there.
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
    `type_list` says that `type` names a list of dtypes ("[T]"), `ref` that the op needs a variable. `dtype` is the
    dtype that `type` names, or None.
    """

    name: str
    type: str
    number: str | None = None
    type_list: bool = False
    ref: bool = False
    dtype: DType | None = None


def parse_signature(text: str) -> tuple[Arg, ...]:
    """Returns the arguments of a signature such as `"a: T, b: T"`, `"values: N*T, axis: int32"`,
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
        is_list = kind.startswith("[")
        kind = kind.strip("[]")
        args.append(Arg(name, kind, number_var, is_list, ref, None if is_list else _DTYPES.get(kind)))
    return tuple(args)


@dataclass(eq=False, slots=True)
class Infer(Generic[A]):
    """The argument of a shape function, which does not change it.

    `shapes[i]` is the static shape of flat input i. `value(i)` returns the NumPy value of input i if it is known, else
    None. `as_shape(i)` returns the shape that input i, an integer vector, describes; its dimensions may be unknown.
    `in_step` says that a step is about to run the node, with known shapes, and not that the graph is built: some
    mistakes are TensorFlow's errors of a step only.
    """

    op_name: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[DType, ...]
    attrs: A
    types: Mapping[str, Any]
    value: Callable[[int], Any]
    as_shape: Callable[[int], Shape]
    in_step: bool = False


@dataclass(frozen=True, slots=True)
class HostCall(Generic[A]):
    """The first argument of a host kernel, before its input arrays.

    `outputs` are the (dtype, static shape) pairs of the outputs; `rng` returns four uint32 words
    (key0, key1, call number, 0) of a random node and counts the call; `op` is the node, for messages and
    resources; `tools` (a `runtime.value_tools.ValueTools`) is for `raw` kernels; `owns` are the inputs that nothing but
    the kernel reads, in this run or later. The input arrays are NumPy arrays (object arrays for strings), which the
    kernel must not change, except those in `owns`.
    """

    attrs: A
    types: Mapping[str, Any]
    outputs: tuple[Any, ...]
    op: Any
    rng: Callable[[], Any] | None = None
    resources: Any = None
    tools: Any = None
    owns: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class AsyncCall:
    """The first argument of the kernel of an asynchronous op, with the functions that the kernel must call.

    `host` is the argument that host kernels get. The kernel calls `done(outputs)` or `fail(error)` once, from any
    thread, before or after it returns. `on_cancel(callback)` calls `callback(error)` when the step is stopped, and
    returns a function that withdraws the callback.
    """

    host: HostCall
    done: Callable[[Sequence[Any]], None]
    fail: Callable[[BaseException], None]
    on_cancel: Callable[[Callable[[BaseException], None]], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class LowerSite(Generic[A]):
    """The argument of a `lower` or `reduce` recipe: concrete shapes, attributes, known values.

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

    `combine` is sum, prod, max, min, any, all, argmax or argmin (of equal values the first index; max and min of
    values with a NaN are NaN, as in TensorFlow). `map` is applied to each element first, `finish` to the result; both
    give expressions.
    """

    combine: str
    axes: tuple[int, ...]
    keepdims: bool = False
    map: Callable[[Expr], Expr] | None = None
    finish: Callable[[Expr], Expr] | None = None


GradFn = Callable[..., Any]


@dataclass(frozen=True, eq=False, repr=False)
class OpDef(Generic[R]):
    """The definition of an operation.

    `R` is what a call returns (see `pack_outputs`): a Tensor, a list, a tuple, or the Operation if it has no outputs.

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
    opencl       (KernelSite) -> tuple[KernelCall, ...]: library kernels of `kernels_cl`. Beside `lower` they serve the
                 nodes that have so many inputs or outputs that an expression over all of them would be too long
    expand       (op, *inputs) -> Tensor or tuple: a composition of other ops, written as users write it. Beside
                 `alias`, `opencl` or `lower` it rewrites only the nodes that those cannot compute, and returns None
                 for others. Alone, it returns None if only a run knows the shapes; the host then computes the node
    alias        the output is the memory of this input, with another shape (reshape, identity)

    shape_inputs inputs whose *value* fixes shapes or the program; known when a cluster is specialised
    writes       ref inputs that the op updates in place. For `scalar` ops, output k of the expression is the
                 new value of ref input writes[k]; the op's output is the first written ref
    takes_rows   it gives the rows of input 0 whose numbers are in input 1, along axis 0 or the one in input 2
    stateful     never folded or merged with an equal node (random, variables, printing)
    kind         its role for the runtime
    dynamic      the output shapes depend on data, so the op is not part of clusters
    epilogue     its `opencl` recipe honours KernelSite.epilogue
    takes_formulas
                 its `opencl` recipe answers for sizes that are formulas too, with the kernel calls that it would give
                 for each of their values
    product      KernelSite -> the `Product` that the op computes, if generated code may compute it together with the
                 work that follows, else None
    raw          its host kernel takes and returns runtime values unchanged (arrays, or tensors that stay on their
                 device), for ops that store values or pass them on; `HostCall.tools` works on such values
    start        (AsyncCall, *arrays) -> None, or a function that returns a text about what the op waits for: the kernel
                 of an op of kind ASYNC, which may finish later and needs no thread until then
    blocking     its host kernel may take long or wait (a Python function, a file): it gets a thread of its own if other
                 nodes of the step can run meanwhile
    calls_user   its host kernel calls a function of the user's, with arrays that are the function's own: copies, except
                 of the inputs in `HostCall.owns`; what the function returns is copied unless nobody else has it
    bounds       (Infer) -> the bounds of integer inputs, once all shapes are known: indices, labels, starts, lengths.
                 Numbers that the host holds are checked before the op runs on a device
    host_dtypes  dtypes with which the host computes the op, although devices have them. A device computes 16-bit floats
                 as float32, so it cannot read their bits
    keeps_zero   elementwise, with f(0) = 0: its public functions apply it to the values of a sparse tensor too
    api          the public names ("nn.relu relu"), for ops whose call needs no wrapper
    partial      (Infer) -> Shape or None: the output, an integer vector, read as a partly known shape
    body         the function (ir.function) that a node of this op calls; the compiler puts its graph in place
    defaults     the dtype of a type variable that may be left out in graphs from files ({"out_type": int32}), and to
                 which a NumPy array of a dtype that is not allowed is converted; and the one value served of a
                 standard attribute that `attrs` lacks (None: any value, since the attribute does not affect the
                 result), for graphs from files
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
    takes_formulas: bool = False
    product: Callable[[KernelSite], Product | None] | None = None
    api: str = ""
    partial: Callable[[Infer], Shape | None] | None = None
    shape_only: bool = False
    takes_rows: bool = False
    keeps_zero: bool = False
    host_dtypes: tuple[DType, ...] = ()
    raw: bool = False
    body: Any = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    start: Callable[..., Any] | None = None
    blocking: bool = False
    calls_user: bool = False
    bounds: Callable[[Infer], Sequence[Bound]] | None = None
    input_args: tuple[Arg, ...] = field(init=False)
    input_names: tuple[str, ...] = field(init=False)
    output_args: tuple[Arg, ...] = field(init=False)
    is_plain: bool = field(init=False)
    """Is each argument one tensor, and no list?"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_args", parse_signature(self.inputs))
        object.__setattr__(self, "input_names", tuple(a.name for a in self.input_args))
        object.__setattr__(self, "output_args", parse_signature(self.outputs))
        is_plain = not any(a.number or a.type_list for a in (*self.input_args, *self.output_args))
        object.__setattr__(self, "is_plain", is_plain)

    @property
    def on_device(self) -> bool:
        """Whether OpenCL devices can compute the op, as it is or as a composition of other ops."""
        return self.expand is not None or self.has_kernel

    @property
    def has_kernel(self) -> bool:
        """Whether OpenCL devices can compute the op as it is."""
        parts = (self.scalar, self.lower, self.reduce, self.opencl, self.alias)
        return any(p is not None for p in parts)

    def __call__(self, *inputs: object, name: str | None = None, graph: object = None, **attrs: object) -> R:
        """Adds a node and returns what `pack_outputs` makes of it: a Tensor, a list or named tuple, or the Operation.

        Inputs that are not tensors become constants of the type that the signature requires. The node is added to
        `graph` if that is given, else to the graph of the first tensor among the inputs, else to the default graph.
        `attrs` are attributes, and those type variables that no input determines.
        """
        target: Any = default.graph_of(inputs) if graph is None else graph
        return target.apply(self, inputs, attrs, name)

    def __repr__(self) -> str:
        return f"<OpDef {self.name}({self.inputs}) -> ({self.outputs})>"


def ref_inputs(opdef: OpDef, types: Mapping[str, Any]) -> frozenset[int]:
    """Returns the positions of the inputs that a node with these type variables takes as references."""
    numbers: list[int] = []
    place = 0
    for a in opdef.input_args:
        n = len(types[a.type]) if a.type_list else types[a.number] if a.number else 1
        if a.ref:
            numbers.extend(range(place, place + n))
        place += n
    return frozenset(numbers)


def pack_outputs(opdef: OpDef, types: Mapping[str, Any], op: object, outputs: Sequence[Any]) -> object:
    """Returns the result of a call of an op whose type variables and numbers are `types`.

    It is the operation `op` if there are no outputs, a Tensor or a list of them for one output, and otherwise a tuple
    with the outputs' names as fields. Outputs of a function of the program have no such names: these are a list.
    """
    args = opdef.output_args
    if not args:
        return op
    if len(args) == 1 or opdef.body is not None:
        is_list = len(args) > 1 or args[0].number is not None or args[0].type_list
        return list(outputs) if is_list else outputs[0]
    values, rest = [], iter(outputs)
    for a in args:
        count = len(types[a.type]) if a.type_list else types[a.number] if a.number is not None else None
        values.append(next(rest) if count is None else list(itertools.islice(rest, count)))
    return _result_type(opdef.name, tuple(a.name for a in args))._make(values)


@remembered("types of results", 512)
def _result_type(name: str, fields: tuple[str, ...]) -> Any:
    """Returns the class of the results of an op with several outputs."""
    return namedtuple(name, fields)
