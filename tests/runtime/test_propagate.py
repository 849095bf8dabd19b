"""The propagator: each rule by a hand-made plan."""

from __future__ import annotations

import gc
import random

import pytest

from tfnb.errors import InternalError
from tfnb.runtime.frames import Frame, Iteration
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.propagate import DEAD, Propagator

K = PlanKind


class Sketch:
    """Writes plans down by name; an input is "name" (output 0) or ("name", slot)."""

    def __init__(self):
        self.nodes, self.index, self.functions, self.late = [], {}, {}, []

    def __call__(self, kind, name, *inputs, function=None, control=(), **more):
        arity = {K.SWITCH: 2, K.MERGE: 2, K.NO_OP: 0, K.CONTROL_TRIGGER: 0}
        more.setdefault("n_outputs", arity.get(kind, 1))
        self.index[name] = len(self.nodes)
        self.functions[name] = function
        self.nodes.append((kind, name, inputs, control, more))
        return name

    def plan(self, *fetches):
        def edge(i):
            return (self.index[i], 0) if isinstance(i, str) else (self.index[i[0]], i[1])

        nodes = [
            PlanNode(
                kind=kind,
                inputs=tuple(map(edge, inputs)),
                control=tuple(self.index[c] for c in control),
                name=name,
                **more,
            )
            for kind, name, inputs, control, more in self.nodes
        ]
        return build_plan(nodes, [edge(f) for f in fetches])

    def run(self, feeds, *fetches, seed=None):
        """Run with the given or a random order; returns the fetches and the names of what ran."""
        plan = self.plan(*fetches)
        step = Propagator(plan)
        choose = random.Random(seed)
        pool, ran = step.start(feeds), []
        while pool:
            ready = pool.pop(choose.randrange(len(pool)))
            name = plan.name(ready.node)
            ran.append(name if not ready.is_dead else "dead " + name)
            result = self.functions[name](*ready.inputs)
            if result is not DEAD and not isinstance(result, tuple):
                result = (result,)
            pool += step.done(ready, result)
        assert step.finished
        assert_clean(step)
        return step.results(), ran


def assert_clean(step):
    assert not step._root.iterations
    assert not step._work and not step._running
    assert step.waiting() == []
    assert step.explain() == "nothing runs and nothing waits"


def every_order(sketch, feeds, *fetches):
    outcomes = [sketch.run(feeds, *fetches, seed=seed) for seed in range(10)]
    for results, ran in outcomes:
        assert results == outcomes[0][0]
        assert sorted(ran) == sorted(outcomes[0][1])
    return outcomes[0]


def cond():
    """if p: a = x + 1 else: a = x * 10; then a, index = merge."""
    s = Sketch()
    s(K.FEED, "p")
    s(K.FEED, "x")
    s(K.SWITCH, "switch", "x", "p")
    s(K.HOST, "then", ("switch", 1), function=lambda x: x + 1)
    s(K.HOST, "else", ("switch", 0), function=lambda x: x * 10)
    s(K.MERGE, "merge", "else", "then")
    return s


def while_loop(parallel_iterations=10):
    """while i < limit: i += step, where limit and step are loop invariants."""
    s = Sketch()
    for feed in ("start", "limit", "step"):
        s(K.FEED, feed)
    in_loop = {"frame": "loop", "parallel_iterations": parallel_iterations}
    s(K.ENTER, "enter", "start", **in_loop)
    s(K.ENTER, "limit_in", "limit", is_constant=True, **in_loop)
    s(K.ENTER, "step_in", "step", is_constant=True, **in_loop)
    s(K.MERGE, "merge", "enter", "next")
    s(K.HOST, "less", "merge", "limit_in", function=lambda i, limit: i < limit)
    s(K.LOOP_COND, "loop_cond", "less")
    s(K.SWITCH, "switch", "merge", "loop_cond")
    s(K.ASYNC, "add", ("switch", 1), "step_in", function=lambda i, step: i + step)
    s(K.NEXT_ITERATION, "next", "add")
    s(K.EXIT, "exit", ("switch", 0))
    return s


# ---- straight lines ----------------------------------------------------------------------------


