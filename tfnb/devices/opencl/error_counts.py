"""The lines "1 error generated." that the compiler writes past Python are kept from standard error."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

__all__ = ["without_counts"]

_COUNT = re.compile(rb"^(\d+ warnings? and )?\d+ (error|warning)s? generated\.\r?\n?", re.MULTILINE)
_STDERR = 2
_one_at_a_time = threading.RLock()


@contextmanager
def without_counts() -> Iterator[None]:
    """A context for builds of a text that may have errors, as one of a user may; the compiler's log has the errors.

    What else is written to the descriptor meanwhile, by whatever thread, is written at the end of the context.
    """
    with _one_at_a_time, ExitStack() as stack:
        with suppress(OSError):  # where there is no standard error, or no place for the file, nothing is kept
            kept = stack.enter_context(tempfile.TemporaryFile())
            before = os.dup(_STDERR)
            stack.callback(os.close, before)
            stack.callback(_write_out, kept)
            stack.callback(os.dup2, before, _STDERR)
            os.dup2(kept.fileno(), _STDERR)
        yield


def _write_out(kept: IO[bytes]) -> None:
    kept.seek(0)
    rest = memoryview(_COUNT.sub(b"", kept.read()))
    while rest:
        rest = rest[os.write(_STDERR, rest) :]
