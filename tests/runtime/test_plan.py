"""Plans: what `build_plan` lays out and what it refuses."""

from __future__ import annotations

import dataclasses

import pytest

from tfnb.errors import GraphError
from tfnb.runtime.plan import ROOT, PlanError, PlanKind, PlanNode, build_plan

K = PlanKind


def node(kind, *inputs, name="", control=(), n_outputs=None, **more):
    """A PlanNode; an input may be a bare node index (its output 0)."""
    edges = tuple(i if isinstance(i, tuple) else (i, 0) for i in inputs)
    if n_outputs is None:
        n_outputs = {K.SWITCH: 2, K.MERGE: 2, K.NO_OP: 0, K.CONTROL_TRIGGER: 0}.get(kind, 1)
    return PlanNode(kind, n_outputs, edges, tuple(control), name, **more)


def loop(**changes):
    """while i < limit: i += 1, as eleven nodes; `changes` replaces some, by name."""
    nodes = [
        node(K.FEED, name="start"),
        node(K.FEED, name="limit"),
        node(K.ENTER, 0, name="enter", frame="loop"),
        node(K.ENTER, 1, name="limit_in", frame="loop", is_constant=True),
        node(K.MERGE, 2, 9, name="merge"),
        node(K.HOST, 4, 3, name="less"),
        node(K.LOOP_COND, 5, name="cond"),
        node(K.SWITCH, 4, 6, name="switch"),
        node(K.HOST, (7, 1), name="inc"),
        node(K.NEXT_ITERATION, 8, name="next"),
        node(K.EXIT, (7, 0), name="exit"),
    ]
    return [changes.get(n.name, n) for n in nodes]


def test_loop_frames_and_counts():
    plan = build_plan(loop(), fetches=[(10, 0)])
    root, body = plan.frames
    assert (root.name, root.parent, root.n_children, root.n_enters) == ("root", -1, 1, 0)
    assert (body.name, body.parent, body.n_children, body.n_enters) == ("loop", ROOT, 0, 2)
    assert body.parallel_iterations == 10
    assert root.nodes == (0, 1, 2, 3)  # Enters fire outside, Exits inside
    assert body.nodes == (4, 5, 6, 7, 8, 9, 10)
    assert plan.out_frame[2] == body.index and plan.out_frame[10] == ROOT
    assert body.first_counts == (1, 2, 1, 2, 1, 1, 1, 1)
    assert body.next_counts == body.first_counts
    assert body.exits == (6,)
    assert plan.feeds == (0, 1)
    assert not plan.is_single_cluster


def test_two_enters_make_first_counts_differ():
    nodes = loop(merge=node(K.MERGE, 2, 11, 9, name="merge"))
    nodes.append(node(K.ENTER, 0, name="second", frame="loop"))
    body = build_plan(nodes).frames[1]
    assert body.first_counts[-1] == 2 and body.next_counts[-1] == 1


def test_plan_is_immutable_integers():
    plan = build_plan(loop())
    hash(plan)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.feeds = ()
    for table in plan.frames:
        assert all(type(k) is int for k in table.kinds)


def test_same_name_in_two_enclosing_frames_is_two_frames():
    nodes = []
    for start in (0, 1):
        base = len(nodes)
        nodes += [
            node(K.FEED),
            node(K.ENTER, base, frame=f"outer{start}"),
            node(K.MERGE, base + 1, base + 8),
            node(K.ENTER, base + 2, frame="inner", is_constant=True),
            node(K.HOST, base + 3),
            node(K.EXIT, base + 4),
            node(K.HOST, base + 5),
            node(K.SWITCH, base + 2, base + 6),
            node(K.NEXT_ITERATION, (base + 7, 1)),
        ]
    plan = build_plan(nodes)
    names = sorted(t.name for t in plan.frames)
    assert names == ["inner", "inner", "outer0", "outer1", "root"]
    inner = [t for t in plan.frames if t.name == "inner"]
    assert inner[0].parent != inner[1].parent


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node(K.FEED), node(K.CLUSTER, 0), node(K.NO_OP, control=[1])], True),
        ([node(K.CLUSTER, n_outputs=3)], True),
        ([node(K.FEED), node(K.HOST, 0)], False),
        ([node(K.CLUSTER), node(K.CLUSTER, 0)], False),
        ([node(K.CLUSTER), node(K.RECV)], False),
        ([], False),
    ],
)
def test_single_cluster(nodes, expected):
    plan = build_plan(nodes)
    assert plan.is_single_cluster is expected
    if expected:
        assert plan.nodes[plan.cluster].kind == K.CLUSTER


def refuse(nodes, *words, fetches=()):
    with pytest.raises(PlanError) as info:
        build_plan(nodes, fetches)
    for word in words:
        assert word in str(info.value)
    assert isinstance(info.value, GraphError)
    return info.value


