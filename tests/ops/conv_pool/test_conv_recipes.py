"""The recipes of convolutions and pooling answer for sizes that are formulas what they answer for numbers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from recipe_formulas import answers, site_of

from tfnb.errors import OpError
from tfnb.ops.conv_pool import conv_recipes
from tfnb.ops.conv_pool.conv_reference import window_axes
from tfnb.types import float32, float64

SIZES = st.tuples(st.integers(2, 9), st.integers(2, 70), st.integers(2, 300))  # images, rows, columns
WINDOWS = st.fixed_dictionaries(
    {
        "window": st.tuples(st.integers(1, 5), st.integers(1, 5)),
        "strides": st.tuples(st.just(1), st.integers(1, 3), st.integers(1, 3), st.just(1)),
        "padding": st.sampled_from(["SAME", "VALID"]),
        "dilations": st.sampled_from([(1, 1, 1, 1), (1, 2, 1, 1), (1, 2, 3, 1)]),
        "channels": st.tuples(st.sampled_from([1, 3, 16, 40, 700]), st.sampled_from([1, 8, 33])),
        "dtype": st.sampled_from([float32, float64]),
        "units": st.sampled_from([1, 2, 16]),
    }
)
CONV = {
    "conv2d": (conv_recipes.conv2d_calls, lambda x, f, y: ([x, f], [y])),
    "input gradient": (conv_recipes.conv2d_backprop_input_calls, lambda x, f, y: ([(4,), f, y], [x])),
    "filter gradient": (conv_recipes.conv2d_backprop_filter_calls, lambda x, f, y: ([x, (4,), y], [f])),
}
POOL = {
    "max": (conv_recipes.max_pool_calls, lambda x, y: ([x], [y])),
    "average": (conv_recipes.avg_pool_calls, lambda x, y: ([x], [y])),
    "max gradient": (conv_recipes.max_pool_grad_calls, lambda x, y: ([x, y, y], [x])),
    "average gradient": (conv_recipes.avg_pool_grad_calls, lambda x, y: ([(4,), y], [x])),
}


def conv_site(shapes, how):
    """A function that makes the site of a convolution of (images, rows, columns)."""
    attrs = SimpleNamespace(
        data_format="NHWC", strides=how["strides"], padding=how["padding"], dilations=how["dilations"]
    )
    (ky, kx), (ci, co) = how["window"], how["channels"]

    def make(sizes):
        n, h, w = sizes
        ay, ax = window_axes(h, w, (ky, kx), attrs.strides, (attrs.padding,) * 2, attrs.dilations)
        inputs, outputs = shapes((n, h, w, ci), (ky, kx, ci, co), (n, ay.count, ax.count, co))
        return site_of("Conv2D", inputs, outputs, attrs, how["dtype"], how["units"])

    return make


def pool_site(shapes, how):
    """A function that makes the site of a pooling of (images, rows, columns)."""
    ksize, channels = (1, *how["window"], 1), how["channels"][0]
    attrs = SimpleNamespace(data_format="NHWC", strides=how["strides"], padding=how["padding"], ksize=ksize)

    def make(sizes):
        n, h, w = sizes
        ay, ax = window_axes(h, w, how["window"], attrs.strides, (attrs.padding,) * 2)
        inputs, outputs = shapes((n, h, w, channels), (n, ay.count, ax.count, channels))
        return site_of("MaxPool", inputs, outputs, attrs, how["dtype"], how["units"])

    return make


def compare(recipe, make, example, others):
    try:
        pairs = answers(recipe, make, example, others)
    except OpError:  # the window does not fit into the example
        assume(False)
    for by_formulas, by_numbers in pairs or ():
        assert by_formulas == by_numbers


@pytest.mark.parametrize("kind", CONV)
@given(how=WINDOWS, example=SIZES, others=st.lists(SIZES, min_size=3, max_size=3))
def test_convolutions(kind, how, example, others):
    # Only where the width of images is a number, it is compared with that of the window.
    assume(all(columns != how["window"][1] for _, _, columns in (example, *others)))
    recipe, shapes = CONV[kind]
    compare(recipe, conv_site(shapes, how), example, others)


@pytest.mark.parametrize("kind", POOL)
@given(how=WINDOWS, example=SIZES, others=st.lists(SIZES, min_size=3, max_size=3))
def test_pooling(kind, how, example, others):
    recipe, shapes = POOL[kind]
    compare(recipe, pool_site(shapes, how), example, others)


COMMON = {
    "window": (3, 3),
    "strides": (1, 1, 1, 1),
    "padding": "SAME",
    "dilations": (1, 1, 1, 1),
    "channels": (16, 32),
    "dtype": float32,
    "units": 2,
}


@pytest.mark.parametrize("kind", CONV)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (5, 5)])
def test_common_convolutions_need_no_condition(kind, padding, window):
    recipe, shapes = CONV[kind]
    make = conv_site(shapes, COMMON | {"padding": padding, "window": window})
    assert answers(recipe, make, (8, 30, 40), [(3, 31, 200)]) is not None


@pytest.mark.parametrize("kind", POOL)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_common_pooling_needs_no_condition(kind, padding):
    recipe, shapes = POOL[kind]
    make = pool_site(shapes, COMMON | {"padding": padding, "window": (2, 2), "strides": (1, 2, 2, 1)})
    assert answers(recipe, make, (8, 30, 40), [(3, 31, 200)]) is not None
