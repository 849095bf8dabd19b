"""Times of a step."""

from __future__ import annotations

from types import SimpleNamespace

from tfnb.runtime.stats import HOST, StepStats


def test_times_begin_with_the_step_and_come_in_order():
    stats = StepStats()
    first = stats.now_us()
    stats.host(SimpleNamespace(name="print", id=3), first, 16)
    stats.launch("/device:CPU:0", "add", (1, 2), first - 1, first + 5, 400)
    one, two = stats.in_order()
    assert (one.label, one.nodes, one.nbytes) == ("add", (1, 2), 400)
    assert (two.label, two.device, two.nodes, two.nbytes) == ("print", HOST, (3,), 16)
    assert 0 <= first == two.start_us <= two.end_us <= stats.now_us()
