"""Random programs of assignments, conditionals and loops: the propagator against plain Python.

A program is compiled as `tf.cond` and `tf.while_loop` do it (Switch per captured tensor, Merge per
result, Enter per loop variable, constant Enter per captured tensor) and run in random ready orders.
"""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.runtime.frames import Frame, Iteration
from tfnb.runtime.loops.lowering import lower_loops
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.propagate import Propagator

K = PlanKind
N_VARIABLES = 3
MODULUS = 7


@dataclass(frozen=True)
class Assign:
    """v[target] = (v[left] + factor * v[right]) mod 7, or a constant if right is None."""

    target: int
    left: int
    right: int | None
    factor: int


@dataclass(frozen=True)
class If:
    variable: int
    threshold: int
    then: tuple
    orelse: tuple


@dataclass(frozen=True)
class While:
    """Runs its body while the round is below `rounds` and v[variable] differs from `stop`."""

    rounds: int
    variable: int
    stop: int
    body: tuple
    parallel_iterations: int


def statements(depth):
    variable = st.integers(0, N_VARIABLES - 1)
    assign = st.builds(Assign, variable, variable, st.none() | variable, st.integers(1, MODULUS - 1))
    if depth == 0:
        return assign
    block = st.lists(statements(depth - 1), max_size=3).map(tuple)
    number = st.integers(0, MODULUS - 1)
    branch = st.builds(If, variable, number, block, block)
    loop = st.builds(While, st.integers(0, 4), variable, number, block, st.sampled_from([1, 2, 10]))
    return assign | branch | loop


def evaluate(block, v):
    """What the program means; changes `v`."""
    for s in block:
        if isinstance(s, Assign):
            right = 1 if s.right is None else v[s.right]
            left = 0 if s.right is None else v[s.left]
            v[s.target] = (left + s.factor * right) % MODULUS
        elif isinstance(s, If):
            evaluate(s.then if v[s.variable] > s.threshold else s.orelse, v)
        else:
            rounds = 0
            while rounds < s.rounds and v[s.variable] != s.stop:
                evaluate(s.body, v)
                rounds += 1


def assigned(block):
    found = set()
    for s in block:
        if isinstance(s, Assign):
            found.add(s.target)
        elif isinstance(s, If):
            found |= assigned(s.then) | assigned(s.orelse)
        else:
            found |= assigned(s.body)
    return found