def test_diamond():
    s = Sketch()
    s(K.FEED, "x")
    s(K.HOST, "split", "x", n_outputs=2, function=lambda x: (x + 1, x + 2))
    s(K.CLUSTER, "left", ("split", 0), function=lambda x: x * 10)
    s(K.ASYNC, "right", ("split", 1), function=lambda x: x * 100)
    s(K.HOST, "join", "left", "right", "left", function=lambda *xs: xs and sum(xs))
    results, ran = every_order(s, [1], "join", ("split", 1), "join", "x")
    assert results == [20 + 300 + 20, 3, 340, 1]
    assert ran[0] == "split" and ran[-1] == "join" and len(ran) == 4


def test_control_edges_and_no_ops_order_without_values():
    s = Sketch()
    order = []
    s(K.HOST, "a", n_outputs=0, function=lambda: order.append("a") or ())
    s(K.NO_OP, "group", control=["a"])
    s(K.HOST, "b", control=["group", "a"], function=lambda: order.append("b") or 7)
    assert every_order(s, [], "b")[0] == [7]
    assert order == ["a", "b"] * 10


def test_empty_plan_finishes_at_once():
    step = Propagator(build_plan([]))
    assert step.start() == [] and step.finished and step.results() == []


def test_fed_value_of_none_is_a_value():
    s = Sketch()
    s(K.FEED, "x")
    s(K.HOST, "is_none", "x", function=lambda x: x is None)
    assert s.run([None], "is_none", "x")[0] == [True, None]


def test_inputs_are_dropped_once_handed_out():
    s = Sketch()
    s(K.FEED, "x")
    s(K.HOST, "a", "x", function=None)
    s(K.HOST, "b", "a", function=None)
    step = Propagator(s.plan())

    class Tensor:
        pass

    (a,) = step.start([Tensor()])
    a.inputs = ()
    assert not [o for o in gc.get_objects() if isinstance(o, Tensor)]
    (b,) = step.done(a, (1,))
    assert step.done(b, (2,)) == [] and step.finished


# ---- conditionals ------------------------------------------------------------------------------


def test_untaken_branch_does_not_run():
    assert every_order(cond(), [True, 5], "merge", ("merge", 1)) == ([6, 1], ["then"])
    assert every_order(cond(), [False, 5], "merge", ("merge", 1)) == ([50, 0], ["else"])


def test_dead_fetch():
    results, ran = every_order(cond(), [True, 5], "then", "else", ("switch", 0))
    assert results == [6, DEAD, DEAD] and ran == ["then"]


def test_one_dead_input_is_enough():
    s = cond()
    s(K.HOST, "needs_both", "then", "x", function=None)
    s(K.HOST, "follows", control=["needs_both"], function=None)
    s(K.NO_OP, "group", control=["follows"])
    s(K.HOST, "after_group", control=["group"], function=None)
    results, ran = every_order(s, [False, 1], "needs_both", "follows", "after_group")
    assert results == [DEAD] * 3 and ran == ["else"]


def test_control_trigger_is_live_after_dead_inputs():
    s = cond()
    s(K.CONTROL_TRIGGER, "trigger", control=["then", "else"])
    s(K.HOST, "after", control=["trigger"], function=lambda: 3)
    results, ran = every_order(s, [False, 1], "after")
    assert results == [3] and sorted(ran) == ["after", "else"]


def test_merge_is_dead_when_all_its_inputs_are():
    s = cond()
    s(K.MERGE, "dead_merge", "then", ("switch", 1))
    s(K.HOST, "reader", "dead_merge", function=None)
    s(K.HOST, "index_reader", ("dead_merge", 1), function=None)
    results, ran = every_order(s, [False, 1], "reader", "index_reader")
    assert results == [DEAD, DEAD] and ran == ["else"]


def test_merge_waits_for_control_inputs_and_takes_the_first_live_value():
    s = Sketch()
    s(K.FEED, "x")
    s(K.RECV, "slow", function=None)
    s(K.HOST, "second", function=None)
    s(K.MERGE, "merge", "second", "x", control=["slow"])
    s(K.HOST, "reader", "merge", ("merge", 1), function=None)
    step = Propagator(s.plan("merge"))
    slow, second = sorted(step.start([5]), key=lambda r: r.node)
    assert step.done(second, (6,)) == []  # late: the Merge has taken the feed
    (reader,) = step.done(slow, (0,))
    assert reader.inputs == (5, 1)
    assert step.done(reader, (0,)) == [] and step.results() == [5]


