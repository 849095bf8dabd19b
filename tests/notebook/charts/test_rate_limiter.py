"""The rate of drawing: as wished while it is cheap, never above its share, one expensive drawing delays nothing."""

import numpy as np
import pytest

from tfnb.notebook.charts.rate_limiter import SHARE, RateLimiter


def drawings(took, seconds=60.0, wished=0.17):
    """Seconds between the drawings, when each takes what `took` gives."""
    now = [0.0]
    limiter = RateLimiter(wished, clock=lambda: now[0])
    times = []
    while now[0] < seconds:
        times.append(now[0])
        cost = took(len(times))
        now[0] += cost
        limiter.record(cost)
        now[0] += limiter.pause
    return np.diff(times), sum(took(k + 1) for k in range(len(times))) / now[0]


def test_cheap_drawings_come_as_often_as_wished():
    gaps, share = drawings(lambda _k: 0.003)
    assert gaps.max() < 0.2 and share < SHARE


@pytest.mark.parametrize("cost", [0.01, 0.05, 0.4])
def test_expensive_drawings_take_no_more_than_their_share(cost):
    gaps, share = drawings(lambda _k: cost)
    assert share < SHARE * 1.1
    np.testing.assert_allclose(np.median(gaps), cost / SHARE, rtol=0.1)


def test_a_single_expensive_drawing_delays_nothing():
    gaps, _ = drawings(lambda k: 0.04 if k == 100 else 0.002)
    assert gaps.max() < 0.25