def test_cycle_is_named():
    error = refuse(
        [
            node(K.FEED, name="x"),
            node(K.HOST, 0, 3, name="a"),
            node(K.HOST, 1, name="b"),
            node(K.HOST, 2, name="c"),
            node(K.HOST, 3, name="after"),
        ],
        "HOST 'b' -> HOST 'c' -> HOST 'a' -> HOST 'b'",
    )
    assert error.node in (1, 2, 3)


def test_cycle_by_control_edge():
    refuse([node(K.HOST, name="a", control=[1]), node(K.HOST, 0, name="b")], "cycle", "'a'", "'b'")


def test_cycle_through_itself():
    refuse([node(K.HOST, 0, name="a")], "HOST 'a' -> HOST 'a'")


def test_loop_without_next_iteration_is_a_cycle():
    refuse(loop(next=node(K.HOST, 8, name="next")), "cycle", "'merge'", "'inc'", "'next'")


def test_inputs_of_different_frames():
    error = refuse(
        loop(less=node(K.HOST, 4, 1, name="less")),
        "'less'",
        "different frames",
        "'merge' is in frame 'loop'",
        "'limit' is in the root frame",
    )
    assert error.node == 5


def test_control_edge_from_another_frame():
    refuse(loop(inc=node(K.HOST, (7, 1), name="inc", control=[0])), "'inc'", "different frames")


def test_exit_and_next_iteration_need_a_loop():
    refuse([node(K.FEED), node(K.EXIT, 0, name="out")], "EXIT 'out'", "in no loop")
    refuse([node(K.FEED), node(K.NEXT_ITERATION, 0, name="n"), node(K.MERGE, 0, 1)], "'n'", "no loop")


def test_next_iteration_feeds_merges_only():
    refuse([*loop(), node(K.HOST, 9, name="reader")], "'next' feeds HOST 'reader'")
    refuse([*loop(), node(K.NO_OP, name="reader", control=[9])], "'next' feeds NO_OP 'reader'")


def test_enter_feeds_merges_only_unless_constant():
    refuse([*loop(), node(K.HOST, 2, name="reader")], "'enter' feeds HOST 'reader'")
    refuse([*loop(), node(K.NO_OP, name="reader", control=[2])], "'enter' feeds NO_OP 'reader'")
    build_plan([*loop(), node(K.HOST, 3), node(K.NO_OP, control=[3])])


def test_merge_of_a_loop():
    refuse(loop(merge=node(K.MERGE, 9, name="merge")), "'merge'", "no input but NextIterations")
    refuse(loop(merge=node(K.MERGE, 2, name="merge")), "'merge'", "no NextIteration closes it")
    refuse(loop(merge=node(K.MERGE, 2, 3, 9, name="merge")), "'limit_in' is neither")


def test_next_iteration_of_another_frame():
    nodes = [*loop(), node(K.FEED)]
    nodes.append(node(K.ENTER, 11, frame="other"))
    nodes.append(node(K.MERGE, 12, 9, name="foreign"))
    refuse(nodes, "'next' in frame 'loop'", "'foreign' in frame 'other'")


def test_enters_disagree_on_parallel_iterations():
    odd = node(K.ENTER, 1, name="limit_in", frame="loop", is_constant=True, parallel_iterations=3)
    refuse(loop(limit_in=odd), "parallel_iterations 3", "wants 10")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (node(K.SWITCH, 0, name="s"), ["SWITCH 's' has 1 inputs, it needs 2"]),
        (node(K.SWITCH, 0, 0, name="s", n_outputs=1), ["1 outputs, it needs 2"]),
        (node(K.MERGE, name="m"), ["MERGE 'm' has no input"]),
        (node(K.LOOP_COND, 0, 0), ["LOOP_COND '#1' has 2 inputs, it needs 1"]),
        (node(K.FEED, control=[0]), ["a feed waits for nothing"]),
        (node(K.ENTER, 0), ["needs the name of a frame"]),
        (node(K.ENTER, 0, frame="f", parallel_iterations=0), ["parallel_iterations 0"]),
        (node(K.HOST, 7), ["output 0 of node 7: not there"]),
        (node(K.HOST, (0, 1)), ["output 1 of node 0: not there"]),
        (node(K.HOST, (0, -2)), ["output -2 of node 0: not there"]),
        (node(K.HOST, control=[-1]), ["control edge from node -1: not there"]),
    ],
)
def test_malformed_node(bad, words):
    assert refuse([node(K.FEED), bad], *words).node == 1


def test_fetches():
    refuse(loop(), "fetch of output 1 of node 0", fetches=[(0, 1)])
    refuse(loop(), "fetch of output 0 of node 99", fetches=[(99, 0)])
    error = refuse(loop(), "HOST 'inc' in frame 'loop'", "Exit", fetches=[(8, 0)])
    assert error.node == 8
