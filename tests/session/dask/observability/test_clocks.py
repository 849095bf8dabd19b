"""Clocks of other tasks: the estimate is right to its own bound, gets better, follows drift and clocks that jump."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tfnb.session.dask.observability.clocks import DRIFT, Clock, agreed

delays = st.floats(1e-5, 0.5)


def ask(clock, at, ahead, there, thinks, back):
    """A message there and back at `at`, by the reference clock, which is the other's minus `ahead`."""
    came = at + there
    left = came + thinks
    clock.measure(at, came + ahead(came), left + ahead(left), left + back)
    return left + back


@given(st.floats(-1e5, 1e5), st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=30))
def test_the_error_is_within_its_bound(offset, messages):
    clock, at = Clock(), 1000.0
    assert clock.ahead == 0 and clock.error() == math.inf
    for there, thinks, back in messages:
        at = ask(clock, at, lambda _: offset, there, thinks, back) + 1.0
        assert abs(clock.ahead - offset) <= clock.error(at) + 1e-9
    best = (min(there for there, _, _ in messages) + min(back for _, _, back in messages)) / 2
    assert clock.error(at) <= best + DRIFT * (at - 1000.0) + 1e-9


@given(st.floats(-DRIFT, DRIFT), st.lists(st.tuples(delays, delays), min_size=50, max_size=120))
def test_drift_is_followed(drift, messages):
    clock, at = Clock(), 0.0
    for there, back in messages:
        at = ask(clock, at, lambda t: 7.0 + drift * t, there, 0.0, back) + 60.0
        assert abs(clock.ahead - (7.0 + drift * at)) <= clock.error(at) + 1e-9


@given(st.floats(-10, 10), st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=20))
def test_what_was_asked_and_heard_stays_between_both(offset, messages):
    """Whatever was measured before: by the master's clock nothing is done before it was asked, or after it is heard,
    but for what clocks may drift meanwhile."""
    clock, at = Clock(), 0.0
    for there, thinks, back in messages:
        heard = ask(clock, at, lambda _: offset, there, thinks, back)
        came, left = at + there + offset, at + there + thinks + offset
        drift = DRIFT * (heard - at) + 1e-9
        assert at - drift <= came - clock.ahead <= left - clock.ahead <= heard + drift
        at = heard + 1e-3


def test_a_quick_answer_counts_more_than_a_slow_one_and_not_for_ever():
    clock = Clock()
    ask(clock, 0.0, lambda _: 3.0, 0.001, 0.0, 0.001)
    ask(clock, 1.0, lambda _: 3.0, 0.2, 0.0, 0.2)
    assert abs(clock.ahead - 3.0) < 1e-9
    ask(clock, 3600.0, lambda _: 3.0, 0.1, 0.0, 0.02)  # by now the first one may be wrong by 0.18 s
    assert 0.03 < clock.ahead - 3.0 < 0.05


def test_a_way_that_is_quick_once_counts_though_the_other_was_slow():
    clock = Clock()
    ask(clock, 0.0, lambda _: 3.0, 0.001, 0.0, 0.5)
    ask(clock, 1.0, lambda _: 3.0, 0.5, 0.0, 0.001)
    assert abs(clock.ahead - 3.0) <= clock.error(1.501) < 0.0012


def test_a_clock_that_jumped_is_noticed():
    clock = Clock()
    ask(clock, 0.0, lambda _: 3.0, 0.001, 0.0, 0.001)
    ask(clock, 1.0, lambda _: -50.0, 0.01, 0.0, 0.01)
    assert abs(clock.ahead + 50) < 0.011
    clock.measure(10.0, 5.0, 6.0, 9.0)  # it came back before it left
    assert abs(clock.ahead + 50) < 0.011


offsets = st.lists(st.floats(-5, 5), min_size=2, max_size=5)


@given(offsets, st.data())
def test_what_was_sent_comes_afterwards(ahead, data):
    """Clocks that are known loosely agree with every message between them, and are never known less well for it."""
    pick = st.integers(0, len(ahead) - 1)
    bounds = {k: (a - data.draw(delays), a + data.draw(delays)) for k, a in enumerate(ahead)}
    bounds[0] = (ahead[0], ahead[0])  # the master's own
    took = data.draw(st.dictionaries(st.tuples(pick, pick), delays, max_size=8))
    late = {(a, b): t + ahead[b] - ahead[a] for (a, b), t in took.items()}
    found = agreed(bounds, late)
    for k, (low, high) in bounds.items():
        assert low - 1e-9 <= found[k] <= high + 1e-9
    for (a, b), least in late.items():
        assert found[b] - found[a] <= least + 1e-9


def test_clocks_that_contradict_a_message_stay_as_they_were_measured():
    assert agreed({"a": (0.0, 0.0), "b": (1.0, 3.0)}, {("a", "b"): -5.0, ("b", "a"): -5.0}) == {"a": 0.0, "b": 2.0}
