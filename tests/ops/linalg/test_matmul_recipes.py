"""How a matrix product is divided among cores: the fast answer for a small one is that of the full search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tfnb.ops.linalg import matmul_recipes

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
    assert matmul_recipes._cut(problem, units) == matmul_recipes._best_cut(problem, units)


def test_a_product_of_few_rows_needs_no_search(monkeypatch):
    monkeypatch.setattr(matmul_recipes, "_best_cut", lambda *_: 1 / 0)
    small = matmul_recipes._Problem(1, 4, 44, 31, 2, 4)
    assert matmul_recipes._cut(small, 2) == (1, 1, 1)