def test_dead_control_input_does_not_kill_a_merge():
    s = cond()
    s(K.MERGE, "merge2", "x", "p", control=["then"])
    assert s.run([False, 5], ("merge2", 0))[0][0] in (5, False)


def test_nested_cond():
    s = Sketch()
    for feed in ("p", "q", "x"):
        s(K.FEED, feed)
    s(K.SWITCH, "x1", "x", "p")
    s(K.SWITCH, "q1", "q", "p")
    s(K.SWITCH, "x2", ("x1", 1), ("q1", 1))
    s(K.HOST, "both", ("x2", 1), function=lambda x: x + 3)
    s(K.HOST, "only_p", ("x2", 0), function=lambda x: x + 2)
    s(K.MERGE, "inner", "only_p", "both")
    s(K.HOST, "none", ("x1", 0), function=lambda x: x + 1)
    s(K.MERGE, "outer", "none", "inner")
    for p, q, wanted, ran in (
        (True, True, 3, "both"),
        (True, False, 2, "only_p"),
        (False, True, 1, "none"),
        (False, False, 1, "none"),
    ):
        assert every_order(s, [p, q, 0], "outer") == ([wanted], [ran])


def test_switch_on_a_dead_predicate_kills_both_sides():
    s = cond()
    s(K.SWITCH, "dead_switch", "x", ("switch", 1))
    assert s.run([False, 1], ("dead_switch", 0), ("dead_switch", 1))[0] == [DEAD, DEAD]


def test_kernel_may_give_a_dead_token_itself():
    s = Sketch()
    s(K.RECV, "recv", function=lambda: DEAD)
    s(K.HOST, "reader", "recv", function=None)
    s(K.HOST, "mixed", n_outputs=2, function=lambda: (DEAD, 4))
    assert s.run([], "reader", ("mixed", 0), ("mixed", 1))[0] == [DEAD, DEAD, 4]


def test_send_and_recv_are_handed_out_dead():
    s = cond()
    seen = []
    s(K.SEND, "send", "then", n_outputs=0, function=lambda x: seen.append(x) or ())
    s(K.RECV, "recv", control=["then"], function=lambda: DEAD)
    s(K.ASYNC, "dequeue", control=["then"], function=None)
    results, ran = s.run([False, 1], "recv", "dequeue")
    assert results == [DEAD, DEAD] and seen == [DEAD]
    assert sorted(ran) == ["dead recv", "dead send", "else"]


def test_truth_and_index_value_are_the_callers():
    plan = cond().plan(("merge", 1))
    step = Propagator(plan, truth=lambda p: p == "yes", index_value=lambda i: f"index {i}")
    (then,) = step.start(["yes", 1])
    assert plan.name(then.node) == "then"
    step.done(then, (1,))
    assert step.results() == ["index 1"]


def test_error_of_truth_names_the_switch():
    def truth(predicate):
        raise ValueError("not a scalar")

    plan = cond().plan()
    step = Propagator(plan, truth=truth)
    with pytest.raises(ValueError, match="not a scalar"):
        step.start([1, 1])
    assert plan.name(step.failed_node) == "switch"


# ---- loops -------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel_iterations", [1, 2, 10])
@pytest.mark.parametrize(("limit", "wanted", "rounds"), [(0, 0, 0), (1, 3, 1), (10, 12, 4)])
def test_while(parallel_iterations, limit, wanted, rounds):
    results, ran = every_order(while_loop(parallel_iterations), [0, limit, 3], "exit")
    assert results == [wanted]
    assert ran == ["less", *["add", "less"] * rounds]


