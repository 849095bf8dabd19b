"""Times of a step."""

from __future__ import annotations

from types import SimpleNamespace

from tfnb.runtime.stats import HOST, KERNEL, WAIT, StepStats


def test_times_begin_with_the_step_and_come_in_order():
    stats = StepStats()
    first = stats.now_us()
    stats.host(SimpleNamespace(name="print", id=3), first, 16)
    stats.later(lambda: stats.launch("/device:CPU:0", "queue", "add", (1, 2), first - 1, first + 5, 400))
    stats.span(WAIT, "wait", first, detail="for an element", lane="asynchronous")
    one, two = stats.in_order(KERNEL, HOST)
    assert (one.label, one.nodes, one.nbytes) == ("add", (1, 2), 400)
    assert (two.label, two.device, two.nodes, two.nbytes) == ("print", HOST, (3,), 16)
    assert 0 <= first == two.start_us <= two.end_us <= stats.now_us()
    (waited,) = stats.in_order(WAIT)
    assert (waited.lane, waited.detail, two.lane) == ("asynchronous", "for an element", "MainThread")
    assert 0 < stats.wall_us <= stats.now_us()
