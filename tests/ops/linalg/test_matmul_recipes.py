"""How a matrix product is divided among cores: the fast answer for a small one is that of the full search."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from recipe_formulas import answers, site_of

from tfnb.ops.linalg import matmul_recipes
from tfnb.types import float32, float64

PROBLEMS = st.builds(
    matmul_recipes._Problem,
    batch=st.sampled_from([1, 2, 5, 40]),
    m=st.integers(1, 40),
    n=st.integers(1, 300),
    k=st.sampled_from([1, 2, 7, 32, 64, 100, 256, 257, 700, 1030]),
    flags=st.sampled_from([0, 1, 2, 3, 4, 6, 16]),
    size=st.sampled_from([4, 8]),
    scattered=st.booleans(),
)


@given(PROBLEMS, st.sampled_from([1, 2, 3, 4, 16, 64]))
def test_a_small_product_is_not_searched_for_its_division(problem, units):
    rows, columns, splits = matmul_recipes._best_cut(matmul_recipes._coarse(problem), units)
    assert matmul_recipes._cut(problem, units) == (min(rows, problem.m), columns, splits)


def test_a_product_of_few_rows_needs_no_search(monkeypatch):
    monkeypatch.setattr(matmul_recipes, "_best_cut", lambda *_: 1 / 0)
    small = matmul_recipes._Problem(1, 4, 44, 31, 2, 4)
    assert matmul_recipes._cut(small, 2) == (1, 1, 1)


@given(PROBLEMS, st.sampled_from([1, 2, 3, 4, 16, 64]))
def test_the_division_of_a_few_more_rows_takes_about_as_long_as_the_best_one(problem, units):
    chosen, best = (cut(problem, units) for cut in (matmul_recipes._cut, matmul_recipes._best_cut))
    assert estimated(problem, units, *chosen) <= 1.3 * estimated(problem, units, *best)


def estimated(p, units, rows, columns, splits):
    """The cycles that the model gives to a division."""
    panels = -(-p.n * p.size // matmul_recipes.TILE_BYTES)
    one = matmul_recipes._group_cycles(p, -(-p.m // rows), -(-p.k // splits))(-(-panels // columns))
    uneven = matmul_recipes.UNEVEN if units > 1 else 0.0
    start = matmul_recipes.SUM if p.scattered else matmul_recipes.WAKE
    add = start + p.batch * p.m * p.n * (splits + 1.0) / units if splits > 1 else 0.0
    return matmul_recipes._makespan(rows * columns * splits * p.batch, one, units) + uneven * one + add


def test_products_of_almost_as_many_rows_share_a_search():
    matmul_recipes._best_cut.cache_clear()
    for m in range(33, 37):
        matmul_recipes._cut(matmul_recipes._Problem(1, m, 512, 128, 0, 4), 2)
    assert matmul_recipes._best_cut.cache_info().misses == 1


MATRICES = st.tuples(st.integers(2, 6), st.integers(2, 200), st.integers(2, 700), st.integers(2, 1200))


@given(
    example=MATRICES,
    others=st.lists(MATRICES, min_size=3, max_size=3),
    turned=st.tuples(st.booleans(), st.booleans()),
    depth=st.sampled_from([None, 1, 30, 128, 511, 512, 2000]),
    columns=st.sampled_from([None, 1, 16, 100]),
    units=st.sampled_from([1, 2, 16]),
    dtype=st.sampled_from([float32, float64]),
    updated=st.booleans(),
)
def test_formulas_give_what_numbers_give(example, others, turned, depth, columns, units, dtype, updated):
    attrs = SimpleNamespace(adj_x=turned[0], adj_y=turned[1])

    def make(sizes):
        batch, m, n, k = sizes
        n, k = columns or n, depth or k
        a, b = (batch, *((k, m) if turned[0] else (m, k))), (batch, *((n, k) if turned[1] else (k, n)))
        site = site_of("BatchMatMul", [a, b], [(batch, m, n)], attrs, dtype, units)
        return replace(site, updated=frozenset([1] if updated else []))

    pairs = answers(matmul_recipes.matmul_calls, make, example, others)
    assert pairs or depth is None or depth >= 512
    for by_formulas, by_numbers in pairs or ():
        assert by_formulas == by_numbers