def test_long_loop_without_kernels_needs_no_recursion():
    s = Sketch()
    s(K.FEED, "predicates")
    s(K.ENTER, "enter", "predicates", frame="loop")
    s(K.MERGE, "merge", "enter", "next")
    s(K.SWITCH, "switch", "merge", "merge")
    s(K.NEXT_ITERATION, "next", ("switch", 1))
    s(K.EXIT, "exit", ("switch", 0))
    countdown = iter(range(5000, -1, -1))
    step = Propagator(s.plan("exit"), truth=lambda p: next(countdown) > 0)
    assert step.start([0]) == [] and step.results() == [0]


def test_ready_tells_frame_iteration_and_tag():
    step = Propagator(while_loop().plan("exit"))
    seen = []
    pool = step.start([0, 2, 1])
    while pool:
        ready = pool.pop()
        seen.append((ready.frame, ready.iteration, ready.tag))
        value = ready.inputs[0]
        pool += step.done(ready, (value < 2,) if ready.node == 7 else (value + 1,))
    assert seen == [
        ("loop", 0, "loop:0"),
        ("loop", 0, "loop:0"),
        ("loop", 1, "loop:1"),
        ("loop", 1, "loop:1"),
        ("loop", 2, "loop:2"),
    ]


def dead_loop_sketch():
    """The loop on the branch that p=True takes; p=False leaves it dead."""
    s = Sketch()
    s(K.FEED, "p")
    s(K.FEED, "zero")
    s(K.FEED, "limit")
    s(K.SWITCH, "zero1", "zero", "p")
    s(K.SWITCH, "limit1", "limit", "p")
    s(K.ENTER, "enter", ("zero1", 1), frame="loop")
    s(K.ENTER, "limit_in", ("limit1", 1), frame="loop", is_constant=True)
    s(K.MERGE, "merge", "enter", "next")
    s(K.HOST, "less", "merge", "limit_in", function=lambda i, n: i < n)
    s(K.LOOP_COND, "loop_cond", "less")
    s(K.SWITCH, "switch", "merge", "loop_cond")
    s(K.HOST, "add", ("switch", 1), function=lambda i: i + 1)
    s(K.NEXT_ITERATION, "next", "add")
    s(K.EXIT, "exit", ("switch", 0))
    s(K.MERGE, "out", ("zero1", 0), "exit")
    s(K.HOST, "after", "exit", function=lambda i: i)
    return s


def test_loop_on_an_untaken_branch():
    s = dead_loop_sketch()
    assert every_order(s, [False, 0, 3], "out", ("out", 1), "after") == ([0, 0, DEAD], [])
    results, ran = every_order(s, [True, 0, 3], "out", ("out", 1), "after")
    assert results == [3, 1, 3] and len(ran) == 4 + 3 + 1


def test_dead_exits_leave_only_with_the_last_iteration():
    """A dead Exit of iterations 0..n-1 must not reach what follows the loop."""
    s = while_loop()
    s(K.HOST, "after", "exit", function=lambda i: -i)
    results, ran = every_order(s, [0, 5, 1], "after")
    assert results == [-5] and ran.count("after") == 1


def test_partly_dead_loop_ends():
    """One of two loop variables is dead: it stays dead, the other one drives the loop."""
    s = while_loop()
    s(K.FEED, "p")
    s(K.SWITCH, "branch", "start", "p")
    s(K.ENTER, "enter2", ("branch", 1), frame="loop")
    s(K.MERGE, "merge2", "enter2", "next2")
    s(K.SWITCH, "switch2", "merge2", "loop_cond")
    s(K.HOST, "body2", ("switch2", 1), function=lambda v: v + 1)
    s(K.NEXT_ITERATION, "next2", "body2")
    s(K.EXIT, "exit2", ("switch2", 0))
    s(K.HOST, "after2", "exit2", function=lambda v: v)
    assert every_order(s, [0, 4, 1, False], "exit", "exit2", "after2")[0] == [4, DEAD, DEAD]
    assert every_order(s, [0, 4, 1, True], "exit", "exit2", "after2")[0] == [4, 4, 4]


