"""The test of an answer that is a function of plain Python values, such as one that predicts what a session will do.

Invariant: what the function is given is a copy, so that it cannot change the inputs of later calls.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Finding, Kind
from tfnb.lessons.comparing import described, difference
from tfnb.lessons.graph_function import raised

__all__ = ["PlainFunction"]


@dataclass(frozen=True)
class PlainFunction:
    """A test that calls the answer with each of `inputs`, tuples of arguments, and compares with `reference`.

    A right value for the first input is not allowed if nodes were added to a graph for it: the exercise is to know the
    result without building what would have it.
    """

    inputs: Sequence[tuple[object, ...]]
    reference: Callable[..., object]
    rtol: float = 1e-6

    def __call__(self, answer: object) -> Finding:
        if not callable(answer):
            return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function")
        for k, arguments in enumerate(self.inputs):
            found = self._of_one(answer, arguments)
            if found.kind is not Kind.RIGHT:
                return found if k == 0 else Finding(Kind.ONCE, f"input {k + 1} of {len(self.inputs)}: {found.text}")
        return RIGHT

    def _of_one(self, answer: Callable[..., object], arguments: tuple[object, ...]) -> Finding:
        with GraphBuilder().as_default() as graph:
            try:
                got = answer(*copy.deepcopy(arguments))
            except Exception as e:
                return raised(e)
            built = len(graph.get_operations())
        if isinstance(got, Tensor):
            return Finding(Kind.SHAPE, "the function returns a tensor; needed plain Python values")
        found = difference(got, self.reference(*arguments), self.rtol)
        if found.kind is Kind.RIGHT and built:
            return Finding(Kind.FORBIDDEN, "it builds a graph; the result can be known without")
        return found
