"""Shape classes: which sizes share a compilation, and when it is repeated with one symbol for equal sizes."""

from __future__ import annotations

import pytest

from tfnb.errors import ShapeError
from tfnb.ir.shape_class import ServedShapes, class_of, with_symbols


class Total:
    """Serves the sizes for which the conditions hold with the value of a formula."""

    def __init__(self, total, trace):
        self._evaluate = trace.function([total])

    def program(self, values):
        numbers = self._evaluate(values)
        return None if numbers is None else numbers[0]


def test_numbers_are_what_the_graph_fixes_and_zero_and_one():
    shapes, sizes = class_of([(None, 4), (None, None), ()], [(7, 4), (1, 9), None])
    assert (shapes, sizes) == (((None, 4), (1, None), None), (7, 9))
    assert with_symbols(shapes, "ab") == [("a", 4), (1, "b"), None]
    assert class_of([(None,)], [(3, 5)]) == (((None, None),), (3, 5))  # another rank than the graph knows


def test_sizes_that_nobody_compares_may_be_equal_by_chance():
    calls = []

    def compile_class(symbols, trace):
        calls.append(symbols)
        return Total(symbols[0] * symbols[1], trace)

    for example in ((3, 5), (4, 4)):
        served = ServedShapes(example, compile_class)
        assert served.program((6, 7)) == 42 and served.program((6, 6)) == 36 and served.program((1, 6)) is None
    assert len(calls) == 2


def test_sizes_that_are_compared_and_equal_become_one_symbol():
    def compile_class(symbols, trace):
        a, b, c = symbols
        return Total(a if a == b else a * c, trace)

    served = ServedShapes((5, 5, 9), compile_class)
    assert served.program((7, 7, 2)) == 7 and served.program((7, 8, 2)) is None
    served = ServedShapes((5, 6, 9), compile_class)
    assert served.program((7, 8, 2)) == 14 and served.program((7, 7, 2)) is None


def test_conditions_of_the_calls_before_the_last_hold_too():
    def compile_class(symbols, trace):
        a, b = symbols
        if a is not b and a > 10:  # asked by the first call only
            return Total(a if a == b else b, trace)
        return Total(b, trace)

    served = ServedShapes((20, 20), compile_class)
    assert served.program((30, 30)) == 30
    assert served.program((4, 4)) is None  # its own compilation would not have asked whether the sizes are equal


def test_an_error_of_a_call_that_is_repeated_does_not_count():
    def compile_class(symbols, trace):
        a, b = symbols
        if a == b and a is not b or b == 13:
            raise ShapeError("wrong shapes")
        return Total(a, trace)

    assert ServedShapes((5, 5), compile_class).program((8, 8)) == 8
    with pytest.raises(ShapeError):
        ServedShapes((13, 13), compile_class)
