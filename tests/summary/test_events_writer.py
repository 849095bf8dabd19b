"""pywrap_tensorflow.EventsWriter: event files without a thread."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import NotFoundError
from tfnb.summary import Event, Summary

EventsWriter = tf.python.pywrap_tensorflow.EventsWriter


def test_events_are_read_again(tmp_path):
    writer = EventsWriter(str(tmp_path / "events").encode())
    assert list(tmp_path.iterdir()) == []
    for step in range(3):
        value = Summary.Value(tag="reward", simple_value=step / 2)
        writer.WriteEvent(Event(wall_time=step, step=step, summary=Summary(value=[value])))
    assert writer.Flush()
    path = writer.FileName().decode()
    assert [str(p) for p in tmp_path.iterdir()] == [path] and "/events.out.tfevents." in path
    events = list(tf.train.summary_iterator(path))
    assert events[0].file_version == "brain.Event:2"
    assert [(e.step, e.summary.value[0].simple_value) for e in events[1:]] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert writer.Close() and writer.Close()


def test_a_suffix_and_a_folder_that_is_not_there(tmp_path):
    writer = EventsWriter(str(tmp_path / "a"))
    writer.InitWithSuffix(".late")
    assert writer.FileName().endswith(b".late")
    writer.Close()
    with pytest.raises(NotFoundError):
        EventsWriter(str(tmp_path / "none" / "a")).Init()


def test_what_is_no_event_is_refused(tmp_path):
    with pytest.raises(TypeError, match="needs an Event message, got object"):
        EventsWriter(str(tmp_path / "events")).WriteEvent(object())
