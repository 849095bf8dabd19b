"""`pywrap_tensorflow.EventsWriter`, with which programs write event files without a thread of their own.

Invariant: the file is made once, by the first event, `Init` or `FileName`; after `Flush` all earlier events are in it.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from tfnb.errors import DTypeError
from tfnb.ir.protos import proto
from tfnb.summary.records import frame
from tfnb.summary.writer import Message
from tfnb.system.files import os_errors

__all__ = ["EventsWriter"]

_VERSION = "brain.Event:2"


class EventsWriter:
    """Writes `Event` messages to a file whose name begins with `file_prefix`, a path.

    The name goes on with ".out.tfevents.", the time in seconds and the name of the machine. Raises `NotFoundError` when
    the folder is not there, and `PermissionDeniedError` when it cannot be written.
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        self._prefix, self._suffix = os.fsdecode(file_prefix), ""
        self._path = ""
        self._file: Any = None

    def InitWithSuffix(self, suffix: str | bytes) -> None:
        """Makes the file, whose name ends with `suffix`, unless it is there."""
        self._suffix = os.fsdecode(suffix)
        self.Init()

    def Init(self) -> None:
        """Makes the file, unless it is there."""
        self._opened()

    def _opened(self) -> Any:
        if self._file is None:
            now = time.time()
            path = f"{self._prefix}.out.tfevents.{int(now):010d}.{socket.gethostname()}{self._suffix}"
            with os_errors(path):
                self._file = open(path, "ab")  # noqa: SIM115  # `Close` closes it
            self._path = path
            self._file.write(frame(proto("event").Event(wall_time=now, file_version=_VERSION).SerializeToString()))
        return self._file

    def FileName(self) -> bytes:
        """Returns the path of the file."""
        self._opened()
        return os.fsencode(self._path)

    def WriteEvent(self, event: Message) -> None:
        """Adds an event. Raises `DTypeError` for what is no message."""
        if not hasattr(event, "SerializeToString"):
            raise DTypeError(f"EventsWriter.WriteEvent needs an Event message, got {type(event).__name__}")
        self._opened().write(frame(event.SerializeToString()))

    def Flush(self) -> bool:
        """Brings all events to the file, and returns whether it could."""
        return self._done("flush")

    def Close(self) -> bool:
        """Closes the file, and returns whether it could; a later event makes another one."""
        closed = self._done("close")
        self._file = None
        return closed

    def _done(self, action: str) -> bool:
        if self._file is None:
            return True
        try:
            getattr(self._file, action)()
        except OSError:
            return False
        return True
