"""The file of a reader's progress, `tfnb-lessons.json` in the working folder, which is the notebook's.

Invariant: the file is replaced as a whole, and what another process has written meanwhile is kept; a file that cannot
be read is moved aside under a new name, never deleted; nothing of it leaves the machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tfnb.errors import DataLossError, OpError
from tfnb.system.files import os_errors, replace_file

__all__ = ["NAME", "Record", "parse", "read", "update"]

NAME = "tfnb-lessons.json"
MOST_BYTES = 1 << 20
MOST_EXERCISES = 1000
MOST_NUMBER = 1 << 31
_FORMAT = "tfnb lessons 1"


@dataclass(frozen=True)
class Record:
    """What is kept of an exercise: the most points so far, how often it was tried, and how often each case failed."""

    points: int = 0
    tries: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)

    def after(self, points: int, failed: str | None) -> Record:
        """Returns the record after one more try, in which the case `failed` was the first that was not right."""
        failures = dict(self.failures)
        if failed is not None:
            failures[failed] = min(failures.get(failed, 0) + 1, MOST_NUMBER)
        return replace(self, points=max(self.points, points), tries=min(self.tries + 1, MOST_NUMBER), failures=failures)


def parse(data: bytes, path: str = NAME) -> dict[str, Record]:
    """Returns the records by the exercises' numbers. Raises `DataLossError` for anything but a file of ours."""
    if len(data) > MOST_BYTES:
        raise DataLossError(f"{path}: it has {len(data):,} bytes; needed at most {MOST_BYTES:,}")
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise DataLossError(f"{path}: it is no JSON: {str(e)[:100]}") from e
    if not isinstance(tree, dict) or tree.get("format") != _FORMAT or not isinstance(tree.get("exercises"), dict):
        raise DataLossError(f"{path}: it is no file of progress; needed the format {_FORMAT!r}")
    if len(tree["exercises"]) > MOST_EXERCISES:
        raise DataLossError(f"{path}: it has {len(tree['exercises']):,} exercises; needed at most {MOST_EXERCISES:,}")
    return {number: _record(f"{path}: exercise {number[:20]}", entry) for number, entry in tree["exercises"].items()}


def _record(where: str, entry: object) -> Record:
    if not isinstance(entry, dict) or entry.keys() != {"points", "tries", "failures"}:
        raise DataLossError(f"{where}: needed points, tries and failures")
    failures = entry["failures"]
    numbers = [entry["points"], entry["tries"], *(failures.values() if isinstance(failures, dict) else [None])]
    if not all(type(n) is int and 0 <= n <= MOST_NUMBER for n in numbers):
        raise DataLossError(f"{where}: needed numbers from 0 to {MOST_NUMBER:,}")
    return Record(entry["points"], entry["tries"], failures)


def read(folder: str) -> tuple[dict[str, Record], str]:
    """Returns the records of a folder, none where there is no file, and a note for the reader, or "".

    A file that cannot be read is moved aside; the note says where it is now, or why it could not be moved.
    """
    path = os.path.join(folder, NAME)
    try:
        with os_errors(path), open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        return parse(data, path), ""
    except DataLossError as e:
        return {}, _set_aside(path, e)
    except OpError as e:
        return {}, "" if not os.path.lexists(path) else f"The progress cannot be read: {e.message}."


def _set_aside(path: str, error: OpError) -> str:
    """Moves a damaged file to a name that is free. Returns the note for the reader."""
    for k in range(1, 1000):
        aside = f"{path}.damaged-{k}"
        try:
            os.link(path, aside)  # fails if the name is taken, as a rename would not
            os.unlink(path)
        except FileExistsError:
            continue
        except OSError as e:
            return f"The progress cannot be read ({error.message}), nor moved aside: {e.strerror or e}."
        return f"The progress could not be read ({error.message}); the file is now {os.path.basename(aside)}."
    return f"The progress cannot be read ({error.message})."


def update(folder: str, number: str, points: int, failed: str | None) -> tuple[Record | None, str]:
    """Counts one try of an exercise. Returns its new record, None if it could not be kept, and a note or "".

    Where the folder cannot be written, or the file there is none of ours that could be moved aside, the note says so,
    and nothing is kept.
    """
    with _locked(folder):
        records, note = read(folder)
        record = records.get(number, Record()).after(points, failed)
        path = os.path.join(folder, NAME)
        if note and os.path.lexists(path):  # something that is not ours to replace
            return None, note
        try:
            replace_file(path, lambda new: _write(new, {**records, number: record}))
        except OpError as e:
            return None, f"The progress is not kept: {e.message}."
        return record, note


def _write(path: str, records: Mapping[str, Record]) -> None:
    exercises = {
        number: {"points": r.points, "tries": r.tries, "failures": dict(r.failures)}
        for number, r in sorted(records.items())
    }
    text = json.dumps({"format": _FORMAT, "exercises": exercises}, indent=1, ensure_ascii=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Keeps other processes from changing the file of a folder meanwhile, where the file system has locks."""
    handle = None
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
