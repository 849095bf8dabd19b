"""Traces that nobody sane would make: impossible times, endless overlap, too many lanes, damaged and hostile files."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.ir.step_graph.graph import Graph
from tfnb.notebook.protocol.timeline import KINDS
from tfnb.notebook.traces import model as trace_model_module
from tfnb.notebook.traces.causes import causes, critical_path
from tfnb.notebook.traces.lanes import MOST_LANES, MOST_ROWS
from tfnb.runtime.stats import StepStats
from tfnb.session.config import NodeStats, StepTimes
from tfnb.session.recording import Recording

CPU = "/device:CPU:0"
NAN, INF = float("nan"), float("inf")


def kernel(name, start, end, **more):
    return NodeStats(name, "Op", CPU, start, end, 8, (name,), **{"lane": "queue", **more})


def sound(view):
    """All that the browser is sent is finite, in order, and within its bounds."""
    m = view.model
    assert np.isfinite(m.start).all() and np.isfinite(m.end).all() and (m.end >= m.start).all()
    assert (np.diff(m.start) >= 0).all() and (m.start >= 0).all()
    for row in np.unique(m.row):
        mine = m.row == row
        assert (m.start[mine][1:] >= m.end[mine][:-1]).all()
    json.dumps(view._meta(), allow_nan=False)
    assert len(view._columns()) == 8
    assert "NaN" not in view.chrome_trace()
    found = causes(m)
    assert critical_path(m, found).any() or not any(t.kind not in ("wait", "launch") for t in m.events)
    return view


def test_impossible_times_are_left_out_and_told():
    view = sound(
        tf.timeline(
            StepTimes(
                [
                    kernel("nan", NAN, 3),
                    kernel("endless", 1, INF),
                    kernel("years away", 1e300, 1e301),
                    kernel("text", "x", 3),
                    kernel("backwards", 50, 20),
                    kernel("early", -7, -3),
                    kernel("good", 10, 20),
                    kernel("before all", 0, -INF),
                ]
            )
        )
    )
    assert "5 events with impossible times are left out" in view.summary
    assert [t.name for t in view.model.events] == ["early", "good", "backwards"]
    assert view.model.start.tolist() == [0, 17, 57] and view.model.end.tolist() == [4, 27, 57]
    with pytest.raises(tf.errors.InvalidArgumentError, match="nothing was recorded"):
        tf.timeline(StepTimes([kernel("nan", NAN, NAN)]))


def test_endless_overlap_and_lanes_are_limited_and_told():
    view = sound(tf.timeline(StepTimes(kernel("k", i, 10_000) for i in range(5 * MOST_ROWS))))
    assert [lane.rows for lane in view.model.lanes] == [MOST_ROWS]
    assert f"{4 * MOST_ROWS} events overlap too much" in view.summary
    view = sound(tf.timeline(StepTimes(kernel("k", i, i + 1, lane=f"q{i}") for i in range(MOST_LANES + 50))))
    assert len(view.model.lanes) == MOST_LANES and "50 events" in view.summary


def test_too_many_events_are_told(monkeypatch):
    monkeypatch.setattr(trace_model_module, "MOST_EVENTS", 1000)
    view = sound(tf.timeline(StepTimes(kernel(f"k{i % 3}", i, i + 1) for i in range(1500))))
    assert len(view.model.events) == 1000 and "500 later events are left out" in view.summary


def test_steps_beyond_the_limit_are_told_and_not_even_looked_at(monkeypatch):
    monkeypatch.setattr(trace_model_module, "MOST_EVENTS", 1000)
    recording = Recording()
    for _ in range(30):
        stats = StepStats()
        stats.times = [("host", "a", (), i, i + 1.0, 0, "host", "T") for i in range(100)]
        stats.wall_us = 100.0
        recording.add(stats, Graph({}))
    view = tf.timeline(recording)
    assert len(view.model.events) == 1000 and len(view.model.steps) == 10
    assert "2,000 events of 20 later steps are left out" in view.summary
    assert [("times" in vars(step)) for step in recording.steps] == [True] * 10 + [False] * 20


def test_nodes_that_name_each_other_end():
    """Cyclic parents: what woke an event was woken by it; nodes that read themselves."""
    times = StepTimes(
        [
            NodeStats("a", "", "host", 0, 10, kind="wait", lane="A", woken_by="B", nodes=("a", "b")),
            NodeStats("b", "", "host", 0, 10, kind="wait", lane="B", woken_by="A", nodes=("b", "a")),
            NodeStats("a", "", "host", 0, 10, kind="host", lane="A", woken_by="A", nodes=("a",)),
        ]
    )
    view = sound(tf.timeline(times))
    for i in range(3):
        seen = set()
        while i >= 0:
            assert i not in seen
            seen.add(i)
            i = int(view._causes[i])


TIMES = st.one_of(st.floats(width=64), st.integers(-100, 100), st.sampled_from([NAN, INF, -INF, 0.0, 1e15, -1e15]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TIMES, TIMES, st.sampled_from([*KINDS, "other"]), st.sampled_from("ab")), max_size=30))
def test_any_times(given_times):
    times = StepTimes(
        NodeStats(
            lane, "Op", CPU if kind == "kernel" else "host", a, b, kind=kind, lane=lane, woken_by="a", nodes=(lane,)
        )
        for a, b, kind, lane in given_times
    )
    try:
        view = tf.timeline(times)
    except tf.errors.InvalidArgumentError:
        return
    sound(view)
    assert "<svg" in view._repr_html_()


def recorded():
    step = [
        kernel("one", 1.5, 20.25),
        kernel("two", 21, 40, kind="wait", detail="for <b>", woken_by="feeder"),
        NodeStats("to CPU:0", "", "host", 0, 1, 64, kind="transfer", lane="MainThread"),
    ]
    return tf.timeline(StepTimes(step))


@pytest.mark.parametrize("zipped", [False, True])
def test_what_was_saved_is_shown_again(tmp_path, zipped):
    view = recorded()
    path = tmp_path / "trace.json"
    view.save(path)
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    again = sound(tf.timeline(path))
    for name in ("start", "end", "row", "kind", "label", "step"):
        assert np.allclose(getattr(again.model, name), getattr(view.model, name), atol=1e-3), name
    assert again.model.labels == view.model.labels and again.model.lanes == view.model.lanes
    assert [(t.detail, t.woken_by, t.nbytes) for t in again.model.events] == [
        (t.detail, t.woken_by, t.nbytes) for t in view.model.events
    ]
    assert again.model.steps[0].wall_us == pytest.approx(view.model.steps[0].wall_us, abs=1e-3)


def test_other_profilers_traces(tmp_path):
    path = tmp_path / "torch.json"
    path.write_text(
        json.dumps(
            [
                {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "GPU 0"}},
                {"ph": "X", "pid": 7, "tid": 3, "ts": 1.6e15, "dur": 40, "cat": "gpu_kernel", "name": "gemm"},
                {"ph": "X", "pid": 7, "tid": 3, "ts": 1.6e15 + 50, "dur": 2, "cat": "gpu_memcpy", "name": "HtoD"},
                {"ph": "B", "pid": 1, "tid": 1, "ts": 1.6e15 + 1, "name": "outer"},
                {"ph": "B", "pid": 1, "tid": 1, "ts": 1.6e15 + 2, "name": "inner"},
                {"ph": "E", "pid": 1, "tid": 1, "ts": 1.6e15 + 3},
                {"ph": "E", "pid": 1, "tid": 1, "ts": 1.6e15 + 9},
            ]
        )[:-1]
        + ","
    )  # as of a program that died
    view = sound(tf.timeline(path))
    assert {t.name: t.kind for t in view.model.events} == {
        "gemm": "kernel",
        "HtoD": "transfer",
        "outer": "host",
        "inner": "host",
    }
    assert view.model.span_us == pytest.approx(52, abs=0.5)
    assert {lane.device: lane.rows for lane in view.model.lanes} == {"GPU 0": 1, "process 1": 2}


HOSTILE = [
    b"",
    b"{}",
    b"[",
    b"[1, 2",
    b'{"traceEvents": 3}',
    b"[" * 100_000,
    b'{"traceEvents": [' + b"9" * 5000 + b"]}",
    b'[{"ph": "X"}]',
    b'[{"ph": "X", "ts": NaN}]',
    b'[{"ph": "X", "ts": 1e999, "dur": -1}]',
    b"\x1f\x8bnot gzip",
    b'[{"ph": "X", "ts": "\xff", "args": []}]',
    b"\x00\xff\xfe",
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_damaged_and_hostile_files_are_refused(tmp_path, number):
    path = tmp_path / "trace.json"
    path.write_bytes(HOSTILE[number])
    with pytest.raises(tf.errors.OpError):
        tf.timeline(path)
