"""The schedule of plans without control flow against the propagator: what fires, live or dead, and what is fetched."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.errors import InternalError
from tfnb.runtime.frames import DEAD
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.propagate import Propagator
from tfnb.runtime.static_schedule import StaticSchedule

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


@settings(max_examples=200, deadline=None)
@given(plans(), st.integers(0, 2**32))
def test_as_the_propagator(case, seed):
    plan, dead = case
    assert plan.is_static
    wanted = execute(Propagator(plan), plan, dead, random.Random(seed))
    for k in range(3):
        assert execute(StaticSchedule(plan), plan, dead, random.Random(seed + k)) == wanted


def test_long_chains_of_dead_nodes():
    nodes = [PlanNode(K.RECV)] + [PlanNode(K.HOST, 1, ((i, 0),)) for i in range(5000)]
    schedule = StaticSchedule(build_plan(nodes, [(5000, 0)]))
    (recv,) = schedule.start()
    assert schedule.done(recv, DEAD) == [] and schedule.finished and schedule.results() == [DEAD]


def test_what_waits_is_told():
    nodes = [PlanNode(K.RECV, name="first"), PlanNode(K.HOST, 1, ((0, 0),), (0,), name="second")]
    schedule = StaticSchedule(build_plan(nodes))
    (recv,) = schedule.start()
    assert schedule.explain() == "'first' is running\n'second' waits for 'first' output 0, 'first' (control)"
    assert schedule.explain() == by_propagator(build_plan(nodes))
    schedule.cancel()
    assert schedule.done(recv, ["late"]) == [] and not schedule.finished


def by_propagator(plan):
    step = Propagator(plan)
    step.start()
    return step.explain()


def test_refusals():
    plan = build_plan([PlanNode(K.FEED), PlanNode(K.HOST, 1, ((0, 0),))])
    with pytest.raises(InternalError, match="0 feeds came, the plan has 1"):
        StaticSchedule(plan).start()
    schedule = StaticSchedule(plan)
    (ready,) = schedule.start(["x"])
    with pytest.raises(InternalError, match="has not finished"):
        schedule.results()
    with pytest.raises(InternalError, match="gave 2 outputs, its plan says 1"):
        schedule.done(ready, [1, 2])
    with pytest.raises(InternalError, match="done without running"):
        schedule.done(ready, [1])
