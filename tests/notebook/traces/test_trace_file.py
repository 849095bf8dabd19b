"""Chrome traces: ours come back as they were, others' are read, and nothing harms."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DataLossError, NotFoundError, ResourceExhaustedError
from tfnb.notebook.traces.trace_file import read_trace, trace_of
from tfnb.notebook.traces.view import timeline


@pytest.mark.opencl
def test_ours_come_back(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 8])
        y = tf.matmul(x, tf.ones([8, 4]))
    with tf.Session(graph=graph) as sess, tf.profile() as recording:
        for _ in range(3):
            sess.run(y, {x: np.ones((2, 8))})
    first = timeline(recording)
    first.save(tmp_path / "a.trace.json")
    found = read_trace(str(tmp_path / "a.trace.json"))
    again = timeline(found)
    assert found.skipped == 0
    assert len(again.model.steps) == 3
    assert [e.name for e in again.model.events] == [e.name for e in first.model.events]
    assert [e.kind for e in again.model.events] == [e.kind for e in first.model.events]
    assert {(lane.device, lane.name) for lane in again.model.lanes} == {
        (lane.device, lane.name) for lane in first.model.lanes
    }
    for mine, theirs in zip(again.model.events, first.model.events, strict=True):
        assert mine.took_us == pytest.approx(theirs.took_us, abs=2e-3)
        assert mine.nodes == theirs.nodes
    assert timeline(trace_of(json.loads(again.chrome_trace()))).summary == again.summary


def test_pairs_names_and_arrows():
    found = trace_of(
        [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "host"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "reader"}},
            {"ph": "B", "name": "outer", "pid": 1, "tid": 7, "ts": 10},
            {"ph": "B", "name": "inner", "pid": 1, "tid": 7, "ts": 12},
            {"ph": "E", "pid": 1, "tid": 7, "ts": 15},
            {"ph": "E", "pid": 1, "tid": 7, "ts": 30},
            {"ph": "X", "name": "copy", "cat": "gpu_memcpy", "pid": 2, "tid": "s", "ts": 11, "dur": 4},
            {"ph": "s", "id": 1, "pid": 1, "tid": 7, "ts": 15},
            {"ph": "f", "id": 1, "pid": 2, "tid": "s", "ts": 15},
            {"ph": "E", "pid": 9, "tid": 9, "ts": 15},
            {"ph": "B", "name": "never ends", "pid": 1, "tid": 8, "ts": 1},
            {"ph": "X", "name": "no time", "ts": "soon"},
            "not even an event",
        ]
    )
    (step,) = found.steps
    told = {t.name: (t.start_us, t.took_us, t.device, t.lane, t.kind, t.woken_by) for t in step.times}
    assert told == {
        "outer": (0, 20, "host", "reader", "host", ""),
        "inner": (2, 3, "host", "reader", "host", ""),
        "copy": (1, 4, "process 2", "thread s", "transfer", "reader"),
    }
    assert found.skipped == 4


def test_what_is_no_trace(tmp_path):
    path = tmp_path / "x.trace.json"
    for text in ("", "{", "7", "{}", "[]", '{"traceEvents": 7}', "[1, 2]", "[" * 100_000, "\xff"):
        path.write_text(text, "latin-1")
        with pytest.raises(DataLossError):
            read_trace(str(path))
    with pytest.raises(NotFoundError):
        read_trace(str(tmp_path / "none"))
    path.write_text("[1, 2]")
    with pytest.raises(ResourceExhaustedError, match="more than 3 bytes"):
        read_trace(str(path), most_bytes=3)


@pytest.mark.parametrize("values", ["{}", "[]", '{"ph":"X","ts":1,"args":{"a":[0,0,0,0]}}'])
def test_values_are_counted_before_they_are_made(tmp_path, values):
    path = tmp_path / "x.trace.json.gz"
    path.write_bytes(gzip.compress(b"[" + f"{values},".encode() * 2_500_000 + b"{}]", 1))
    with pytest.raises(ResourceExhaustedError, match=r"values in JSON: at most 4,000,000|more than 67,108,864 bytes"):
        read_trace(str(path))


def test_only_the_first_steps_are_read():
    found = trace_of([{"ph": "X", "ts": i, "dur": 1, "name": "a", "args": {"step": i}} for i in range(1_500)])
    assert len(found.steps) == 1_000 and found.skipped == 500 and found.steps[-1].begin_us == 999


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
EVENT = st.fixed_dictionaries(
    {"ph": st.sampled_from("XBEMsf") | JSON},
    optional=dict.fromkeys(("name", "cat", "pid", "tid", "ts", "dur", "args", "id"), JSON),
)


@settings(max_examples=40)
@given(st.lists(EVENT, max_size=8))
def test_any_json_gives_steps_or_an_error(events):
    try:
        found = trace_of(events)
    except DataLossError:
        return
    assert timeline(found).model.events
