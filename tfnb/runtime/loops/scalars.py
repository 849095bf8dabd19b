"""Scalars of loops that the host computes: counters, conditions, array indices. A kernel launch would cost too much.

The expressions of elementwise operations become Python code that computes with plain numbers. A loop of only such
operations becomes one function. Invariant: the results equal those of the operation's host kernel: integers wrap
around, and floats keep their width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import UnimplementedError
from tfnb.ir.scalar import PRIMITIVES, Expr, Primitive, arg, walk
from tfnb.ir.scalar.host import scalar_exprs
from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value, await_inputs, nbytes_of, to_host
from tfnb.types import DType

__all__ = ["PyCode", "ScalarKernel", "number_of"]

Number = bool | int | np.generic
"""What Python code computes with: Python's own numbers, or floats of NumPy's, which keep their width."""


def number_of(value: Value) -> Number:
    """The value of a scalar as a number: a Python int or bool, or a NumPy float. Waits until the value is computed."""
    array = to_host(value)
    number: Any = array[()] if array.dtype.kind in "fV" else array.item()
    return number


def _is_exact(e: Expr) -> bool:
    """Returns whether the operation has a Python form, which needs no NumPy."""
    primitive = PRIMITIVES.get(e.op)
    return bool(primitive.python) if primitive is not None else e.op in ("arg", "const", "cast", "where")


class PyCode:
    """Python statements that compute scalar expressions.

    `lines` are the statements so far, and `names` are the global names that the statements use.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"np": np}
        self._count = 0

    def fresh(self) -> str:
        """A new name of a variable."""
        self._count += 1
        return f"v{self._count}"

    def constant(self, value: object) -> str:
        """A new global name for this object."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def assign(self, text: str) -> str:
        """Adds a statement that assigns the expression `text` to a new variable; returns the name of the variable."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def expression(self, root: Expr, args: Sequence[str]) -> str:
        """Adds statements that compute `root` from the variables `args`; returns the name of its value."""
        names: dict[Expr, str] = {}
        for e in walk(root):
            names[e] = self._one(e, [names[a] for a in e.args], args)
        return names[root]

    def _one(self, e: Expr, xs: list[str], args: Sequence[str]) -> str:
        if e.op == "arg":
            return self.flushed(self.cast(args[e.value], e.dtype, e.dtype), e.dtype)
        if e.op == "const":
            return self.constant(e.dtype.np.type(e.value) if e.dtype.is_floating else e.value)
        if e.op == "cast":
            return self.cast(xs[0], e.args[0].dtype, e.dtype)
        if e.op == "where":
            return self.assign(f"({xs[1]} if {xs[0]} else {xs[2]})")
        primitive = PRIMITIVES.get(e.op)
        if primitive is None:
            raise UnimplementedError(f"no Python form of the scalar operation {e.op}")
        if not primitive.python:
            return self._generic(primitive, e, xs)
        text = f"({primitive.python.format(*xs)})"
        if not e.dtype.is_bool:
            return self._wrapped(text, e.dtype)
        return self.assign(f"bool{text}" if e.args[0].dtype.is_floating else text)

    def _generic(self, primitive: Primitive, e: Expr, xs: list[str]) -> str:
        """Adds a statement that computes the operation with its NumPy function; returns the name of the result."""
        function = self.constant(primitive.host)
        operands = [
            x if a.dtype.is_floating else f"np.asarray({x}, {self.constant(a.dtype.np)})"
            for x, a in zip(xs, e.args, strict=True)
        ]
        text = f"np.asarray({function}({', '.join(operands)}))"
        if e.dtype.is_floating:
            return self.flushed(self.assign(f"{text}.astype({self.constant(e.dtype.np)})[()]"), e.dtype)
        return self.assign(f"{text}.item()")

    def _wrapped(self, text: str, dtype: DType) -> str:
        name = self.assign(text)
        if dtype.is_integer:
            low, high = int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max)
            span = high - low + 1
            self.lines.append(f"if not {low} <= {name} <= {high}: {name} = ({name} - {low}) % {span} + {low}")
        return self.flushed(name, dtype)

    def flushed(self, x: str, dtype: DType) -> str:
        """Adds a statement that makes zero of a subnormal number, as devices count it; returns the result's name."""
        if not dtype.is_floating or dtype.size < 4:
            return x
        tiny = self.constant(np.finfo(dtype.np).tiny)
        return self.assign(f"({x} if {x} >= {tiny} or not {x} > -{tiny} else {x} * 0)")

    def cast(self, x: str, source: DType, target: DType) -> str:
        """Adds statements that convert the variable `x` to another dtype; returns the name of the result."""
        if source is target:
            return x
        if target.is_bool:
            return self.assign(f"bool({x} != 0)")
        if target.is_floating:
            return self.assign(f"{self.constant(target.np.type)}({x})")
        if source.is_floating:
            return self.assign(f"{x}.astype({self.constant(target.np)}).item()")
        return self._wrapped(f"int({x})", target)

    def function(self, args: Sequence[str], results: Sequence[str]) -> Callable[..., Any]:
        """Compiles the statements to a function of `args` that returns the tuple of `results`."""
        body = "".join(f"    {line}\n" for line in self.lines)
        text = f"def run({', '.join(args)}):\n{body}    return ({', '.join(results)},)\n"
        return self.build(text)

    def build(self, text: str) -> Callable[..., Any]:
        """Compiles `text`, the source code of a function named `run`, and returns the function."""
        scope = dict(self.names)
        exec(compile(text, "<scalars>", "exec"), scope)
        function: Callable[..., Any] = scope["run"]
        return function


