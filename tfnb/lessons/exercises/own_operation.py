"""Exercises of 11_own_operation: swish as a kernel, its gradient, an operation that needs neighbours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Case, Finding, Kind
from tfnb.lessons.comparing import described
from tfnb.lessons.exercises.control_flow import slopes
from tfnb.lessons.graph_function import Built, GraphFunction, raised
from tfnb.ops import API
from tfnb.session.session import Session
from tfnb.train.testing import compute_gradient_error
from tfnb.types import float64

__all__ = ["EXERCISES"]

_MOST_ERROR = 1e-4
_HARMLESS = ("Placeholder", "Const", "Identity")


def _kernel_missing(operations: Iterable[Operation]) -> str:
    """Returns why no operation of the reader's own, with a kernel in OpenCL C, is there, or ""."""
    own = [op for op in operations if op.opdef.calls_user]
    if not own:
        return "no operation of tf.register_op is in it"
    if any(op.opdef.opencl is None for op in own):
        return "the operation has no kernel in OpenCL C: its Python function computes it, on the host"
    return ""


def _by_the_kernel_alone(built: Built) -> str:
    if reason := _kernel_missing(built.operations):
        return reason
    others = sorted({op.type for op in built.operations if not op.opdef.calls_user} - {*_HARMLESS})
    return f"operations of the library have a part in it: {', '.join(others)}; the kernel must do all" if others else ""


def _with_a_kernel(built: Built) -> str:
    return _kernel_missing(built.graph.get_operations())


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x.astype(np.float64)))


def _swish(x: np.ndarray) -> np.ndarray:
    return (x * _sigmoid(x)).astype(x.dtype)


def _slope(x: np.ndarray) -> np.ndarray:
    s = _sigmoid(x)
    return (s + x * s * (1 - s)).astype(x.dtype)


def _points(*shapes: tuple[int, ...], dtype: type = np.float32) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(len(shapes))
    return [(rng.uniform(-4, 4, shape).astype(dtype),) for shape in shapes]


_NEAR = np.array([-2.5, -0.75, 0.0, 0.5, 3.0])
_FAR = [(np.array([-200, 150, 1, -60], np.float32),), (np.array([1000, -1000], np.float32),)]


def _gradient_error(answer: object) -> Finding:
    """Compares the gradient of the answer with differences of its values, at a few points near zero."""
    if not callable(answer):
        return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function of a tensor")
    with GraphBuilder().as_default() as graph, Session(graph=graph) as session:
        x = API["constant"](_NEAR, float64)
        try:
            y = answer(x)
            if not isinstance(y, Tensor):
                return Finding(Kind.SHAPE, f"the function returns {described(y)}; needed a tensor")
            if y.get_shape().as_list() != [_NEAR.size]:
                return Finding(Kind.SHAPE, f"the shape is {y.get_shape()}; needed that of x")
            value = session.run(y)
            error = float(compute_gradient_error(x, [_NEAR.size], y, [_NEAR.size], _NEAR))
        except Exception as e:
            return raised(e)
    if not np.allclose(value, _swish(_NEAR), 1e-4):
        return Finding(Kind.VALUE, "the function itself gives other values than swish")
    if not error < _MOST_ERROR:
        return Finding(Kind.VALUE, f"compute_gradient_error gives {error:.1g}; needed less than {_MOST_ERROR:g}")
    way = _kernel_missing(graph.get_operations())
    return Finding(Kind.FORBIDDEN, way) if way else RIGHT


_KERNEL = (
    "Look at the kernel of square_plus: one work-item for each element, and the check of the bound.",
    "Only the formula of the kernel is another one; what it needs is the exponential of an element, negated.",
    "In the kernel y[i] is the element divided by one more than exp of its negative; pass the text as opencl=.",
)
_GRADIENT = (
    "Look at the function `slope` above: it is built from op.x and from dy, and grad= passes it on.",
    "swish is a product, so its derivative has two terms; each of them has the sigmoid as a factor.",
    "With s for tf.sigmoid of x: the sum of s and of x, s and (1 - s) multiplied, all of it times dy.",
)


def _steps(x: np.ndarray) -> np.ndarray:
    return np.diff(x, prepend=np.float32(0))


def _step_slopes(x: np.ndarray) -> np.ndarray:
    """The gradient of the sum of the steps' squares, by which each result counts with another weight."""
    dy = 2 * np.diff(x, prepend=np.float32(0))
    return dy - np.append(dy[1:], np.float32(0))


def _slopes_of_squares(built: Built) -> list[Tensor | None]:
    y = built.outputs[0]
    return list(slopes(Built(built.graph, built.inputs, (y * y,))))


_FORWARD = (
    "Look at the blur: which index does a neighbour have, and what becomes of the border?",
    "Work-item i reads two elements, its own and the one before; the first one has none before it.",
    "In the kernel: where i is 0 take the element alone, otherwise subtract from it the element of index i - 1.",
)
_BACKWARD = (
    "Look at where one element of x stands in the results, and with which sign.",
    "An element has a part in two results: in its own, and, subtracted, in the next one. The last one has no next.",
    "The gradient is dy less dy moved by one to the left, with a zero at the end: a slice of dy and tf.pad.",
)

EXERCISES = (
    (
        "swish",
        (
            Case(
                "x times its sigmoid, of vectors",
                GraphFunction(_points((5,), (131,), (1,)), _swish, _by_the_kernel_alone),
                _KERNEL,
                points=2,
                success_message="The kernel compiles once for each type; the compiler puts float or double for T.",
            ),
            Case(
                "matrices of float64",
                GraphFunction(_points((3, 40), (9, 1), dtype=np.float64), _swish, _by_the_kernel_alone, rtol=1e-9),
                _KERNEL,
                hidden=True,
            ),
        ),
    ),
    (
        "the gradient of swish",
        (
            Case(
                "compute_gradient_error near zero",
                _gradient_error,
                _GRADIENT,
                points=2,
                success_message="The derivative rises above 1 and falls below 0 on its way from 0 to 1.",
            ),
            Case(
                "far away from zero",
                GraphFunction(_FAR, _slope, _with_a_kernel, extend=slopes),
                _GRADIENT,
                hidden=True,
                failure_message="The exponential of a large number is infinite; tf.sigmoid knows how to avoid it.",
            ),
        ),
    ),
    (
        "differences of neighbours",
        (
            Case(
                "vectors of several lengths",
                GraphFunction(_points((6,), (1,), (200,)), _steps, _by_the_kernel_alone),
                _FORWARD,
                points=2,
            ),
            Case(
                "their gradient",
                GraphFunction(_points((6,), (1,), (200,)), _step_slopes, _with_a_kernel, extend=_slopes_of_squares),
                _BACKWARD,
                points=2,
                success_message="The gradient of a difference is a difference again, in the other direction.",
            ),
        ),
    ),
)
