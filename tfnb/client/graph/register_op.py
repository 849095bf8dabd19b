"""`tf.register_op`: ops defined in a notebook cell, with a Python kernel and optionally one in OpenCL C.

Such an op is like those of the library: it has a signature, a shape function, kernels and a gradient, and graphs and
GraphDefs contain it by its name. The compiler reports errors in its kernel with the line numbers of the cell.
Invariant: a cell that runs again replaces its op in graphs that are built later; ops of the library cannot be replaced.
"""

from __future__ import annotations

import dataclasses
import inspect
import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import AlreadyExistsError, InvalidArgumentError, OpError, UnknownError
from tfnb.ir.kernelcall import F32, I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef, parse_signature
from tfnb.ir.origin import Origin, user_origin
from tfnb.ops import CATALOG
from tfnb.ops.catalog import op_function
from tfnb.system.interrupts import interruptible, is_from_handler
from tfnb.system.ownership import arguments, make_own
from tfnb.types import ALL, DEVICE_FLOATS, Shape, as_dtype, as_shape, unknown_shape

__all__ = ["API", "register_op"]

_LOCAL = 64
_DTYPES = {d.name for d in ALL}
_ENTRY = re.compile(r"\b(?:__)?kernel\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?void\s+(\w+)", re.DOTALL)
_mine: set[str] = set()  # names of ops that register_op created, and may replace