class ScalarKernel:
    """Computes an elementwise operation on scalars. `constants` maps the numbers of constant inputs to their arrays."""

    expensive = False

    def __init__(self, node: Node, dtypes: Sequence[DType], constants: dict[int, np.ndarray]) -> None:
        self.node = node
        self.dtypes = tuple(dtypes)
        self.constants = constants
        self.exprs = self._expressions()
        code = PyCode()
        args = [code.fresh() for _ in dtypes]
        names = self.write(code, args)
        input_names = [a for i, a in enumerate(args) if i not in constants]
        self._run = code.function(input_names, names)
        self._out = [s.dtype.np for s in node.specs]
        # Computing with Python's own integers and bools causes no NumPy warnings.
        self.quiet = all(_is_exact(e) and not e.dtype.is_floating for root in self.exprs for e in walk(root))

    def _expressions(self) -> tuple[Expr, ...]:
        if self.node.opdef.scalar is None:  # Identity
            return (arg(0, self.dtypes[0]),)
        return scalar_exprs(self.node.opdef, self.node.attrs, self.dtypes)

    def write(self, code: PyCode, args: Sequence[str]) -> list[str]:
        """Adds the statements of the operation to `code`; returns the names of its outputs."""
        inputs = [code.constant(number_of(self.constants[i])) if i in self.constants else a for i, a in enumerate(args)]
        names = []
        for e, spec in zip(self.exprs, self.node.specs, strict=True):
            names.append(code.cast(code.expression(e, inputs), e.dtype, spec.dtype))
        return names

    def numbers(self, *given: Number) -> Sequence[Number]:
        """The outputs of the operation as plain numbers, for its inputs except the constant ones as plain numbers."""
        if self.quiet:
            results: Sequence[Number] = self._run(*given)
            return results
        with np.errstate(all="ignore"):
            results = self._run(*given)
        return results

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> list[Value]:
        """Computes the operation on scalars; returns its outputs as arrays of shape []."""
        start = await_inputs(inputs, recorder) if recorder is not None else 0.0
        results = self.numbers(*map(number_of, inputs))
        outputs: list[Value] = [np.array(r, d) for r, d in zip(results, self._out, strict=True)]
        if recorder is not None:
            recorder.host(self.node, start, sum(nbytes_of(v) for v in (*inputs, *outputs)))
        return outputs
