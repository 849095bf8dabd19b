"""Clocks of other tasks: the estimate is right to its own bound, gets better, follows drift and clocks that are set."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tfnb.session.dask.clocks import DRIFT, Clock

delays = st.floats(1e-5, 0.5)


def ask(clock, at, ahead, there, thinks, back):
    """A message there and back at `at`, by the reference clock, which is the other's minus `ahead`."""
    came = at + there
    left = came + thinks
    clock.measure(at, came + ahead(came), left + ahead(left), left + back, now=left + back)
    return left + back


@given(st.floats(-1e5, 1e5), st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=30))
def test_the_error_is_within_its_bound(offset, messages):
    clock, at = Clock(), 1000.0
    assert clock.ahead == 0 and clock.error() == math.inf
    for there, thinks, back in messages:
        at = ask(clock, at, lambda _: offset, there, thinks, back) + 1.0
        assert abs(clock.ahead - offset) <= clock.error(at) + 1e-9
    best = min((there + back) / 2 for there, _, back in messages)
    assert clock.error(at) <= best + DRIFT * (at - 1000.0) + 1e-9


@given(st.floats(-DRIFT, DRIFT), st.lists(st.tuples(delays, delays), min_size=50, max_size=120))
def test_drift_is_followed(drift, messages):
    clock, at = Clock(), 0.0
    for there, back in messages:
        at = ask(clock, at, lambda t: 7.0 + drift * t, there, 0.0, back) + 60.0
        assert abs(clock.ahead - (7.0 + drift * at)) <= clock.error(at) + 1e-9


def test_a_quick_answer_counts_more_than_a_slow_one_and_not_for_ever():
    clock = Clock()
    ask(clock, 0.0, lambda _: 3.0, 0.001, 0.0, 0.001)
    ask(clock, 1.0, lambda _: 3.0, 0.2, 0.0, 0.0)
    assert abs(clock.ahead - 3.0) < 1e-9
    ask(clock, 3600.0, lambda _: 3.0, 0.1, 0.0, 0.02)  # by now the first one may be wrong by 0.18 s
    assert 0.03 < clock.ahead - 3.0 < 0.05


def test_a_clock_that_was_set_is_noticed():
    clock = Clock()
    ask(clock, 0.0, lambda _: 3.0, 0.001, 0.0, 0.001)
    ask(clock, 1.0, lambda _: -50.0, 0.01, 0.0, 0.01)
    assert abs(clock.ahead + 50) < 0.011
    clock.measure(10.0, 5.0, 6.0, 9.0)  # it came back before it left
    assert abs(clock.ahead + 50) < 0.011