def test_merge_with_two_enters():
    """Iteration 0 can have both Enters, a later one its NextIteration only; here that one is dead."""
    s = while_loop()
    s(K.FEED, "p")
    s(K.SWITCH, "branch", "start", "p")
    for slot, name in enumerate(("enter_false", "enter_true")):
        s(K.ENTER, name, ("branch", slot), frame="loop")
    s(K.MERGE, "merge2", "enter_false", "enter_true", "next2")
    s(K.SWITCH, "switch2", "merge2", "loop_cond")
    s(K.SWITCH, "die", ("switch2", 1), "less")
    s(K.NEXT_ITERATION, "next2", ("die", 0))  # `less` is true wherever the body lives
    s(K.EXIT, "exit2", ("switch2", 0))
    for p in (False, True):
        assert every_order(s, [0, 4, 1, p], "exit", "exit2")[0] == [4, DEAD]
        assert every_order(s, [0, 0, 1, p], "exit", "exit2")[0] == [0, 0]


def test_late_enter_finds_the_frame_still_there():
    """The Merge went on with its first Enter and the loop ran out; the second Enter comes after."""
    s = while_loop()
    s(K.RECV, "recv", function=None)
    s(K.ENTER, "late", "recv", frame="loop")
    s(K.MERGE, "merge2", "enter", "late", "next2")
    s(K.SWITCH, "switch2", "merge2", "loop_cond")
    s(K.NEXT_ITERATION, "next2", ("switch2", 1))
    s(K.EXIT, "exit2", ("switch2", 0))
    plan = s.plan("exit", "exit2")
    step = Propagator(plan)
    started = step.start([0, 3, 1])
    pool = [r for r in started if plan.name(r.node) != "recv"]
    (recv,) = (r for r in started if plan.name(r.node) == "recv")
    while pool:
        ready = pool.pop()
        pool += step.done(ready, (s.functions[plan.name(ready.node)](*ready.inputs),))
    assert not step.finished
    assert step.done(recv, (8,)) == [] and step.results() == [3, 0]
    assert_clean(step)


def test_dead_invariant_kills_its_readers_in_every_iteration():
    s = while_loop()
    s(K.FEED, "p")
    s(K.SWITCH, "branch", "step", "p")
    s(K.ENTER, "dead_in", ("branch", 1), frame="loop", is_constant=True)
    s(K.HOST, "reader", "merge", "dead_in", function=None)
    results, ran = every_order(s, [0, 4, 1, False], "exit")
    assert results == [4] and "reader" not in ran


def test_late_invariant_reaches_all_iterations():
    s = while_loop()
    s(K.RECV, "recv", function=None)
    s(K.ENTER, "late_in", "recv", frame="loop", is_constant=True)
    s(K.HOST, "reader", "merge", "late_in", function=None)
    plan = s.plan("exit")
    step = Propagator(plan)
    pool, recv, readers = step.start([0, 3, 1]), None, []
    while pool:
        ready = pool.pop()
        name = plan.name(ready.node)
        if name == "recv":
            recv = ready
        else:
            pool += step.done(ready, (s.functions[name](*ready.inputs),))
    assert not step.finished and recv is not None
    assert "'reader' in loop:2 waits for 'late_in' output 0" in step.explain()
    readers = step.done(recv, ("late",))
    assert sorted(r.inputs for r in readers) == [(i, "late") for i in range(4)]
    for reader in readers:
        assert not step.finished
        step.done(reader, (0,))
    assert step.results() == [3]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_parallel_iterations(limit):
    """With the slow side of the body held back, the fast one runs ahead by the limit, not more."""
    s = while_loop(limit)
    s(K.ASYNC, "slow", ("switch", 1), function=None)
    plan = s.plan("exit")
    step = Propagator(plan)
    pool, held, released = step.start([0, 20, 1]), [], []
    while pool or held:
        while pool:
            ready = pool.pop()
            name = plan.name(ready.node)
            if name == "slow":
                held.append(ready)
            else:
                pool += step.done(ready, (s.functions[name](*ready.inputs),))
        # Iterations 0..20; the last one has no slow side but counts towards the limit.
        first = len(released)
        expected = range(first, min(first + limit, 20))
        held.sort(key=lambda r: r.iteration)
        assert [r.iteration for r in held] == list(expected)
        if held:
            released.append(held[0].iteration)
            pool = step.done(held.pop(0), (None,))
    assert step.results() == [20] and released == list(range(20))
    assert_clean(step)


