"""The recipes of resizing answer for sizes that are formulas what they answer for numbers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recipe_formulas import answers, site_of

from tfnb.ops.image.resize_weights import bilinear_calls, nearest_calls
from tfnb.types import float32

SIZES = st.tuples(*[st.integers(2, 5), *[st.integers(2, 300)] * 4])  # images, rows, columns, those of the result


@pytest.mark.parametrize("recipe", [bilinear_calls, nearest_calls])
@given(
    example=SIZES, others=st.lists(SIZES, min_size=3, max_size=3), align=st.booleans(), units=st.sampled_from([1, 16])
)
def test_resizing(recipe, example, others, align, units):
    attrs = SimpleNamespace(align_corners=align, half_pixel_centers=not align)

    def make(sizes):
        n, h, w, rows, columns = sizes
        return site_of("Resize", [(n, h, w, 3), (2,)], [(n, rows, columns, 3)], attrs, float32, units)

    pairs = answers(recipe, make, example, others)
    assert pairs
    for by_formulas, by_numbers in pairs:
        assert by_formulas == by_numbers