class Compiler:
    """Collects plan nodes; a tensor is (node, slot)."""

    def __init__(self, rng, kinds=(K.CLUSTER, K.HOST, K.ASYNC)):
        self.rng, self.kinds = rng, kinds
        self.nodes = []
        self.functions = {}
        self.owner = {}  # node -> the context its output is in
        self.loops = 0

    def add(self, context, kind, *inputs, function=None, control=(), n_outputs=1, **more):
        index = len(self.nodes)
        self.nodes.append(PlanNode(kind, n_outputs, inputs, tuple(control), "", **more))
        self.functions[index] = function
        self.owner[index] = context
        return (index, 0)

    def same(self, context, tensor):
        return self.add(context, self.kinds[0], tensor, function=lambda x: x)

    def kernel(self, context, function, *tensors):
        """A node with captured inputs; sometimes it also waits for an earlier one of its context.

        What depends on nothing of its branch or iteration waits for the pivot: loop invariants alone
        would let a node of the body run in the last iteration, where all of the body must be dead.
        """
        inputs = [context.capture(t) for t in tensors]
        bound = any(self.nodes[node].kind != K.ENTER for node, _ in inputs)
        control = [] if bound else list(context.pivot)
        if context.last is not None and self.rng.random() < 0.3:
            control.append(context.last)
        kind = self.rng.choice(self.kinds)
        made = self.add(context, kind, *inputs, function=function, control=control)
        if self.rng.random() < 0.2:
            made = self.same(context, made)
        context.last = made[0]
        return made

    def block(self, context, block, env):
        for s in block:
            if isinstance(s, Assign) and s.right is None:
                constant = s.factor % MODULUS
                env[s.target] = self.kernel(context, lambda c=constant: c)
            elif isinstance(s, Assign):
                env[s.target] = self.kernel(
                    context,
                    lambda a, b, f=s.factor: (a + f * b) % MODULUS,
                    env[s.left],
                    env[s.right],
                )
            elif isinstance(s, If):
                self.cond(context, s, env)
            else:
                self.loop(context, s, env)

    def cond(self, context, s, env):
        predicate = self.kernel(context, lambda a, t=s.threshold: a > t, env[s.variable])
        pivot = self.add(context, K.SWITCH, predicate, predicate, n_outputs=2)[0]
        envs = []
        for taken, block in ((0, s.orelse), (1, s.then)):
            branch = Branch(self, context, predicate, taken)
            branch.pivot = [self.same(branch, (pivot, taken))[0]]
            inner = dict(env)
            self.block(branch, block, inner)
            envs.append({v: branch.capture(inner[v]) for v in assigned(s.then + s.orelse)})
        for v in envs[0]:
            control = [pivot] if self.rng.random() < 0.2 else []
            env[v] = self.add(context, K.MERGE, envs[0][v], envs[1][v], n_outputs=2, control=control)

    def loop(self, context, s, env):
        self.loops += 1
        frame = {
            "frame": f"loop{self.loops}",
            "parallel_iterations": s.parallel_iterations,
        }
        loop = Loop(self, context, frame)
        variables = ["round", *sorted(assigned(s.body))]
        before = {v: env[v] for v in variables[1:]}
        before["round"] = self.kernel(context, lambda: 0)
        limit = self.kernel(context, lambda n=s.rounds: n)
        enters = {v: self.add(loop, K.ENTER, context.capture(before[v]), **frame) for v in variables}
        # The NextIterations come last, so the Merges are filled in then.
        merges = {v: self.add(loop, K.MERGE, enters[v], n_outputs=2) for v in variables}
        tested = merges.get(s.variable, env[s.variable])
        more = self.kernel(
            loop,
            lambda r, n, a, stop=s.stop: r < n and a != stop,
            merges["round"],
            limit,
            tested,
        )
        condition = self.add(loop, K.LOOP_COND, more)
        inner = dict(env)
        for v in variables:
            switch = self.add(loop, K.SWITCH, merges[v], condition, n_outputs=2)[0]
            inner[v] = self.same(loop, (switch, 1))
            env[v] = self.add(context, K.EXIT, (switch, 0))
        loop.pivot, loop.last = [inner["round"][0]], None
        next_round = self.kernel(loop, lambda r: r + 1, inner["round"])
        self.block(loop, s.body, inner)
        inner["round"] = next_round
        for v in variables:  # every one of them is assigned in the body, so it is the loop's own
            back = self.add(loop, K.NEXT_ITERATION, loop.capture(inner[v]))
            index = merges[v][0]
            self.nodes[index] = PlanNode(K.MERGE, 2, (enters[v], back), name=f"merge {v}")
        env.pop("round")


@dataclass(eq=False)
class Root:
    compiler: Compiler
    pivot: list = field(default_factory=list)
    last: int | None = None

    def capture(self, tensor):
        return tensor


class Branch:
    """One side of a conditional: a tensor from outside comes in by a Switch."""

    def __init__(self, compiler, outer, predicate, taken):
        self.compiler, self.outer, self.predicate, self.taken = compiler, outer, predicate, taken
        self.seen, self.last, self.pivot = {}, None, []

    def capture(self, tensor):
        if self.compiler.owner[tensor[0]] is self:
            return tensor
        if tensor not in self.seen:
            outside = self.outer.capture(tensor)
            switch = self.compiler.add(self, K.SWITCH, outside, self.outer.capture(self.predicate), n_outputs=2)
            self.seen[tensor] = (switch[0], self.taken)
        return self.seen[tensor]


class Loop:
    """The inside of a loop: a tensor from outside comes in by a constant Enter."""

    def __init__(self, compiler, outer, frame):
        self.compiler, self.outer, self.frame = compiler, outer, frame
        self.seen, self.last, self.pivot = {}, None, []

    def capture(self, tensor):
        if self.compiler.owner[tensor[0]] is self:
            return tensor
        if tensor not in self.seen:
            self.seen[tensor] = self.compiler.add(
                self, K.ENTER, self.outer.capture(tensor), is_constant=True, **self.frame
            )
        return self.seen[tensor]


def compile_program(block, rng, *kinds):
    compiler = Compiler(rng, *kinds)
    root = Root(compiler)
    env = {v: compiler.add(root, K.FEED) for v in range(N_VARIABLES)}
    compiler.block(root, block, env)
    plan = build_plan(compiler.nodes, [env[v] for v in range(N_VARIABLES)])
    return plan, compiler.functions


