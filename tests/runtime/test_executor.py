"""Plans run with real kernels on PoCL and the host: values, state, errors, threads, cancellation."""

from __future__ import annotations

import _thread
import dataclasses
import itertools
import signal
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from tfnb.codegen.program import F32, Copy, Launch, Module, Program, Slot, VariableUse
from tfnb.codegen.program_class import ProgramClass
from tfnb.devices.null import NullDevice
from tfnb.devices.opencl import make_devices
from tfnb.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    Origin,
    OutOfRangeError,
    ResourceExhaustedError,
    UnknownError,
)
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.ops.control_flow.send_recv import TransferAttrs
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.executor import Executor
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.kernels import HostKernel
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.stats import HOST, KERNEL, StepStats
from tfnb.runtime.transfer import RecvKernel, SendKernel
from tfnb.settings import load_settings
from tfnb.sizes import Size
from tfnb.types import Shape, TensorSpec, float32, int32, string

pytestmark = pytest.mark.opencl

KERNELS = Module(
    "__kernel void scale(__global const float *a, __global float *b, float by)"
    "{ size_t i = get_global_id(0); b[i] = a[i] * by; }"
    "__kernel void more(__global float *v, __global const float *d)"
    "{ size_t i = get_global_id(0); v[i] += d[i]; }"
)
F, C, H, S, M = PlanKind.FEED, PlanKind.CLUSTER, PlanKind.HOST, PlanKind.SWITCH, PlanKind.MERGE
_ids = itertools.count(1)


@pytest.fixture(scope="module")
def device():
    made = make_devices(dataclasses.replace(load_settings(), quiet=True))[0]
    yield made
    made.close()


@pytest.fixture
def resources():
    return ResourceManager()


def f32(*values):
    return np.array(values, np.float32)


def node(opdef, n_inputs=0, dtype=float32, ref=False, name="", attrs=None):
    i = next(_ids)
    specs = (TensorSpec(dtype, Shape(None), ref),) * len(opdef.output_args)
    inputs = tuple(Edge(1000 + k, 0) for k in range(n_inputs))
    return Node(
        i,
        name or f"n{i}",
        opdef,
        inputs,
        (),
        attrs,
        {},
        specs,
        origin=Origin("notebook.py", 7, "<cell>"),
    )


def transfer(kind, key, name=""):
    """A node of a Send or Recv; the rendezvous of a test that waits is one that others could send to."""
    signature = ("x: T", "") if kind == "Send" else ("", "y: T")
    return node(OpDef(kind, *signature), int(kind == "Send"), name=name, attrs=TransferAttrs(key))


# ---- clusters written by hand ------------------------------------------------------------------


def scale_cluster(by, name="scale"):
    n = node(OpDef("Scale", "x: float32", "y: float32"), 1, name=name)
    return Cluster(n.id, name, (n,), (n.inputs[0],), (), (), (), (Edge(n.id, 0),)), by


def compile_scale(by, log=None):
    def compile_program(cluster, inputs, shape_values, variables, facts, *, trace):
        if log is not None:
            log.append(tuple(map(repr, inputs[0].shape)))
            time.sleep(0.02)
        (info,) = inputs
        slots = Slot("input", 0, 0, info.nbytes), Slot("output", 0, 0, info.nbytes)
        launch = Launch(0, "scale", (*slots, F32(by)), (info.size, 1, 1), nodes=(cluster.nodes[0].id,))
        return program_class(Program(cluster.name, (KERNELS,), (launch,), (info,), (info,), (), (), (), 0), trace)

    return compile_program


def scaling(device, resources, by, log=None, name="scale"):
    cluster, _ = scale_cluster(by, name)
    return ClusterKernel(cluster, device, compile_scale(by, log), resources)


VARIABLE = OpDef("VariableV2", "", "ref: Ref(float32)", kind=Kind.VARIABLE, stateful=True)


def variable(name="W"):
    return node(VARIABLE, ref=True, name=name)