def test_inner_loop_frames_are_separate_per_outer_iteration():
    s = Sketch()
    s(K.FEED, "n")
    s(K.ENTER, "o_enter", "n", frame="outer")
    s(K.MERGE, "o_merge", "o_enter", "o_next")
    s(K.HOST, "o_more", "o_merge", function=lambda n: n > 0)
    s(K.SWITCH, "o_switch", "o_merge", "o_more")
    s(K.ENTER, "i_enter", ("o_switch", 1), frame="inner")
    s(K.MERGE, "i_merge", "i_enter", "i_next")
    s(K.HOST, "i_more", "i_merge", function=lambda k: k % 3 != 0)
    s(K.SWITCH, "i_switch", "i_merge", "i_more")
    s(K.HOST, "i_body", ("i_switch", 1), function=lambda k: k - 1)
    s(K.NEXT_ITERATION, "i_next", "i_body")
    s(K.EXIT, "i_exit", ("i_switch", 0))
    s(K.HOST, "o_body", "i_exit", function=lambda k: k - 2)
    s(K.NEXT_ITERATION, "o_next", "o_body")
    s(K.EXIT, "o_exit", ("o_switch", 0))
    results, ran = every_order(s, [8], "o_exit")
    assert results == [-2]  # 8 > 6 > 4 > 3 > 1 > 0 > -2
    assert ran.count("i_body") == 2 + 1 + 1 and ran.count("i_more") == 3 + 2 + 2


def test_zero_iterations_of_a_loop_around_a_loop():
    s = Sketch()
    s(K.FEED, "n")
    s(K.ENTER, "o_enter", "n", frame="outer")
    s(K.MERGE, "o_merge", "o_enter", "o_next")
    s(K.HOST, "o_more", "o_merge", function=lambda n: False)
    s(K.SWITCH, "o_switch", "o_merge", "o_more")
    s(K.ENTER, "i_enter", ("o_switch", 1), frame="inner")
    s(K.MERGE, "i_merge", "i_enter", "i_next")
    s(K.SWITCH, "i_switch", "i_merge", "i_merge")
    s(K.NEXT_ITERATION, "i_next", ("i_switch", 1))
    s(K.EXIT, "i_exit", ("i_switch", 0))
    s(K.NEXT_ITERATION, "o_next", "i_exit")
    s(K.EXIT, "o_exit", ("o_switch", 0))
    assert every_order(s, [8], "o_exit") == ([8], ["o_more"])


def test_frame_of_invariants_only():
    s = Sketch()
    s(K.FEED, "x")
    s(K.ENTER, "enter", "x", frame="f", is_constant=True)
    s(K.ENTER, "unread", "x", frame="g", is_constant=True)
    s(K.HOST, "inside", "enter", function=lambda x: x + 1)
    s(K.EXIT, "exit", "inside")
    assert s.run([1], "exit")[0] == [2]


def test_exit_without_its_switch_is_an_error():
    s = while_loop()
    s(K.EXIT, "leak", "merge")
    with pytest.raises(InternalError, match=r"'leak' let a value out of frame 'loop' twice"):
        s.run([0, 3, 1], "leak")


# ---- protocol, reports -------------------------------------------------------------------------


def test_explain_names_what_runs_and_what_waits():
    s = Sketch()
    s(K.FEED, "x")
    s(K.RECV, "recv", function=None)
    s(K.HOST, "add", "x", "recv", function=None)
    s(K.NO_OP, "group", control=["add"])
    s(K.MERGE, "merge", "add", "recv")
    plan = s.plan()
    step = Propagator(plan)
    step.start([1])
    assert step.explain().splitlines() == [
        "'recv' is running",
        "'add' waits for 'recv' output 0",
        "'group' waits for 'add' (control)",
        "'merge' waits for 'add' output 0, 'recv' output 0",
    ]
    assert next((plan.name(w.node), w.tag, w.missing) for w in step.waiting()) == (
        "add",
        "",
        ((1, 0),),
    )
    assert step.explain(limit=2).splitlines()[-1] == "... and 2 more"


