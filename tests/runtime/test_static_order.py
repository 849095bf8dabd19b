"""The static order of plans without control flow against the propagator: what runs, live or dead, what is fetched."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.errors import InternalError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.frames import DEAD
from tfnb.runtime.part import PlanPart
from tfnb.runtime.pickers import StaticPicker
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.program import ProgramPart
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.static_order import StaticOrder
from tfnb.system.interrupts import HeldInterrupts

K = PlanKind


@st.composite
def plans(draw):
    """(plan, the RECVs whose value is dead)."""
    kinds = draw(st.lists(st.sampled_from((K.FEED, K.RECV, K.CLUSTER, K.HOST, K.ASYNC, K.NO_OP, K.SEND)), max_size=14))
    nodes: list[PlanNode] = []
    for kind in kinds:
        slots = [(i, k) for i, n in enumerate(nodes) for k in range(n.n_outputs)]
        width = (
            1 if kind == K.SEND and slots else draw(st.integers(0, 3)) if kind in (K.CLUSTER, K.HOST, K.ASYNC) else 0
        )
        inputs = tuple(draw(st.sampled_from(slots)) for _ in range(width if slots else 0))
        some = (
            st.lists(st.integers(0, len(nodes) - 1), max_size=2, unique=True)
            if nodes and kind != K.FEED
            else st.just([])
        )
        n_outputs = 1 if kind in (K.FEED, K.RECV) else 0 if kind in (K.SEND, K.NO_OP) else draw(st.integers(0, 2))
        nodes.append(PlanNode(kind, n_outputs, inputs, tuple(draw(some))))
    slots = [(i, k) for i, n in enumerate(nodes) for k in range(n.n_outputs)]
    fetches = draw(st.lists(st.sampled_from(slots), max_size=3)) if slots else []
    recvs = [i for i, n in enumerate(nodes) if n.kind == K.RECV]
    return build_plan(nodes, fetches), draw(st.sets(st.sampled_from(recvs))) if recvs else set()


def execute(schedule, plan, dead, rng):
    """What was handed out, live or dead, with which inputs; and the fetches."""
    pool, seen = schedule.start([f"feed{i}" for i in plan.feeds]), {}
    while pool:
        ready = pool.pop(rng.randrange(len(pool)))
        assert ready.node not in seen and ready.tag == "" and ready in schedule
        seen[ready.node] = ready.is_dead, ready.inputs
        outputs = [f"{ready.node}:{k}" for k in range(plan.nodes[ready.node].n_outputs)]
        pool += schedule.done(ready, DEAD if ready.node in dead else outputs)
    assert schedule.finished, schedule.explain()
    return seen, schedule.results()


class Step:
    """Runs the nodes of a static order as `execute` does; those that finish later do so in a random order."""

    recorder, cancellation, held, has_deadline = None, Cancellation(), HeldInterrupts(), False

    def __init__(self, plan, dead=(), rng=None, pooled=()):
        self.plan, self.dead, self.rng = plan, dead, rng or random.Random(0)
        self.seen, self.pool = {}, []
        payloads = [Kernel(self, n, n in pooled) for n in range(len(plan.nodes))]
        part = ProgramPart(PlanPart(plan, tuple(payloads)))
        self.picker = StaticPicker(part, part.order)

    def outputs(self, node):
        return [f"{node}:{k}" for k in range(self.plan.nodes[node].n_outputs)]

    def note(self, node, is_dead, inputs):
        assert node not in self.seen
        self.seen[node] = is_dead, tuple(inputs)

    def start(self, picker, ready, is_last):
        self.note(ready.node, ready.is_dead, ready.inputs)
        self.pool.append(ready)

    def receive(self, picker, recvs):
        for ready in recvs:
            self.start(picker, ready, False)

    def send(self, part, node, inputs, is_dead, tag):
        self.note(node, is_dead, inputs)

    def run(self):
        self.picker.start([f"feed{i}" for i in self.plan.feeds], self)
        self.picker.advance(self)
        while self.pool:
            ready = self.pool.pop(self.rng.randrange(len(self.pool)))
            assert ready in self.picker and not self.picker.finished
            if self.picker.deliver(ready, DEAD if ready.node in self.dead else self.outputs(ready.node)):
                self.picker.advance(self)
        assert self.picker.finished, self.picker.explain()
        return self.seen


class Kernel:
    """Notes that it ran, and with which inputs."""

    def __init__(self, step, node, expensive):
        self.step, self.number, self.expensive = step, node, expensive

    def run(self, inputs, recorder=None):
        self.step.note(self.number, False, inputs)
        return self.step.outputs(self.number)


@settings(max_examples=200, deadline=None)
@given(plans(), st.integers(0, 2**32), st.data())
def test_as_the_propagator(case, seed, data):
    plan, dead = case
    assert plan.is_static
    wanted, fetches = execute(Propagator(plan), plan, dead, random.Random(seed))
    hosts = [n for n, kind in enumerate(plan.kinds) if kind == K.HOST]
    pooled = data.draw(st.sets(st.sampled_from(hosts))) if hosts else set()
    for k in range(3):
        step = Step(plan, dead, random.Random(seed + k), pooled)
        assert step.run() == wanted
        if DEAD in fetches:
            with pytest.raises(InvalidArgumentError, match="on a branch that was not taken"):
                step.picker.results()
        else:
            assert list(step.picker.results()) == fetches


@settings(max_examples=200, deadline=None)
@given(plans(), st.integers(0, 2**32))
def test_a_value_is_dropped_after_its_last_reader(case, seed):
    plan, _ = case
    readers = [
        {n for n, node in enumerate(plan.nodes) if i in [s for s, _ in node.inputs]} for i in range(len(plan.nodes))
    ]
    fetched = {source for source, _ in plan.fetches}
    step = Step(plan, rng=random.Random(seed))
    note = step.note

    def check(node, is_dead, inputs):
        ranges = step.picker._order.ranges
        for source, (begin, end) in enumerate(ranges):
            ahead = readers[source] - step.seen.keys()
            if (
                source in step.seen
                and source not in [ready.node for ready in step.pool]
                and (ahead or source in fetched)
            ):
                assert None not in step.picker._values[begin:end]  # still to be read
        note(node, is_dead, inputs)

    step.note = check
    step.run()
    for source, (begin, end) in enumerate(step.picker._order.ranges):
        if source not in fetched and (readers[source] or plan.kinds[source] in (K.CLUSTER, K.HOST)):
            assert step.picker._values[begin:end] == [None] * (end - begin)


def test_long_chains_of_dead_nodes():
    nodes = [PlanNode(K.RECV)] + [PlanNode(K.HOST, 1, ((i, 0),)) for i in range(5000)]
    step = Step(build_plan(nodes, [(5000, 0)]), {0})
    assert step.run() == {0: (False, ())}
    with pytest.raises(InvalidArgumentError):
        step.picker.results()


def test_long_chains_of_nodes_that_finish_later():
    nodes = [PlanNode(K.RECV)] + [PlanNode(K.ASYNC, 1, ((i, 0),)) for i in range(2000)]
    step = Step(build_plan(nodes, [(2000, 0)]))
    assert len(step.run()) == 2001 and list(step.picker.results()) == ["2000:0"]


def test_segments():
    """a and b need nothing, c the first Recv, d both; b's value is read last by d."""
    nodes = [
        PlanNode(K.HOST, name="a"),
        PlanNode(K.HOST, 1, ((0, 0),), name="b"),
        PlanNode(K.RECV, name="r"),
        PlanNode(K.RECV, name="s"),
        PlanNode(K.HOST, 1, ((2, 0), (1, 0)), name="c"),
        PlanNode(K.HOST, 1, ((4, 0), (3, 0), (1, 0)), name="d"),
    ]
    order = _order(nodes, [(5, 0)])
    assert [[stage.node for stage in segment.stages] for segment in order.segments] == [[0, 1], [4], [5]]
    assert [ready.node for ready in order.first_recvs] == [2, 3]
    assert order.pending == (0, 2, 3) and order.opens == {2: [1], 3: [2]}
    frees = {stage.node: set(stage.free) for segment in order.segments for stage in segment.stages}
    first = order.first
    assert frees == {0: set(), 1: {first[0]}, 4: {first[2]}, 5: {first[1], first[3], first[4]}}


