"""Sizes: formulas that give what plain numbers give, for every example that fulfils the conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tfnb.ir.shapes import broadcast_shapes
from tfnb.size_trace import SizeTrace, _lower
from tfnb.sizes import Size, derived, integer, largest, plain, smallest, typical, value_of
from tfnb.types import Shape

SYMBOLS = 3
NUMBERS = (-7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 64)


def _round_up(n: int, step: int) -> int:
    return -(-n // max(abs(step), 1)) * max(abs(step), 1)


def _array_total(a, b):
    array = np.empty(3, object)
    array[:] = [a, b, 2]
    return (array * np.int64(3) + np.arange(3)).sum() - array[::-1][0]


OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b if b != 0 else a,
    "%": lambda a, b: a % b if b != 0 else b,
    "divmod": lambda a, b: sum(divmod(a, b)) if b else 0,
    "ceil": lambda a, b: -(-a // b) if b > 0 else a,
    "min": min,
    "max": max,
    "smallest": smallest,
    "largest": lambda a, b: largest(a, b, 2),
    "if": lambda a, b: a if a < b else b - a if a == b else b + 1,
    "abs": lambda a, b: abs(a) - b,
    "derived": lambda a, b: derived(_round_up, a, b),
    "array": _array_total,
    "int": lambda a, b: a + int(b),
    "sorted": lambda a, b: sorted([a, b, 4])[1],
    "in": lambda a, b: b if any(a == n for n in (2, 3, b)) else a,
}


@dataclass(frozen=True)
class Formulas:
    """A computation: each line is an operation on two earlier values; the first values are symbols and numbers."""

    numbers: tuple[int, ...]
    lines: tuple[tuple[str, int, int], ...]

    def __call__(self, symbols):
        values = [*symbols, *self.numbers]
        for operation, a, b in self.lines:
            value = OPERATIONS[operation](values[a % len(values)], values[b % len(values)])
            assume(abs(value_of(value)) < 10**9)  # large powers are slow, and sizes are small
            values.append(value)
        return values


def formulas():
    """Random computations; late operands are more frequent, so that formulas are nested."""
    operand = st.integers(0, 5) | st.integers(-4, -1)
    lines = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), operand, operand), min_size=1, max_size=9)
    return st.builds(Formulas, st.tuples(*[st.sampled_from(NUMBERS)] * 3), lines.map(tuple))


def examples():
    """Different values of the symbols."""
    one = st.integers(2, 12) | st.integers(2, 300)
    return st.lists(one, min_size=SYMBOLS, max_size=SYMBOLS, unique=True)


def traced(compute, example):
    """The trace of a computation for an example, and its values as formulas."""
    trace = SizeTrace()
    return trace, compute([trace.symbol(n) for n in example])


@given(formulas(), examples(), st.lists(examples(), min_size=4, max_size=4))
def test_formulas_give_what_numbers_give(compute, example, others):
    trace, sizes = traced(compute, example)
    evaluate = trace.function(sizes)
    assert evaluate(example) == tuple(compute(example)) == tuple(map(value_of, sizes))
    for other in others:
        assert evaluate(other) in (None, tuple(compute(other))), (trace.conditions, sizes)


@given(formulas(), examples(), st.lists(examples(), min_size=4, max_size=4))
def test_bounds_hold_for_all_values_of_the_symbols(compute, example, others):
    trace, sizes = traced(compute, example)
    trace.conditions.clear()
    for n in filter(lambda n: isinstance(n, Size), sizes):
        assert trace.known_sign(n) in (None, (n.value > 0) - (n.value < 0)) or trace.known_sign(n) == 0 <= n.value
        assert isinstance(typical(n), int)
        evaluate, low = trace.function([n]), _lower(n)
        for other in [example, *others]:
            try:
                (value,) = evaluate(other)
            except ZeroDivisionError:  # a condition that was cleared excludes these values
                continue
            assert low is None or low <= value, n.formula
    assert not trace.conditions


NUMBER_NEEDED = {
    "int": int,
    "float": float,
    "complex": complex,
    "str": str,
    "format": lambda n: f"{n}",
    "format width": lambda n: f"{n:5d}",
    "percent": lambda n: "%d" % n,  # noqa: UP031
    "range": range,
    "list": lambda n: [0] * n,
    "item": lambda n: list(range(99))[n],
    "slice": lambda n: "x" * 99 == ("x" * 99)[:n],
    "zeros": np.zeros,
    "full": lambda n: np.full((2, n), 1),
    "arange": np.arange,
    "reshape": lambda n: np.zeros(40).reshape(n, -1),
    "int32": np.int32,
    "array": lambda n: np.array([1, n], np.int32),
    "astype": lambda n: np.array([1, n], object).astype(np.int64),
    "broadcast": lambda n: np.broadcast_to(1, (n,)),
    "divide": lambda n: n / 2,
    "divide by": lambda n: 7 / n,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "chr": chr,
    "bool": lambda n: bool(n - 20),
    "equal": lambda n: n == 20,
    "equal numpy": lambda n: n == np.int64(20),
    "equal reversed": lambda n: np.int64(20) == n,
    "equal float": lambda n: n == 20.0,
    "equal array": lambda n: bool(np.array([n], object) == np.array([20])),
    "not equal": lambda n: n != 20,
    "less": lambda n: n < 20,
    "less float": lambda n: n < 20.5,
    "more float": lambda n: 20.5 <= n,
    "min": lambda n: min(n, 20),
    "max": lambda n: max([n, 20]),
    "sorted": lambda n: sorted([n, 20, 3]),
    "tuple": lambda n: (n, 2) == (20, 2),
    "index": lambda n: [3, 20].index(n),
    "count": lambda n: [3, 20].count(n),
    "abs": lambda n: abs(n - 30),
    "all": lambda n: all([n - 19]),
}


@pytest.mark.parametrize("use", NUMBER_NEEDED)
def test_no_use_gives_out_the_value_without_a_condition(use):
    trace = SizeTrace()
    size = trace.symbol(20)
    NUMBER_NEEDED[use](size)
    assert trace.conditions
    assert trace.function([size])((20,)) == (20,)


@pytest.mark.parametrize("use", [n for n in NUMBER_NEEDED if n != "chr"])
def test_each_use_gives_what_it_gives_for_numbers(use):
    result = NUMBER_NEEDED[use](SizeTrace().symbol(20))
    assert np.all(np.asarray(result) == np.asarray(NUMBER_NEEDED[use](20)))


def test_what_needs_no_number_stays_a_formula():
    trace = SizeTrace()
    n, m = trace.symbol(20), trace.symbol(30)
    array = np.array([n, m, 4], object)
    sizes = [n + m, n * m, array.sum(), array.prod(), np.int64(3) + n, n - np.int32(2), 2 * n % m, n // 4, -n]
    sizes += [sum([n, m]), math.prod([n, m]), integer(np.asarray(n)), smallest(n, m), derived(_round_up, n, 16), n**2]
    assert not any(map(plain, sizes)) and not trace.conditions
    assert trace.function(sizes)((7, 50)) == (57, 350, 61, 1400, 10, 5, 14, 1, -7, 57, 350, 7, 7, 16, 49)


def test_a_size_that_is_broadcast_to_is_not_compared():
    trace = SizeTrace()
    rest = trace.symbol(20) - 5
    assert broadcast_shapes(Shape((1, 4)), Shape((rest, 4))).sizes == (rest, 4)
    assert not trace.conditions


def test_the_larger_of_two_sizes_that_may_be_equal():
    trace = SizeTrace()
    n = trace.symbol(20)
    assert (largest(n, 2), largest(2, n), smallest(n, 2), smallest(2, n)) == (n, n, 2, 2)
    assert (largest(n // 2, 1), smallest(n // 2, 1)) == (n // 2, 1)


def test_a_divisor_that_is_zero_for_typical_values_is_no_error():
    trace = SizeTrace()
    assert isinstance(typical(trace.symbol(20) // (trace.symbol(30) - 64)), int)
    blocks = derived(lambda side: 1000 // side, trace.symbol(30) - 64)  # as the blocks of a convolution of no rows
    assert isinstance(typical(blocks), int)


def test_values_below_two_are_of_other_classes():
    trace = SizeTrace()
    evaluate = trace.function([trace.symbol(20), trace.symbol(30)])
    assert evaluate((30, 20)) == (30, 20) and evaluate((20, 20)) == (20, 20)
    assert evaluate((1, 20)) is evaluate((20, 0)) is None


def test_a_question_whether_symbols_are_equal_names_them():
    trace = SizeTrace()
    n, m, k = trace.symbol(20), trace.symbol(20), trace.symbol(20)
    assert (n + 1) // 2 * 8 == (m + 1) // 2 * 8 and trace.equal == [(0, 1)] and not trace.conditions
    assert n != k + 1 and n // 3 * 3 != n and trace.equal == [(0, 1)]
    assert [c for c, _ in trace.conditions] == ["!=", "!="]
    trace = SizeTrace()
    assert trace.symbol(20) != trace.symbol(30)
    assert trace.function(())((20, 20)) is None and not trace.equal


def test_a_computation_may_be_tried_without_conditions():
    trace = SizeTrace()
    n, same = trace.symbol(8), trace.symbol(8)
    assert trace.without_conditions(lambda: (n // 2 + 1).formula) == (n // 2 + 1).formula
    for use in (lambda: n > 5, lambda: n != 9, lambda: int(n), lambda: n == same):
        assert trace.without_conditions(use) is None
    assert not trace.conditions and not trace.equal
    assert n > 5
    assert trace.without_conditions(lambda: n > 5) is True  # since this is a condition now
    with pytest.raises(ValueError, match="mine"):
        trace.without_conditions(lambda: [][0] if n < 2 else next(_raised()))
    assert int(n) == 8  # conditions may be noted again


def _raised():
    raise ValueError("mine")
    yield


def test_bounds_of_products_of_nested_quotients_are_found_at_once():
    """Each level of a network halves the height and the width; replaced one by one, products are billions."""
    trace = SizeTrace()
    height, width = trace.symbol(600), trace.symbol(800)
    heights, widths = [height], [width]
    for _ in range(12):
        heights.append((sum(heights) - 3) // 2)
        widths.append((sum(widths) - 3) // 2)
    area = -(sum(heights) * sum(widths))
    low = _lower(area)
    assert low is None or low <= area.value
    assert trace.known_sign(area) in (None, -1)
