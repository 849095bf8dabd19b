"""Reads and updates of rows of one table in one step, compared with a model of the table in NumPy.

A read that the graph does not order after a write, nor before it, may see either value. But all rows that are taken
from one read are of one moment, which lies between the writes that come before the read and those that wait for it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf

pytestmark = [
    pytest.mark.opencl,
    pytest.mark.not_compared("a read that the graph does not order may see the old value or the new one"),
]
ROWS, NO_WRITE_WAITS = 5, 100
numbers = st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=3)
# The rows are given by a feed, by the host, or by the rows of an earlier one, which come from the device over the host.
takes = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["feed", "host", "earlier"]),
        "rows": numbers,
        "number": st.integers(0, 9),
        "late": st.booleans(),  # whether it waits for the last write, although its read may not
    }
)
writes = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["scatter_add", "scatter_update", "assign"]),
        "rows": numbers,
        "waits": st.sets(st.integers(0, 9), max_size=2),  # for which of the takes
        "read": st.booleans(),  # whether the takes after this write have a read of their own
    }
)


class Step:
    """A graph of takes and writes, and the bounds of what each read may see."""

    def __init__(self, first: np.ndarray) -> None:
        self.table = tf.Variable(first)
        self.states = [first]  # after none of the writes, after the first one, ...
        self.reads = [self.table.value()]
        self.first_state, self.last_state = [0], [NO_WRITE_WAITS]
        self.takes: list[tuple[int, tf.Tensor, tf.Tensor]] = []  # the number of the read, the rows, their numbers
        self.before: list[set[int]] = []  # the reads that a take waits for
        self.feeds: dict[tf.Tensor, np.ndarray] = {}
        self.last_write: tf.Operation | None = None

    def take(self, source, rows, number, late):
        read, before = len(self.reads) - 1, set()
        fed = tf.placeholder(tf.int32, [None])
        self.feeds[fed] = np.asarray(rows, np.int32)
        index = fed
        if source == "host":
            index = tf.unique(fed)[0]
        elif source == "earlier" and self.takes:
            earlier = number % len(self.takes)
            before = self.before[earlier]
            index = tf.unique(tf.floormod(tf.cast(self.takes[earlier][1][:, 0], tf.int32), ROWS))[0]
        with tf.control_dependencies([self.last_write] if late and self.last_write is not None else []):
            self.takes.append((read, tf.gather(self.reads[read], index), index))
        self.before.append(before | {read})

    def write(self, kind, rows, waits, read):
        waited = [n % len(self.takes) for n in waits] if self.takes else []
        for r in set().union(*(self.before[n] for n in waited)):
            self.last_state[r] = min(self.last_state[r], len(self.states) - 1)
        after = [self.takes[n][1] for n in waited] + ([self.last_write] if self.last_write is not None else [])
        state, values = self.states[-1].copy(), np.full((len(rows), 2), 10.0 * len(self.states), np.float32)
        with tf.control_dependencies(after):
            if kind == "assign":
                state[:] = values[0]
                change = tf.assign(self.table, state)
            else:
                change = getattr(tf, kind)(self.table, rows, values)
                if kind == "scatter_add":
                    np.add.at(state, rows, values)
                else:
                    state[rows] = values
        self.states.append(state)
        self.last_write = change.op
        if read:
            with tf.control_dependencies([change]):
                self.reads.append(self.table.read_value())
            self.first_state.append(len(self.states) - 1)
            self.last_state.append(NO_WRITE_WAITS)

    def check(self, session, join):
        session.run(self.table.initializer)
        targets = [self.last_write] if self.last_write is not None else []
        values, index = [t[1] for t in self.takes], [t[2] for t in self.takes]
        fetched = tf.concat(values, 0) if join else values  # what is fetched itself cannot be computed later
        fetched, index, _ = session.run([fetched, index, targets], self.feeds)
        values = np.split(fetched, np.cumsum([len(i) for i in index])[:-1]) if join else fetched
        results = list(zip(values, index, strict=True))
        for read in range(len(self.reads)):
            mine = [r for r, take in zip(results, self.takes, strict=True) if take[0] == read]
            possible = range(self.first_state[read], min(self.last_state[read], len(self.states) - 1) + 1)
            seen = [all(np.array_equal(v, self.states[k][i]) for v, i in mine) for k in possible]
            assert any(seen), f"read {read} sees {mine}, in {[self.states[k] for k in possible]}"
        np.testing.assert_array_equal(session.run(self.table), self.states[-1])


@settings(max_examples=20)
@given(st.lists(st.one_of(takes, takes, writes), min_size=7, max_size=10), st.booleans())
def test_rows_are_read_before_or_after_the_writes_that_the_graph_says(program, join):
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimize=False))  # few kernels for all graphs
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        step = Step(np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2))
        for part in program:
            if "kind" in part:
                step.write(part["kind"], part["rows"], sorted(part["waits"]), part["read"])
            else:
                step.take(part["source"], part["rows"], part["number"], part["late"])
        if step.takes:
            step.check(session, join)