def test_explain_inside_loops():
    plan = while_loop().plan("exit")
    step = Propagator(plan)
    (less,) = step.start([0, 9, 1])
    assert step.explain().splitlines() == [
        "'less' in loop:0 is running",
        "'loop_cond' in loop:0 waits for 'less' output 0",
        "'switch' in loop:0 waits for 'loop_cond' output 0",
        "'add' in loop:0 waits for 'switch' output 1",
        "'next' in loop:0 waits for 'add' output 0",
        "'exit' in loop:0 waits for 'switch' output 0",
    ]
    (add,) = step.done(less, (True,))
    (less,) = step.done(add, (1,))
    assert less.iteration == 1
    assert "'exit' in loop:1 waits for 'switch' output 0" in step.explain()
    with pytest.raises(InternalError, match="'less' in loop:1 is running"):
        step.results()


def test_explain_a_merge_that_waits_for_its_own_iteration_only():
    s = while_loop()
    s(K.RECV, "recv", function=None)
    s(K.ENTER, "enter2", "recv", frame="loop")
    s(K.MERGE, "merge2", "enter2", "next2")
    s(K.SWITCH, "switch2", "merge2", "loop_cond")
    s(K.NEXT_ITERATION, "next2", ("switch2", 1))
    s(K.EXIT, "exit2", ("switch2", 0))
    plan = s.plan("exit2")
    step = Propagator(plan)
    pool = [r for r in step.start([0, 2, 1]) if plan.name(r.node) != "recv"]
    while pool:
        ready = pool.pop()
        function = s.functions[plan.name(ready.node)]
        pool += step.done(ready, (function(*ready.inputs),))
    text = step.explain()
    assert "'merge2' in loop:0 waits for 'enter2' output 0\n" in text
    assert "'merge2' in loop:1 waits for 'next2' output 0\n" in text


def test_explain_waits_for_an_exit():
    s = while_loop()
    s(K.HOST, "after", "exit", function=None)
    step = Propagator(s.plan("after"))
    step.start([0, 1, 1])
    assert "'after' waits for 'exit' output 0" in step.explain()


def test_wrong_use_is_refused():
    plan = cond().plan("merge")
    step = Propagator(plan)
    with pytest.raises(InternalError, match="1 feeds came, the plan has 2"):
        step.start([1])
    with pytest.raises(InternalError, match="has not finished"):
        step.results()
    (then,) = step.start([True, 1])
    with pytest.raises(InternalError, match="start was called twice"):
        step.start([True, 1])
    with pytest.raises(InternalError, match="then gave 2 outputs, its plan says 1"):
        step.done(then, (1, 2))
    (then,) = (other := Propagator(plan)).start([True, 1])
    other.done(then, (1,))
    with pytest.raises(InternalError, match="done without running"):
        other.done(then, (1,))


def test_cancel_stops_scheduling():
    s = while_loop()
    step = Propagator(s.plan("exit"))
    (less,) = step.start([0, 9, 1])
    step.cancel()
    assert step.running == 1
    assert step.done(less, (True,)) == []
    assert step.running == 0 and not step.finished


def test_cancel_stops_a_loop_without_kernels():
    s = Sketch()
    s(K.FEED, "yes")
    s(K.ENTER, "enter", "yes", frame="loop")
    s(K.MERGE, "merge", "enter", "next")
    s(K.SWITCH, "switch", "merge", "merge")
    s(K.NEXT_ITERATION, "next", ("switch", 1))
    s(K.EXIT, "exit", ("switch", 0))
    rounds = []

    def truth(predicate):
        rounds.append(predicate)
        if len(rounds) == 100:
            step.cancel()
        return predicate

    step = Propagator(s.plan("exit"), truth=truth)
    assert step.start([True]) == [] and len(rounds) == 100 and not step.finished


def test_close_breaks_the_cycle_of_an_unfinished_step():
    step = Propagator(while_loop().plan("exit"))
    (less,) = step.start([0, 9, 1])
    step.done(less, (True,))
    gc.collect()
    gc.disable()
    try:
        step.close()
        del step, less
        left = [o for o in gc.get_objects() if isinstance(o, Frame | Iteration)]
        assert left == []
    finally:
        gc.enable()
