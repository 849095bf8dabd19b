"""What tests ask of summaries."""

from __future__ import annotations

import unittest

import pytest

import tfnb as tf
from tfnb import errors

testing = tf.contrib.testing


def summary(**values):
    return tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=v) for t, v in values.items()])


def test_summaries_of_the_latest_file(tmp_path):
    assert testing.latest_events(str(tmp_path)) == []
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(str(tmp_path))
        for step in range(3):
            writer.add_summary(summary(loss=float(step), rate=0.5), step)
        writer.close()
    events = testing.latest_summaries(str(tmp_path))
    assert [event.step for event in events] == [0, 1, 2]
    assert testing.simple_values_from_events(events, ["loss"]) == {"loss": [0.0, 1.0, 2.0]}
    assert testing.latest_event_file(str(tmp_path)).startswith(str(tmp_path))
    testing.assert_summary(["loss", "rate"], [2.0, 0.5], events[-1].summary)
    with pytest.raises(AssertionError, match="tags"):
        testing.assert_summary(["loss"], [2.0], events[-1].summary)
    with pytest.raises(AssertionError, match="no event file"):
        testing.latest_event_file(str(tmp_path / "none"))


def test_a_writer_in_memory():
    case, graph = unittest.TestCase(), tf.Graph()
    writer = testing.FakeSummaryWriter("here", graph)
    writer.add_summary(summary(loss=2.0).SerializeToString(), 7)
    writer.flush()
    assert testing.to_summary_proto(summary(a=1.0).SerializeToString()) == summary(a=1.0)
    assert list(writer.summaries) == [7]
    options = {"expected_logdir": "here", "expected_graph": graph, "expected_added_graphs": [graph]}
    writer.assert_summaries(case, expected_summaries={7: {"loss": 2.0}}, **options)
    with pytest.raises(AssertionError, match="step 8"):
        writer.assert_summaries(case, expected_summaries={8: {"loss": 2.0}}, **options)
    with pytest.raises(AssertionError):
        writer.assert_summaries(case, expected_summaries={7: {"loss": 3.0}}, **options)
    with pytest.raises(errors.InvalidArgumentError, match="nothing else"):
        writer.add_graph(graph, 3)
