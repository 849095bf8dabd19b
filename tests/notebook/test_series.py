"""Thinning keeps extremes; smoothing starts right; the picture survives any value."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.notebook.chart_svg import line_chart_svg
from tfnb.notebook.series import Series

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=500), st.integers(10, 100))
def test_thinning_keeps_extremes_and_the_newest(values, most):
    series = Series("loss", 0.5)
    for i, v in enumerate(values):
        series.add(i, v)
    curve = series.curve(most)
    assert len(curve.steps) <= most + 3
    assert curve.steps[-1] == len(values) - 1
    assert (np.diff(curve.steps) > 0).all()
    np.testing.assert_array_equal(curve.values, np.array(values)[curve.steps.astype(int)])
    length = 1 if len(values) <= most else -(-2 * len(values) // most)
    for begin in range(0, len(values), length):
        stretch = values[begin : begin + length]
        shown = curve.values[(curve.steps >= begin) & (curve.steps < begin + length)]
        assert {min(stretch), max(stretch)} <= set(shown)


def test_a_single_spike_stays():
    series = Series("loss", 0.9)
    for i in range(100_001 + 500):
        series.add(i, {31_415: 7.0, 100_400: -7.0}.get(i, 1.0))
    assert series.curve(200).values.max() == 7.0
    assert series.curve(200).values.min() == -7.0


def test_smoothing():
    series = Series("loss", 0.9)
    for i in range(100):
        series.add(i, math.nan if i == 50 else 3.0)
    np.testing.assert_allclose(series.curve(1000).smooth, 3.0)
    plain = Series("loss", 0.0)
    for i in range(100):
        plain.add(i, i)
    assert plain.curve(1000).smooth is None


@settings(max_examples=100, deadline=None)
@given(st.lists(NUMBERS, max_size=80), st.booleans(), st.text(max_size=10))
def test_the_picture_is_xml_whatever_comes(values, log, name):
    name = "".join(c for c in name if c.isprintable())
    series = Series(name, 0.9)
    for i, v in enumerate(values):
        series.add(i, v)
    svg = line_chart_svg([series.curve(300)], log)
    ET.fromstring(svg)
    assert "nan" not in svg.replace(name, "").split("<text")[0]


def test_an_empty_chart():
    assert "no finite values" in line_chart_svg([])


@pytest.mark.parametrize("value", [0.0, -2.5, 1e-30, 1e30])
def test_one_value(value):
    series = Series("loss", 0.9)
    series.add(0, value)
    assert "<circle" in line_chart_svg([series.curve(10)])