def test_a_value_that_two_segments_read_is_dropped_when_both_have_run():
    nodes = [
        PlanNode(K.HOST, name="a"),
        PlanNode(K.RECV, name="r"),
        PlanNode(K.RECV, name="s"),
        PlanNode(K.HOST, 0, ((0, 0), (1, 0)), name="c"),
        PlanNode(K.HOST, 0, ((0, 0), (2, 0)), name="d"),
    ]
    order = _order(nodes, [])
    assert [[stage.node for stage in segment.stages] for segment in order.segments] == [[0], [3], [4], []]
    assert order.segments[3].free == (order.first[0],) and order.pending[3] == 2
    assert order.segments[1].opens == order.segments[2].opens == (3,)


def _order(nodes, fetches):
    plan = build_plan(nodes, fetches)
    later = [n for n, kind in enumerate(plan.kinds) if kind == K.RECV]
    return StaticOrder(plan, [None] * len(nodes), later)


def test_an_explanation_of_what_waits():
    nodes = [PlanNode(K.RECV, name="first"), PlanNode(K.HOST, 1, ((0, 0),), (0,), name="second")]
    step = Step(build_plan(nodes))
    step.picker.start([], step)
    step.picker.advance(step)
    assert step.picker.explain() == "'first' is running\n'second' waits for 'first' output 0, 'first' (control)"
    assert step.picker.explain() == by_propagator(build_plan(nodes))


def by_propagator(plan):
    step = Propagator(plan)
    step.start()
    return step.explain()


def test_refusals():
    plan = build_plan([PlanNode(K.FEED), PlanNode(K.ASYNC, 1, ((0, 0),))])
    with pytest.raises(InternalError, match="0 feeds came, the plan has 1"):
        Step(plan).picker.start([], None)
    step = Step(plan)
    step.picker.start(["x"], step)
    step.picker.advance(step)
    (ready,) = step.pool
    with pytest.raises(InternalError, match="gave 2 outputs, its plan says 1"):
        step.picker.deliver(ready, [1, 2])
    step.picker.deliver(ready, [1])
    with pytest.raises(InternalError, match="done without running"):
        step.picker.deliver(ready, [1])