def register_op(
    inputs: str,
    outputs: str,
    *,
    name: str | None = None,
    types: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    shape: Callable[[Infer], Any] | None = None,
    grad: Callable[..., Any] | None = None,
    opencl: str | None = None,
    arguments: Callable[[KernelSite], Sequence[int | float]] | None = None,
    grid: Callable[[KernelSite], tuple[tuple[int, ...], tuple[int, ...]]] | None = None,
    stateful: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function of NumPy arrays, the host kernel of a new op; the result adds a node when called.

    inputs, outputs: signatures such as "x: T, y: T" and "z: T"; a type is a dtype's name or a variable of `types`,
    which maps it to the dtypes that it may be (by default float32 and float64). name: the name of the op, by default
    the function's in CamelCase. attrs: names and default values, passed to the kernel as keywords. shape: a function
    from a view with `shapes`, `attrs` and `value(i)` to the outputs' shapes (default: the first input's). grad: a
    function `(op, *dys)` that returns one gradient per input, or None.

    opencl: a kernel in OpenCL C; its first `__kernel` is launched with pointers to the inputs and the outputs, then
    `arguments(site)`, ints and floats (default: the first output's number of elements). Type variables are macros of
    their OpenCL type; bool is uchar. grid: a function from `site` to the numbers of work-groups and of work-items in
    each (default: one work-item per element of the first output, in groups of 64, so the kernel must check its bound).

    An OpenCL kernel runs in this process, unchecked. One that writes outside its arrays, reads a null pointer or takes
    megabytes of stack changes other values or ends the process, and only the end of the process stops one that never
    ends. Try it on small arrays first, beside the function, which can be interrupted and whose errors are the step's.

    Raises `InvalidArgumentError` for a text without a kernel, and `AlreadyExistsError` for the name of a library op. A
    kernel that does not compile raises `KernelBuildError` in the step, with the compiler's message and the cell's line.
    """
    origin = user_origin()
    text = None if opencl is None else _located(opencl, origin)

    def make(kernel: Callable[..., Any]) -> Callable[..., Any]:
        title = name or "".join(p.capitalize() for p in kernel.__name__.split("_"))
        op = OpDef(
            title,
            inputs,
            outputs,
            inspect.getdoc(kernel) or f"{kernel.__name__}, registered at {origin}.",
            types=_types(inputs, outputs, types),
            attrs=_attrs_class(title, attrs or {}),
            infer=lambda c: _shapes(c, shape, op),
            host=lambda call, *arrays: _run(kernel, call, arrays),
            grad=grad or NOT_DIFFERENTIABLE,
            opencl=None if text is None else lambda site: _calls(op, text, site, arguments, grid),
            stateful=stateful,
            calls_user=True,
        )
        if op.name in CATALOG and op.name not in _mine:
            raise AlreadyExistsError(f"there is an op {op.name!r} in the library; give another name=")
        CATALOG.redefine(op)
        _mine.add(op.name)
        return op_function(op, kernel.__name__)

    return make


def _located(text: str, origin: Origin | None) -> str:
    """Returns the text with a `#line` directive, so that the compiler reports lines of the file or cell."""
    if _ENTRY.search(text) is None:
        raise InvalidArgumentError("register_op: the OpenCL text has no `__kernel void name(...)`")
    if origin is None:
        return text
    source = "".join(linecache.getlines(origin.filename))
    starts = [m.start() for m in re.finditer(re.escape(text), source)]
    if not starts:
        return text
    lines = [source.count("\n", 0, at) + 1 for at in starts]
    line = min(lines, key=lambda n: abs(n - origin.lineno))
    return f'#line {line} "{origin.filename}"\n{text}'


def _types(inputs: str, outputs: str, given: Mapping[str, Any] | None) -> dict[str, tuple[Any, ...]]:
    """Returns the allowed dtypes of each type variable; variables that `given` lacks are floats of the device."""
    dtypes_of = {}
    for var, allowed in (given or {}).items():
        dtype_list = allowed if isinstance(allowed, (list, tuple)) else (allowed,)
        dtypes_of[var] = tuple(as_dtype(t) for t in dtype_list)
    for arg in (*parse_signature(inputs), *parse_signature(outputs)):
        if arg.type not in _DTYPES:
            dtypes_of.setdefault(arg.type, DEVICE_FLOATS)
    return dtypes_of


def _attrs_class(title: str, attrs: Mapping[str, Any]) -> type:
    fields: list[Any] = []
    for key, value in attrs.items():
        if not isinstance(value, (bool, int, float, str)):
            raise InvalidArgumentError(f"register_op: the attribute {key!r} must be a bool, int, float or str")
        fields.append((key, type(value), dataclasses.field(default=value)))
    return dataclasses.make_dataclass(f"{title}Attrs", fields, frozen=True, slots=True)


def _shapes(c: Infer, shape: Callable[[Infer], Any] | None, op: OpDef) -> tuple[Shape, ...]:
    count = len(op.output_args)
    if shape is None:
        return ((c.shapes[0] if c.shapes else unknown_shape),) * count
    inferred = shape(c)
    several = isinstance(inferred, (list, tuple)) and all(
        isinstance(s, (Shape, list, tuple)) or s is None for s in inferred
    )
    return tuple(as_shape(s) for s in inferred) if several and len(inferred) == count else (as_shape(inferred),)


def _run(kernel: Callable[..., Any], call: HostCall, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    keywords = {f.name: getattr(call.attrs, f.name) for f in dataclasses.fields(call.attrs)}
    try:
        with interruptible():
            returned = kernel(*arguments(arrays, call.owns), **keywords)
    except OpError:
        raise
    except BaseException as e:
        if is_from_handler(e):
            raise
        raise UnknownError(f"the kernel of {call.op.type}: {type(e).__name__}: {e}", call.op) from e
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(results) != len(call.outputs):
        raise InvalidArgumentError(
            f"the kernel of {call.op.type} gave {len(results)} arrays for {len(call.outputs)} outputs", call.op
        )
    del returned  # what nobody holds but the list of results is not copied
    for i, spec in enumerate(call.outputs):
        results[i] = np.asarray(results[i], spec.dtype.np)
    make_own(results, range(len(results)))
    return tuple(results)


def _calls(
    op: OpDef, text: str, site: KernelSite, arguments: Callable[..., Any] | None, grid: Callable[..., Any] | None
) -> tuple[KernelCall, ...]:
    size = site.outputs[0].size if site.outputs else 1
    if size == 0:
        return ()
    scalars = (size,) if arguments is None else tuple(arguments(site))
    groups, local = (((size + _LOCAL - 1) // _LOCAL,), (_LOCAL,)) if grid is None else grid(site)
    pairs = [*zip(op.input_args, site.inputs, strict=True), *zip(op.output_args, site.outputs, strict=True)]
    defines = {a.type: info.dtype.cl for a, info in pairs if a.type in op.types}
    match_ = _ENTRY.search(text)
    return (
        KernelCall(
            "",
            match_[1] if match_ else "",
            (
                *(In(i) for i in range(len(site.inputs))),
                *(Out(i) for i in range(len(site.outputs))),
                *(F32(v) if isinstance(v, float) else I32(int(v)) for v in scalars),
            ),
            _three(groups),
            _three(local),
            tuple(sorted(defines.items())),
            text,
        ),
    )


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    a, b, c = (*(int(n) for n in sizes), 1, 1)[:3]
    return a, b, c


API: dict[str, Any] = {"register_op": register_op}
