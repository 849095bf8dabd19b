"""`tf.contrib.testing`: what tests ask of summaries, in memory and in event files.

Invariant: a check that fails raises `AssertionError`, as those of a test case do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.summary.frame import summary_iterator

__all__ = ["FakeSummaryWriter", "assert_summary", "latest_events", "latest_summaries", "to_summary_proto"]


def _summary(value: Any) -> Any:
    return to_summary_proto(value) if isinstance(value, bytes) else value


def to_summary_proto(summary_str: bytes) -> Any:
    """Returns the Summary message that the bytes `summary_str` are."""
    return proto("summary").Summary.FromString(summary_str)


def assert_summary(expected_tags: Iterable[str], expected_simple_values: Iterable[float], summary_proto: Any) -> None:
    """Raises `AssertionError` unless the message `summary_proto` has these tags and these numbers, in any order."""
    tags = {value.tag for value in summary_proto.value}
    values = {value.simple_value for value in summary_proto.value}
    if tags != set(expected_tags) or values != set(expected_simple_values):
        raise AssertionError(
            f"needed tags {set(expected_tags)} and values {set(expected_simple_values)}, got {tags} and {values}"
        )


def latest_event_file(base_dir: str) -> str:
    """Returns the event file of the folder `base_dir` that changed last. Raises `AssertionError` when there is none."""
    files = [p for p in Path(base_dir).glob("*events*") if p.is_file()]
    if not files:
        raise AssertionError(f"there is no event file in {base_dir}")
    return str(max(files, key=lambda p: (p.stat().st_mtime_ns, p.name)))


def latest_events(base_dir: str) -> list[Any]:
    """Returns the events of the latest event file of a folder, or [] when there is none."""
    try:
        return list(summary_iterator(latest_event_file(base_dir)))
    except AssertionError:
        return []


def latest_summaries(base_dir: str) -> list[Any]:
    """Returns the events of the latest event file of a folder that hold a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, list[float]]:
    """Returns for each tag the numbers that events hold of it, in their order."""
    found: dict[str, list[float]] = {tag: [] for tag in tags}
    for event in events:
        for value in event.summary.value:
            if value.tag in found:
                found[value.tag].append(value.simple_value)
    return found


class FakeSummaryWriter:
    """A writer of summaries that keeps them in memory. logdir: is only compared; graph: is added at once."""

    def __init__(self, logdir: str, graph: object = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[int, list[Any]] = {}
        self._added: dict[str, list[Any]] = {"graphs": [], "meta_graphs": [], "session_logs": []}
        if graph is not None:
            self.add_graph(graph)

    @property
    def summaries(self) -> dict[int, list[Any]]:
        """The summaries by global step."""
        return self._summaries

    def add_summary(self, summ: Any, current_global_step: int) -> None:
        """Keeps the summary `summ`, a message or its bytes, of the step `current_global_step`."""
        self._summaries.setdefault(current_global_step, []).append(_summary(summ))

    def add_graph(self, graph: object, global_step: int | None = None, graph_def: object = None) -> None:
        """Keeps `graph`. Raises `InvalidArgumentError` for `global_step` or `graph_def`, which are not kept."""
        if global_step is not None or graph_def is not None:
            raise InvalidArgumentError("FakeSummaryWriter: add_graph takes a graph and nothing else")
        self._added["graphs"].append(graph)

    def add_meta_graph(self, meta_graph_def: object, global_step: int | None = None) -> None:
        """Keeps `meta_graph_def`. Raises `InvalidArgumentError` for `global_step`, which is not kept."""
        if global_step is not None:
            raise InvalidArgumentError("FakeSummaryWriter: add_meta_graph takes no global step")
        self._added["meta_graphs"].append(meta_graph_def)

    def add_session_log(self, session_log: object, global_step: int | None = None) -> None:
        """Keeps `session_log`. Raises `InvalidArgumentError` for `global_step`, which is not kept."""
        if global_step is not None:
            raise InvalidArgumentError("FakeSummaryWriter: add_session_log takes no global step")
        self._added["session_logs"].append(session_log)

    def flush(self) -> None:
        """Does nothing: there is no file."""

    def reopen(self) -> None:
        """Does nothing: there is no file."""

    def close(self) -> None:
        """Does nothing: there is no file."""

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: str | None = None,
        expected_graph: object = None,
        expected_summaries: Mapping[int, Mapping[str, float]] | None = None,
        expected_added_graphs: Sequence[Any] | None = None,
        expected_meta_graphs: Sequence[Any] | None = None,
        expected_session_logs: Sequence[Any] | None = None,
    ) -> None:
        """Fails the test case unless what was kept is what is expected, as far as that is given.

        expected_summaries: from global steps to numbers by tag.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for name, expected in (
            ("graphs", expected_added_graphs),
            ("meta_graphs", expected_meta_graphs),
            ("session_logs", expected_session_logs),
        ):
            test_case.assertEqual(list(expected or []), self._added[name])
        for step, values in (expected_summaries or {}).items():
            if step not in self._summaries:
                raise AssertionError(f"there is no summary of the step {step}; there are {sorted(self._summaries)}")
            found = {v.tag: v.simple_value for message in self._summaries[step] for v in message.value}
            test_case.assertEqual(dict(values), {tag: found.get(tag) for tag in values})
