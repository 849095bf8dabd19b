"""The public names of this package, from which `scripts/public_names.py` writes the table."""

from __future__ import annotations

from typing import Any

from tfnb.summary import frame
from tfnb.summary.events_writer import EventsWriter
from tfnb.summary.frame import EventTable, read_events
from tfnb.summary.reader import LogReader
from tfnb.summary.writer import FileWriter, FileWriterCache

__all__ = ["API"]

API: dict[str, Any] = {
    "python.pywrap_tensorflow.EventsWriter": EventsWriter,
    "summary.EventTable": EventTable,
    "summary.EventsWriter": EventsWriter,
    "summary.FileWriter": FileWriter,
    "summary.FileWriterCache": FileWriterCache,
    "summary.LogReader": LogReader,
    "summary.read_events": read_events,
    "train.SummaryWriter": FileWriter,
    "train.SummaryWriterCache": FileWriterCache,
    **frame.API,
}