def more_kernel(device, resources, v):
    """v += input; the value of v."""
    n = node(OpDef("AssignAdd", "ref: Ref(float32), value: float32", "out: Ref(float32)"), 1)
    cluster = Cluster(n.id, "more", (v, n), (n.inputs[0],), (), (v.id,), (), (Edge(v.id, 0),))

    def compile_program(cluster, inputs, shape_values, variables, facts, *, trace):
        info = inputs[0]
        state, x, out = (Slot(k, 0, 0, info.nbytes) for k in ("variable", "input", "output"))
        steps = (Launch(0, "more", (state, x), (info.size, 1, 1)), Copy(state, out, info.nbytes))
        use = VariableUse(v.id, info, reads=True, writes=True)
        return program_class(Program("more", (KERNELS,), steps, (info,), (info,), (use,), (), (), 0), trace)

    return ClusterKernel(cluster, device, compile_program, resources)


def assign_kernel(device, resources, v):
    n = node(OpDef("Assign", "ref: Ref(float32), value: float32", "out: Ref(float32)"), 1)
    cluster = Cluster(n.id, "assign", (v, n), (n.inputs[0],), (), (v.id,), (), ())

    def compile_program(cluster, inputs, shape_values, variables, facts, *, trace):
        info = inputs[0]
        use = VariableUse(v.id, info, reads=False, writes=True)
        steps = (Copy(Slot("input"), Slot("variable"), info.nbytes),)
        return program_class(Program("assign", (), steps, (info,), (), (use,), (), (), 0), trace)

    return ClusterKernel(cluster, device, compile_program, resources)


def program_class(program, trace):
    return ProgramClass(dataclasses.replace(program, steps=()), program.steps, (), trace)


def single(kernel, n_inputs=1, n_outputs=1):
    feeds = [PlanNode(F, name=f"x{i}") for i in range(n_inputs)]
    cluster = PlanNode(C, n_outputs, tuple((i, 0) for i in range(n_inputs)), name="cluster")
    plan = build_plan([*feeds, cluster], [(n_inputs, k) for k in range(n_outputs)])
    assert plan.is_single_cluster
    return Executor(plan, [None] * n_inputs + [kernel])


def host(f, n_inputs=1, n_outputs=1, name="host", resources=None, device=None, expensive=False, **op):
    outputs = ", ".join(f"y{k}: T" for k in range(n_outputs))
    opdef = OpDef("Host", ", ".join(f"x{k}: T" for k in range(n_inputs)), outputs, host=f, **op)
    n = node(opdef, n_inputs, name=name)
    return HostKernel(
        n,
        resources or ResourceManager(),
        device or NullDevice("/device:CPU:0"),
        expensive=expensive,
    )


# ---- one cluster -------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_feed_launch_fetch(device, resources, timeout):
    e = single(scaling(device, resources, 2.0))
    for shape in ((3,), (), (0,), (2, 5)):
        x = np.asarray(np.random.rand(*shape), np.float32)
        (y,) = e.run([x], timeout=timeout)
        np.testing.assert_array_equal(y, x * 2)
        assert y.shape == shape


def test_feeds_and_fetches_in_any_order(device, resources):
    n = node(OpDef("Two", "a: float32, b: float32", "y: float32"), 2)
    cluster = Cluster(1, "two", (n,), n.inputs, (), (), (), (Edge(n.id, 0),))

    def compile_program(cluster, inputs, *_, trace):
        one = Launch(0, "scale", (Slot("input", 0), Slot("output", 0), F32(1.0)), (inputs[0].size, 1, 1))
        return program_class(Program("two", (KERNELS,), (one,), tuple(inputs), (inputs[0],), (), (), (), 0), trace)

    kernel = ClusterKernel(cluster, device, compile_program, resources)
    plan = build_plan(
        [PlanNode(F), PlanNode(F), PlanNode(C, 1, ((1, 0), (0, 0)), name="two")],
        [(0, 0), (2, 0), (1, 0)],
    )
    e = Executor(plan, [None, None, kernel])
    assert [v.tolist() for v in e.run([f32(1), f32(2, 3)])] == [[1], [2, 3], [2, 3]]


