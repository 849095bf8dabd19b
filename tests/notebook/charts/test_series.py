"""Downsampling keeps extremes; smoothing is the browser's; the picture survives any value."""

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.notebook.charts.chart_svg import line_chart_svg
from tfnb.notebook.charts.loss_figure import loss_document
from tfnb.notebook.charts.series import Curve, SmoothedSeries, break_of, smoothed

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=500), st.integers(10, 100))
def test_downsampling_keeps_extremes_and_ends(values, most):
    series = SmoothedSeries("loss", 0.5)
    for i, v in enumerate(values):
        series.add(i, v)
    curve = series.curve(most)
    assert len(curve.steps) <= most
    assert (curve.values.min(), curve.values.max()) == (min(values), max(values))
    assert (curve.steps[0], curve.steps[-1]) == (0, len(values) - 1)
    assert (np.diff(curve.steps) > 0).all()
    assert [values[int(step)] for step in curve.steps] == curve.values.tolist()
    # Of a part of the series too.
    part = series.curve(most, len(values) // 2)
    assert (part.values.min(), part.values.max()) == (min(values[len(values) // 2 :]), max(values[len(values) // 2 :]))


def test_a_single_spike_stays():
    series = SmoothedSeries("loss", 0.9)
    for i in range(100_001 + 500):
        series.add(i, {31_415: 7.0, 100_400: -7.0}.get(i, 1.0))
    assert series.curve(200).values.max() == 7.0
    assert series.curve(200).values.min() == -7.0


def test_smoothing():
    series = SmoothedSeries("loss", 0.9)
    for i in range(100):
        series.add(i, math.nan if i == 50 else 3.0)
    np.testing.assert_allclose(np.delete(series.curve(1000).smooth, 50), 3.0)
    plain = SmoothedSeries("loss", 0.0)
    for i in range(100):
        plain.add(i, i)
    assert plain.curve(1000).smooth is None


@pytest.mark.parametrize("case", json.loads((Path(__file__).parent / "smoothing.json").read_text()))
def test_smoothing_is_that_of_the_browser(case):
    """labextension/tests/smoothing.test.ts reads the same file."""
    series = SmoothedSeries("loss", case["weight"])
    for i, value in enumerate(map(float, case["values"])):
        series.add(i, value)
    np.testing.assert_allclose(list(series._smooth), list(map(float, case["smoothed"])), rtol=1e-12)
    values = np.array(list(map(float, case["values"])))
    np.testing.assert_allclose(smoothed(values, case["weight"]), list(map(float, case["smoothed"])), rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.lists(NUMBERS, max_size=80), st.booleans(), st.text(max_size=10))
def test_the_picture_is_xml_whatever_comes(values, log, name):
    name = "".join(c for c in name if c.isprintable())
    series = SmoothedSeries(name, 0.9)
    for i, v in enumerate(values):
        series.add(i, v)
    svg = line_chart_svg([series.curve(300)], log)
    ET.fromstring(svg)
    assert "nan" not in svg.replace(name, "").split("<text")[0]


def test_an_empty_chart():
    assert "no finite values" in line_chart_svg([])


@pytest.mark.parametrize("value", [0.0, -2.5, 1e-30, 1e30])
def test_one_value(value):
    series = SmoothedSeries("loss", 0.9)
    series.add(0, value)
    assert "<circle" in line_chart_svg([series.curve(10)])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], None),
        ([math.nan] * 3, "NaN since step 10"),
        ([1.0, math.inf, math.nan], "inf since step 20"),
        ([1.0, -math.inf, 3.0], "-inf at step 20"),
        ([1.0, 2.0, math.nan], "NaN since step 30"),
    ],
)
def test_where_a_curve_breaks_off_is_said_and_marked(values, words):
    steps = 10.0 * np.arange(1, len(values) + 1)
    found = break_of(steps, np.array(values))
    assert (found and found.words) == words
    curve = Curve("loss", steps, np.array(values), None)
    svg = line_chart_svg([curve])
    assert (words is None) == ("stroke-dasharray" not in svg)
    assert words is None or words in svg
    assert words is None or f">{steps[0]:g}<" in svg or np.isfinite(values).any(), "no axis of steps"
    document = json.dumps(loss_document([curve]))
    assert words is None or words in document


def test_a_chart_of_nothing_but_nan_has_axes():
    """Bokeh draws no axes for ranges that follow such a curve."""
    models = json.dumps(loss_document([Curve("loss", np.arange(20.0), np.full(20, np.nan), None)]))
    assert "DataRange1d" not in models and models.count("Range1d") >= 2


def test_a_long_series_tells_the_first_nan():
    series = SmoothedSeries("loss", 0.9)
    for i in range(5_000):
        series.add(i, math.nan if i == 3_333 or i > 4_000 else 1.0)
    assert series.curve(100).break_off.step == 3_333
    assert series.curve(5).break_off.step == 3_333