def execute(plan, functions, feeds, rng):
    step = Propagator(plan)
    pool, fired = step.start(feeds), set()
    while pool:
        ready = pool.pop(rng.randrange(len(pool)))
        key = (ready.node, ready.tag)
        assert key not in fired, "a node fired twice in one iteration"
        fired.add(key)
        pool += step.done(ready, (functions[ready.node](*ready.inputs),))
    assert step.finished, step.explain()
    assert not step._root.iterations and not step._running and not step._work
    return step.results(), fired


programs = st.lists(statements(3), min_size=1, max_size=4).map(tuple)
values = st.lists(st.integers(0, MODULUS - 1), min_size=N_VARIABLES, max_size=N_VARIABLES)


@settings(max_examples=150, deadline=None)
@given(programs, values, st.integers(0, 2**32))
def test_random_programs_in_random_orders(block, start, seed):
    rng = random.Random(seed)
    plan, functions = compile_program(block, rng)
    expected = list(start)
    evaluate(block, expected)
    first = None
    for _ in range(4):
        results, fired = execute(plan, functions, start, rng)
        assert results == expected
        first = fired if first is None else first
        assert fired == first, "what runs depends on the order"


class Kernel:
    """A function as the executor's loops call it."""

    def __init__(self, function):
        self.function = function

    def run(self, inputs, recorder=None):
        return (self.function(*inputs),)


def execute_lowered(block, start, seed):
    """The program with its loops as lists of steps."""
    plan, functions = compile_program(block, random.Random(seed), (K.CLUSTER, K.HOST))
    payloads = [f and Kernel(f) for f in (functions[i] for i in range(len(plan.nodes)))]
    plan, payloads = lower_loops(plan, payloads)
    assert len(plan.frames) == 1, "a loop did not fit"
    step = Propagator(plan)
    pool = step.start(start)
    while pool:
        ready = pool.pop()
        pool += step.done(ready, payloads[ready.node].run(ready.inputs))
    assert step.finished, step.explain()
    return step.results()


@settings(max_examples=50, deadline=None)
@given(programs, values, st.integers(0, 2**32))
def test_loops_as_lists_of_steps(block, start, seed):
    expected = list(start)
    evaluate(block, expected)
    assert execute_lowered(block, start, seed) == expected


def test_loops_with_asynchronous_nodes_stay():
    block = (While(3, 0, 6, (Assign(0, 0, 1, 1),), 1),)
    plan, functions = compile_program(block, random.Random(0), (K.ASYNC,))
    assert lower_loops(plan, [None] * len(plan.nodes))[0] is plan
    expected = [1, 2, 3]
    evaluate(block, expected)
    assert execute(plan, functions, [1, 2, 3], random.Random(0))[0] == expected


def nested(depth):
    """Loops and conditionals in turn, the other inside, `depth` deep."""
    block = (Assign(0, 0, 1, 1), Assign(1, 1, None, 3), Assign(2, 2, 0, 2))
    for level in range(depth):
        if level % 2:
            block = (If(level % 3, 3, block, (Assign(2, 1, 0, 5),)), Assign(1, 2, 0, 3))
        else:
            block = (While(4, level % 3, 6, block, 1 + 2 * level), Assign(0, 1, 2, 1))
    return block


def test_deep_nesting():
    for depth in range(7):
        block = nested(depth)
        for start in ([0, 1, 2], [6, 6, 6], [3, 5, 0]):
            expected = list(start)
            evaluate(block, expected)
            plan, functions = compile_program(block, random.Random(depth))
            assert execute(plan, functions, start, random.Random(1))[0] == expected
            assert execute_lowered(block, start, depth) == expected


def test_nothing_is_left_in_memory():
    """A finished step holds no frame or iteration, without the garbage collector's help."""
    plan, functions = compile_program(nested(5), random.Random(0))
    gc.collect()
    gc.disable()
    try:
        step = Propagator(plan)
        pool = step.start([0, 1, 2])
        while pool:
            ready = pool.pop()
            pool += step.done(ready, (functions[ready.node](*ready.inputs),))
        del ready
        left = [o for o in gc.get_objects() if isinstance(o, Iteration | Frame)]
        assert left == [step._root]
    finally:
        gc.enable()