def test_a_run_without_fetches_is_over_when_it_returns(device, resources):
    v = variable()
    single(assign_kernel(device, resources, v), n_outputs=0).run([f32(1, 2)])
    assert resources.variable(v).tensor.array.tolist() == [1, 2]


def test_programs_are_compiled_once_per_class_by_many_threads(device, resources):
    log, wrong = [], []
    e = single(scaling(device, resources, 3.0, log))

    def work(i):
        for k in range(20):
            x = np.full((i + k) % 4 + 1, i, np.float32)
            if e.run([x])[0].tolist() != (x * 3).tolist():
                wrong.append((i, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert len(log) == 2 and ("1",) in log  # 2, 3 and 4 elements are one class


def test_shapes_that_come_for_the_first_time_share_their_kernels(device, resources):
    kernel = scaling(device, resources, 3.0)
    e = single(kernel)

    def run(n):
        assert e.run([np.ones(n, np.float32)])[0].tolist() == [3] * n

    for n in range(2, 22):
        run(n)
    assert [p.inputs[0].shape for p in kernel.programs()] == [(21,)]
    for n in (5, 21, 5, 9, 5, 30):
        run(n)
    assert [p.inputs[0].shape for p in kernel.programs()] == [(5,), (9,), (30,)]
    assert kernel.caches[0].hits == 3


def test_threads_bring_new_shapes_at_once(device, resources):
    """While one thread runs a program, another may take its kernels for a shape that comes for the first time."""
    e, wrong = single(scaling(device, resources, 3.0)), []

    def work(i):
        for k in range(200):
            x = np.arange((37 * i + k) % 150 + 2, dtype=np.float32)
            if e.run([x])[0].tolist() != (x * 3).tolist():
                wrong.append((i, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_classes_that_serve_one_shape_each_are_bounded(device, resources):
    cluster, _ = scale_cluster(2.0)
    compile_program = compile_scale(2.0)

    def fixed(cluster, inputs, *rest, trace):
        assert int(inputs[0].shape[0]) > 1  # the class serves this number only
        return compile_program(cluster, inputs, *rest, trace=trace)

    kernel = ClusterKernel(cluster, device, fixed, resources)
    e = single(kernel)
    for n in range(2, 42):
        assert e.run([np.ones(n, np.float32)])[0].sum() == 2 * n
    _, classes, _ = kernel.caches
    assert [len(served) for served in classes.values()] == [16]


def test_shape_values_specialise(device, resources):
    n = node(OpDef("Fill", "dims: int32, x: float32", "y: float32"), 2)
    cluster = Cluster(1, "fill", (n,), n.inputs, (n.inputs[0],), (), (), (Edge(n.id, 0),))
    seen = []

    def compile_program(cluster, inputs, shape_values, variables, facts, *, trace):
        (size,) = shape_values[n.inputs[0]].tolist()
        seen.append(size)
        assert isinstance(size, Size)
        out = TensorInfo(float32, (size,))
        one = Launch(0, "scale", (Slot("input", 1), Slot("output", 0), F32(1.0)), (size, 1, 1))
        return program_class(Program("fill", (KERNELS,), (one,), tuple(inputs), (out,), (), (), (), 0), trace)

    e = single(ClusterKernel(cluster, device, compile_program, resources), n_inputs=2)
    x = np.arange(9, dtype=np.float32)
    for size in (3, 5, 3):
        assert e.run([np.array([size], np.int32), x])[0].tolist() == list(range(size))
    assert [n.value for n in seen] == [3]


def test_an_uninitialised_variable_is_named_before_anything_runs(device, resources):
    v = variable("W")
    e = single(more_kernel(device, resources, v))
    for _ in range(2):
        with pytest.raises(FailedPreconditionError, match="Attempting to use uninitialized value W") as caught:
            e.run([f32(1)])
        assert caught.value.op is v
        assert "notebook.py:7" in str(caught.value)
    single(assign_kernel(device, resources, v), n_outputs=0).run([f32(5)])
    assert e.run([f32(1)])[0].tolist() == [6]
    resources.reset()
    with pytest.raises(FailedPreconditionError):
        e.run([f32(1)])


def test_a_variable_may_change_its_shape_between_runs(device, resources):
    v = variable()
    assign, more = (
        single(k, n_outputs=n)
        for k, n in ((assign_kernel(device, resources, v), 0), (more_kernel(device, resources, v), 1))
    )
    for n in (3, 1, 3, 70):
        assign.run([np.zeros(n, np.float32)])
        assert more.run([np.ones(n, np.float32)])[0].tolist() == [1] * n


def test_want_of_memory_names_the_node(resources):
    settings = dataclasses.replace(load_settings(), quiet=True)
    small = make_devices(settings, memory_limit=1 << 20)[0]
    e = single(scaling(small, resources, 2.0, name="big/mul"))
    with pytest.raises(ResourceExhaustedError, match=r"float32\[400000\].*limit is 1,048,576") as caught:
        e.run([np.zeros(400_000, np.float32)])
    assert caught.value.op.name == "big/mul"
    assert "[node big/mul = Scale]" in str(caught.value)
    assert e.run([f32(4)])[0].tolist() == [8]
    small.close()


def test_updates_from_sixteen_threads(device, resources):
    v = variable()
    single(assign_kernel(device, resources, v), n_outputs=0).run([f32(0, 0)])
    e = single(more_kernel(device, resources, v))
    seen = []

    def work():
        for _ in range(50):
            y = e.run([f32(1, 1)])[0]
            seen.append(y.tolist())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(seen) == [[i, i] for i in range(1, 801)]  # each run saw a state of its own, whole


@pytest.mark.usefixtures("no_collector")
def test_interrupted_steps_leave_state_whole(device, resources):
    v = variable()
    single(assign_kernel(device, resources, v), n_outputs=0).run([np.zeros(50, np.float32)])
    e = single(more_kernel(device, resources, v))
    one = np.ones(50, np.float32)
    e.run([one])  # the first run compiles; cut off there, Python itself may leave a folder's iterator open
    for delay in np.random.default_rng(1).uniform(0, 3e-3, 15):
        timer = threading.Timer(delay, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            end = time.monotonic() + 20
            while time.monotonic() < end:
                e.run([one])
        timer.join()
        y = e.run([one])[0]
        assert len(set(y.tolist())) == 1


# ---- plans with more than one node -------------------------------------------------------------


def test_device_and_host_kernels_mix(device, resources):
    plan = build_plan(
        [
            PlanNode(F),
            PlanNode(C, 1, ((0, 0),)),
            PlanNode(H, 2, ((1, 0), (0, 0))),
            PlanNode(C, 1, ((2, 0),)),
        ],
        [(3, 0), (2, 1), (1, 0)],
    )
    both = host(lambda call, y, x: (y + x, y - x), 2, 2)
    e = Executor(plan, [None, scaling(device, resources, 2.0), both, scaling(device, resources, 10.0)])
    recorder = StepStats()
    a, b, c = e.run([f32(1, 2)], recorder=recorder)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([30, 60], [1, 2], [2, 4])
    ran = recorder.in_order(KERNEL, HOST)
    assert [t.device for t in ran] == [device.name, "host", device.name]
    assert ran[1].nbytes == 32
    assert e.devices == (device,)


def test_strings_flow_on_the_host():
    upper = host(lambda call, s: np.array([x.upper() for x in s], object), types={"T": (string,)})
    object.__setattr__(upper.node, "specs", (TensorSpec(string, Shape(None)),))
    e = Executor(build_plan([PlanNode(F), PlanNode(H, 1, ((0, 0),))], [(1, 0)]), [None, upper])
    assert e.run([np.array([b"a", b"b"], object)])[0].tolist() == [b"A", b"B"]


@pytest.mark.parametrize("taken", [True, False])
def test_branches(device, resources, taken):
    calls = []
    plan = build_plan(
        [
            PlanNode(F, name="x"),
            PlanNode(F, name="p"),
            PlanNode(S, 2, ((0, 0), (1, 0)), name="switch"),
            PlanNode(C, 1, ((2, 1),), name="then"),
            PlanNode(H, 1, ((2, 0),), name="else"),
            PlanNode(M, 2, ((4, 0), (3, 0)), name="merge"),
        ],
        [(5, 0), (5, 1)],
    )
    negative = host(lambda call, x: calls.append(1) or -x)
    e = Executor(plan, [None, None, None, scaling(device, resources, 2.0), negative, None])
    y, index = e.run([f32(3), np.array(taken)])
    assert (y.tolist(), int(index), index.dtype) == ([6] if taken else [-3], int(taken), np.int32)
    assert calls == ([] if taken else [1])
    untaken = build_plan(plan.nodes, [(3, 0)])
    e = Executor(untaken, e.payloads)
    if taken:
        assert e.run([f32(3), np.array(True)])[0].tolist() == [6]
    else:
        with pytest.raises(InvalidArgumentError, match="'then' has no value: it is on a branch that was not taken"):
            e.run([f32(3), np.array(False)])


def test_a_predicate_that_is_no_bool_blames_the_switch():
    plan = build_plan([PlanNode(F), PlanNode(F), PlanNode(S, 2, ((0, 0), (1, 0)), name="sw")], [(2, 0)])
    with pytest.raises(InvalidArgumentError, match=r"node sw = SWITCH"):
        Executor(plan, [None] * 3).run([f32(1), f32(1, 2)])


def loop(body, limit, parallel=4):
    """while i < limit: i = body(i)"""
    nodes = [
        PlanNode(F, name="start"),
        PlanNode(PlanKind.ENTER, 1, ((0, 0),), frame="loop", parallel_iterations=parallel, name="enter"),
        PlanNode(M, 2, ((1, 0), (7, 0)), name="merge"),
        PlanNode(H, 1, ((2, 0),), name="less"),
        PlanNode(PlanKind.LOOP_COND, 1, ((3, 0),), name="cond"),
        PlanNode(S, 2, ((2, 0), (4, 0)), name="switch"),
        PlanNode(C, 1, ((5, 1),), name="body"),
        PlanNode(PlanKind.NEXT_ITERATION, 1, ((6, 0),), name="next"),
        PlanNode(PlanKind.EXIT, 1, ((5, 0),), name="exit"),
    ]
    less = host(lambda call, x: x[0] < limit)
    object.__setattr__(less.node, "specs", (TensorSpec(int32, Shape(())),))
    payloads = [None, None, None, less, None, None, body, None, None]
    return Executor(build_plan(nodes, [(8, 0)]), payloads)


def test_loops(device, resources):
    e = loop(scaling(device, resources, 2.0), 1000)
    assert e.run([f32(1, 5)])[0].tolist() == [1024, 5120]
    assert e.run([f32(2000)])[0].tolist() == [2000]


# ---- host kernels and state --------------------------------------------------------------------


def test_host_kernels_read_and_write_variables(device, resources):
    v = variable("count")
    op = OpDef(
        "CountUp",
        "ref: Ref(T)",
        "output: T",
        host=lambda call, ref: (ref + 1, ref.copy()),
        writes=(0,),
        types={"T": (float32,)},
    )
    kernel = HostKernel(node(op, 1), resources, device, {0: v})
    e = Executor(build_plan([PlanNode(H, 1)], [(0, 0)]), [kernel])
    with pytest.raises(FailedPreconditionError, match="uninitialized value count"):
        e.run()
    single(assign_kernel(device, resources, v), n_outputs=0).run([f32(5)])
    assert [e.run()[0].tolist() for _ in range(3)] == [[5], [6], [7]]
    assert single(more_kernel(device, resources, v)).run([f32(0.5)])[0].tolist() == [8.5]


def test_host_kernels_that_only_read_leave_the_device_to_others(device, resources):
    """A Python function fed by a variable may run steps in other threads and wait for them."""
    v = variable()
    single(assign_kernel(device, resources, v), n_outputs=0).run([f32(3)])
    more = single(more_kernel(device, resources, v))

    def nested(call, ref):
        worker = threading.Thread(target=more.run, args=([f32(1)],))
        worker.start()
        worker.join(20)
        return ref if not worker.is_alive() else ref * 0

    op = OpDef("Fn", "x: T", "y: T", host=nested)
    kernel = HostKernel(node(op, 1), resources, device, {0: v})
    assert Executor(build_plan([PlanNode(H, 1)], [(0, 0)]), [kernel]).run()[0].tolist() == [3]
    assert resources.variable(v).tensor.numpy().tolist() == [4]


def test_ops_that_do_not_read_get_none_for_no_value(device, resources):
    v = variable()
    is_set = OpDef(
        "IsSet",
        "ref: Ref(T)",
        "y: T",
        host=lambda call, ref: np.asarray(ref is not None),
        types={"T": (float32,)},
    )
    put = OpDef(
        "Put",
        "ref: Ref(T), value: T",
        "out: Ref(T)",
        host=lambda call, ref, value: value,
        writes=(0,),
        scalar=lambda attrs, ref, value: value,
        types={"T": (float32,)},
    )
    asked = Executor(
        build_plan([PlanNode(H, 1)], [(0, 0)]),
        [HostKernel(node(is_set, 1), resources, device, {0: v})],
    )
    assert not asked.run()[0]
    kernel = HostKernel(node(put, 2, ref=True), resources, device, {0: v})
    plan = build_plan([PlanNode(F), PlanNode(H, 1, ((0, 0),))], [(1, 0)])
    x = f32(1, 2)
    assert Executor(plan, [None, kernel]).run([x])[0].tolist() == [1, 2]
    x[:] = 9
    assert resources.variable(v).tensor.numpy().tolist() == [1, 2]
    assert asked.run()[0]


def test_string_variables_live_on_the_host(device, resources):
    v = node(
        OpDef("VariableV2", "", "ref: Ref(string)", kind=Kind.VARIABLE),
        dtype=string,
        ref=True,
        name="names",
    )
    put = OpDef(
        "Put",
        "ref: Ref(T), value: T",
        "out: Ref(T)",
        host=lambda call, ref, value: value,
        writes=(0,),
        scalar=lambda attrs, ref, value: value,
        types={"T": (string,)},
    )
    kernel = HostKernel(node(put, 2, dtype=string, ref=True), resources, device, {0: v})
    plan = build_plan([PlanNode(F), PlanNode(H, 1, ((0, 0),))], [(1, 0)])
    Executor(plan, [None, kernel]).run([np.array([b"x"], object)])
    assert resources.variable(v).tensor.numpy().tolist() == [b"x"]


def test_constants_stand_among_the_inputs(resources, device):
    op = OpDef("Sub", "a: T, b: T, c: T", "y: T", host=lambda call, a, b, c: a - b - c)
    kernel = HostKernel(node(op, 3), resources, device, constants={0: f32(10), 2: f32(1)})
    e = Executor(build_plan([PlanNode(F), PlanNode(H, 1, ((0, 0),))], [(1, 0)]), [None, kernel])
    assert e.run([f32(3)])[0].tolist() == [6]


def test_random_host_kernels_count_their_calls(resources, device):
    @dataclass(frozen=True)
    class Seeds:
        seed: int = 4
        seed2: int = 5

    op = OpDef("Words", "", "y: T", host=lambda call: call.rng())
    n = dataclasses.replace(node(op), attrs=Seeds(), specs=(TensorSpec(int32, Shape((4,))),))
    e = Executor(build_plan([PlanNode(H, 1)], [(0, 0)]), [HostKernel(n, resources, device)])
    assert [e.run()[0].tolist() for _ in range(2)] == [[4, 5, 0, 0], [4, 5, 1, 0]]


# ---- errors ------------------------------------------------------------------------------------


def raising(error):
    def kernel(call, *arrays):
        raise error

    return kernel


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (ValueError, InvalidArgumentError),
        (TypeError, InvalidArgumentError),
        (KeyError, UnknownError),
        (StopIteration, OutOfRangeError),
        (MemoryError, ResourceExhaustedError),
        (InternalError, InternalError),
    ],
)
@pytest.mark.parametrize("expensive", [False, True])
def test_errors_of_host_kernels_become_ours(kind, ours, expensive):
    error = kind("bad")
    kernel = host(raising(error), 0, name="py_func", expensive=expensive)
    threads = HostThreads()
    e = Executor(build_plan([PlanNode(H, 1)], [(0, 0)]), [kernel], threads)
    with pytest.raises(ours, match="bad") as caught:
        e.run()
    assert caught.value.op is kernel.node
    assert "node py_func = Host" in str(caught.value)
    if not isinstance(error, OpError):
        assert caught.value.__cause__ is error
    threads.close()


def test_the_first_error_stops_the_others(device, resources):
    """A Recv that nobody serves and a long kernel in the pool do not keep a failed step alive."""
    release, after = threading.Event(), []
    recv = RecvKernel(transfer("Recv", "never"))
    slow = host(lambda call: release.wait(0.2) or f32(1), 0, expensive=True)
    plan = build_plan(
        [
            PlanNode(PlanKind.RECV, 1, name="recv"),
            PlanNode(H, 1, name="slow"),
            PlanNode(H, 1, name="bad"),
            PlanNode(H, 1, ((1, 0),), name="after"),
        ],
        [(0, 0), (3, 0)],
    )
    threads = HostThreads()
    payloads = [
        recv,
        slow,
        host(raising(ValueError("no")), 0),
        host(lambda call, x: after.append(1) or x),
    ]
    e = Executor(plan, payloads, threads)
    with pytest.raises(InvalidArgumentError, match="no"):
        e.run(rendezvous=Rendezvous())
    assert not after
    threads.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("tfnb-host")]


def test_a_deadline_says_what_waits():
    recv = RecvKernel(transfer("Recv", "never", name="from_ps"))
    plan = build_plan(
        [PlanNode(PlanKind.RECV, 1, name="from_ps"), PlanNode(H, 1, ((0, 0),), name="use")],
        [(1, 0)],
    )
    e = Executor(plan, [recv, host(lambda call, x: x)])
    with pytest.raises(DeadlineExceededError, match="'use' waits for 'from_ps' output 0"):
        e.run(timeout=0.05, rendezvous=Rendezvous())


def test_a_deadline_ends_a_loop_that_does_not(device, resources):
    with pytest.raises(DeadlineExceededError):
        loop(scaling(device, resources, 0.5), 10).run([f32(1)], timeout=0.1)


def test_cancellation_from_another_thread(device, resources):
    recv = RecvKernel(transfer("Recv", "never"))
    e = Executor(build_plan([PlanNode(PlanKind.RECV, 1)], [(0, 0)]), [recv])
    token = Cancellation()
    threading.Timer(0.05, token.cancel, [CancelledError("the session was closed")]).start()
    with pytest.raises(CancelledError, match="the session was closed"):
        e.run(cancellation=token, rendezvous=Rendezvous())
    with pytest.raises(CancelledError):
        single(scaling(device, resources, 2.0)).run([f32(1)], cancellation=token)
    endless = Cancellation()
    threading.Timer(0.05, endless.cancel, [CancelledError("enough")]).start()
    with pytest.raises(CancelledError, match="enough"):
        loop(scaling(device, resources, 0.5), 10).run([f32(1)], cancellation=endless)


def test_an_interrupt_while_waiting():
    recv = RecvKernel(transfer("Recv", "never"))
    e = Executor(build_plan([PlanNode(PlanKind.RECV, 1)], [(0, 0)]), [recv])
    main = threading.main_thread().ident
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        e.run(rendezvous=Rendezvous())
    timer.join()


def test_a_recv_that_nobody_serves_is_an_error():
    recv = RecvKernel(transfer("Recv", "never", name="from_nowhere"))
    e = Executor(build_plan([PlanNode(PlanKind.RECV, 1, name="from_nowhere")], [(0, 0)]), [recv])
    with pytest.raises(InternalError, match=r"wait for each other.*\n.*from_nowhere"):
        e.run()


def test_cancelled_once_and_withdrawn():
    token, seen = Cancellation(), []
    withdraw = token.on_cancel(lambda e: seen.append("withdrawn"))
    token.on_cancel(lambda e: seen.append(e))
    withdraw()
    first = CancelledError("one")
    assert token.cancel(first)
    assert not token.cancel(CancelledError("two"))
    token.on_cancel(lambda e: seen.append(e))
    assert seen == [first, first]


# ---- asynchronous kernels ----------------------------------------------------------------------


class Later:
    """Gives its input from another thread."""

    def __init__(self, error=None):
        self.node = node(OpDef("Later", "x: T", "y: T"), 1, name="later")
        self.error = error

    def start(self, inputs, is_dead, tag, step, done):
        threading.Timer(0.01, lambda: done(None if self.error else inputs, self.error)).start()


def test_continuations():
    plan = build_plan([PlanNode(F), PlanNode(PlanKind.ASYNC, 1, ((0, 0),), name="later")], [(1, 0)])
    assert Executor(plan, [None, Later()]).run([f32(4)])[0].tolist() == [4]
    with pytest.raises(OutOfRangeError, match="closed") as caught:
        Executor(plan, [None, Later(OutOfRangeError("closed"))]).run([f32(4)])
    assert caught.value.node_name == "later"


def test_send_and_recv_between_devices(resources):
    settings = dataclasses.replace(load_settings(), quiet=True)
    one, other = make_devices(settings, {"CPU": 2})[:2]
    send, recv = (
        SendKernel(transfer("Send", "k")),
        RecvKernel(transfer("Recv", "k")),
    )
    plan = build_plan(
        [
            PlanNode(F),
            PlanNode(C, 1, ((0, 0),)),
            PlanNode(PlanKind.SEND, 0, ((1, 0),)),
            PlanNode(PlanKind.RECV, 1),
            PlanNode(C, 1, ((3, 0),)),
        ],
        [(4, 0)],
    )
    e = Executor(plan, [None, scaling(one, resources, 2.0), send, recv, scaling(other, resources, 3.0)])
    for i in range(20):
        assert e.run([f32(i, 1)])[0].tolist() == [6 * i, 6]
    one.close()
    other.close()


# ---- the null device ---------------------------------------------------------------------------


def test_the_null_device_runs_plans(resources):
    null = NullDevice("/device:CPU:0")
    e = single(scaling(null, resources, 2.0))
    assert e.run([f32(1, 2)])[0].tolist() == [0, 0]
    v = variable()
    single(assign_kernel(null, resources, v), n_outputs=0).run([f32(1)])
    assert single(more_kernel(null, resources, v)).run([f32(1)])[0].tolist() == [0]


# ---- many threads, some of which fail on purpose -----------------------------------------------


def test_sixteen_threads_some_failing(device, resources):
    def maybe(call, x):
        if int(x[0]) % 7 == 3:
            raise ValueError(f"unlucky {int(x[0])}")
        return x + 1

    threads = HostThreads()
    plan = build_plan(
        [
            PlanNode(F),
            PlanNode(C, 1, ((0, 0),)),
            PlanNode(H, 1, ((1, 0),)),
            PlanNode(C, 1, ((2, 0),)),
        ],
        [(3, 0)],
    )
    e = Executor(
        plan,
        [
            None,
            scaling(device, resources, 1.0),
            host(maybe, expensive=True),
            scaling(device, resources, 2.0),
        ],
        threads,
    )
    wrong, before = [], threading.active_count()

    def work(seed):
        for k in range(30):
            x = seed * 30 + k
            try:
                y = e.run([f32(x)])[0].tolist()
                good = x % 7 != 3 and y == [2 * (x + 1)]
            except InvalidArgumentError as error:
                good = x % 7 == 3 and f"unlucky {x}" in str(error)
            if not good:
                wrong.append(x)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    threads.close()
    assert not wrong
    assert threading.active_count() == before
