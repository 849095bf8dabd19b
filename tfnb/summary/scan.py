"""Finds and checks the records in the bytes of an event file, and reads scalars in bulk.

Invariant: each record is either returned once or counted as skipped; the checksums of a returned record are right.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tfnb.summary.checksums import crcs_like
from tfnb.summary.layout import Layout, layout
from tfnb.summary.records import FOOTER, HEADER, masked_crc, unmasked

__all__ = ["MOST_RECORD", "ScanResult", "Points", "records", "scan", "scan_events"]

MOST_RECORD = 1 << 28  # bytes; a larger length means that the header is damaged
_MANY_TAGS = 12  # from this number of forms of one length on, rows are grouped by sorting their tags
# The number of forms of one length after which the other records are read one by one, and the size of the longest
# record that is compared with others: the scalars of a training have few forms and short records.
_MANY_FORMS, _LONGEST_FORM = 48, 4096
_LOOK, _JUMP = 32, 4096  # records between searches for a pattern; patterns that are compared at once
_MASK_ADD = np.uint32(0xA282EAD8)
_SEARCH = 1 << 20  # bytes that are searched at once for the next header after damage


@dataclass(frozen=True, slots=True)
class Points:
    """Values of one tag: arrays of record number (increasing), step, time and value."""

    tag: str
    record: np.ndarray
    step: np.ndarray
    wall_time: np.ndarray
    value: np.ndarray


@dataclass
class ScanResult:
    """The contents of a piece of a file.

    points: scalars. others: (record number, offset, length) of the other records. end: the position where the next
    record starts or may start. skipped: the number of damaged records, at least. records: the number of good ones.
    checked: True if the records have checksums. wanted: the size of the record at `end` if its header is complete but
    its data is not.
    """

    points: list[Points] = field(default_factory=list)
    others: list[tuple[int, int, int]] = field(default_factory=list)
    end: int = 0
    skipped: int = 0
    records: int = 0
    checked: bool = True
    wanted: int = 0


def scan(data: bytes, final: bool = False) -> ScanResult:
    """Returns the contents of `data`, which starts with a record. An incomplete last record counts as damaged if
    `final` is set, and is left for the next call otherwise.
    """
    result = ScanResult()
    offsets, lengths = _frames(data, result)
    if final and result.end < len(data):
        result.skipped += 1
        result.end = len(data)
    _by_length(data, offsets, lengths, result)
    return result


def scan_events(events: Sequence[bytes]) -> tuple[ScanResult, bytes]:
    """Returns a pair: the contents of serialized events that come from no file and have no checksums, and all their
    bytes.
    """
    data = bytes(FOOTER).join([*events, b""])  # the zeros take the place of checksums
    lengths = np.fromiter(map(len, events), np.int64, len(events))
    offsets = np.cumsum(lengths + FOOTER) - lengths - FOOTER
    result = ScanResult(end=len(data), checked=False)
    _by_length(data, offsets, lengths, result)
    return result, data


def _by_length(data: bytes, offsets: np.ndarray, lengths: np.ndarray, result: ScanResult) -> None:
    array = np.frombuffer(data, np.uint8)
    order = np.argsort(lengths, kind="stable")
    borders = np.flatnonzero(np.diff(lengths[order])) + 1
    for members in np.split(order, borders) if order.size else ():
        length = int(lengths[members[0]])
        if length == 0:
            result.records += len(members)
        elif length > _LONGEST_FORM:
            _singles(data, members, offsets[members], length, result)
        else:
            _same_length(data, array, members, offsets[members], length, result)
    result.others.sort()


def records(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields the (offset, length) of the data of each good record, in order."""
    result = ScanResult()
    for offset, length in zip(*(a.tolist() for a in _frames(data, result)), strict=True):
        if _good(data, offset, length, result):
            yield offset, length


# ---- frames --------------------------------------------------------------------------------------


class _Frames:
    """Offsets and lengths, which are added one by one or as arrays."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self.offsets: list[int] = []
        self.lengths: list[int] = []

    def extend(self, offsets: np.ndarray, lengths: np.ndarray) -> None:
        self._flush()
        self.parts.append((offsets, lengths))

    def _flush(self) -> None:
        if self.offsets:
            self.parts.append((np.array(self.offsets, np.int64), np.array(self.lengths, np.int64)))
            self.offsets, self.lengths = [], []

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        self._flush()
        if not self.parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        offsets, lengths = zip(*self.parts, strict=True)
        return np.concatenate(offsets), np.concatenate(lengths)


def _frames(data: bytes, result: ScanResult) -> tuple[np.ndarray, np.ndarray]:
    """Returns the offsets and the lengths of the complete records whose headers are good."""
    frames = _Frames()
    lengths_of: dict[bytes, int] = {}
    recent: list[bytes] = []  # headers since the last search for a pattern
    headers = _Headers(data)
    at, size, patience = 0, len(data), _LOOK
    while at + HEADER <= size:
        head = data[at : at + HEADER]
        n = lengths_of.get(head, -1)
        if n < 0:
            n = _length(head)
            if n < 0:
                result.skipped += 1
                at = headers.next(at + 1)
                if at < 0:
                    at = size
                    break
                continue
            lengths_of[head] = n
        end = at + HEADER + n + FOOTER
        if end > size:
            result.wanted = end - at
            break
        frames.offsets.append(at + HEADER)
        frames.lengths.append(n)
        recent.append(head)
        at = end
        if len(recent) >= patience:
            pattern_end = _jump(data, at, recent, lengths_of, frames)
            patience = _LOOK if pattern_end > at else min(patience * 2, 64 * _LOOK)
            recent.clear()
            at = pattern_end
    result.end = at
    return frames.arrays()


def _jump(data: bytes, at: int, recent: list[bytes], lengths_of: dict[bytes, int], frames: _Frames) -> int:
    """Returns the position at which the records stop repeating the pattern of the most recent ones.

    A training writes the same sequence of record lengths repeatedly.
    """
    period = next((k for k in range(1, _LOOK // 2 + 1) if recent[-k:] == recent[-2 * k : -k]), None)
    if period is None:
        return at
    heads = recent[-period:]
    lengths = np.array([lengths_of[h] for h in heads], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths + HEADER + FOOTER)])
    block = int(starts[-1])
    columns = (starts[:-1, None] + np.arange(HEADER)).reshape(-1)
    expected = np.frombuffer(b"".join(heads), np.uint8)
    while (n_blocks := min((len(data) - at) // block, _JUMP)) > 0:
        blocks = np.frombuffer(data, np.uint8, n_blocks * block, at).reshape(n_blocks, block)
        matches = (blocks[:, columns] == expected).all(axis=1)
        count = n_blocks if matches.all() else int(matches.argmin())
        block_starts = at + block * np.arange(count, dtype=np.int64)[:, None]
        frames.extend((block_starts + starts[:-1] + HEADER).reshape(-1), np.tile(lengths, count))
        at += count * block
        if count < n_blocks:
            break
    return at


def _length(head: bytes) -> int:
    """Returns the length in a header, or -1 when the header is damaged."""
    n, crc = struct.unpack("<QI", head)
    return n if n <= MOST_RECORD and masked_crc(head[:8]) == crc else -1


class _Headers:
    """The positions of good headers of records with less than 2**24 bytes, found piece by piece on demand.

    NumPy tests all positions of a piece at once, and each position only once: a file whose end was lost in a power
    failure may end with gigabytes of zeros, and in a damaged file every second record may be damaged.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places = np.empty(0, np.int64)
        self._done = 0  # positions before this one are not searched again

    def next(self, at: int) -> int:
        """Returns the first position of a good header from `at` on, or -1 if there is none. `at` must not decrease from
        call to call.
        """
        last = len(self._data) - HEADER
        while True:
            k = int(np.searchsorted(self._places, at))
            if k < len(self._places):
                return int(self._places[k])
            begin = max(self._done, at)
            if begin > last:
                return -1
            self._done = min(begin + _SEARCH, last + 1)
            self._places = _headers(self._data, begin, self._done)


def _headers(data: bytes, begin: int, end: int) -> np.ndarray:
    """Returns the positions from `begin` to before `end` at which a good header starts."""
    count = end - begin
    window = np.frombuffer(data, np.uint8, count + HEADER - 1, begin)
    zero = window == 0
    is_header = zero[3 : 3 + count].copy()  # the upper five bytes of the length
    for k in range(4, 8):
        is_header &= zero[k : k + count]
    is_zero = zero[:count].copy()  # the checksum of length 0 is not 0, so twelve zeros are not a header
    for k in (1, 2, 8, 9, 10, 11):
        is_zero &= zero[k : k + count]
    positions = np.flatnonzero(is_header & ~is_zero)
    rows = np.lib.stride_tricks.sliding_window_view(window, HEADER)[positions]
    crcs = crcs_like(rows[:, :8], np.zeros(8, np.uint8), unmasked(masked_crc(bytes(8))), np.arange(3))
    stored_checksums = np.ascontiguousarray(rows[:, 8:]).view("<u4")[:, 0]
    return begin + positions[_masked(crcs) == stored_checksums]


# ---- records of one length -----------------------------------------------------------------------


def _same_length(
    data: bytes, array: np.ndarray, numbers: np.ndarray, offsets: np.ndarray, length: int, result: ScanResult
) -> None:
    """Reads records of one length, form by form; a form is a layout and the bytes that are constant in it.

    After `_MANY_FORMS` forms the remaining records are read one by one, so that each is compared with few forms.
    """
    windows = np.lib.stride_tricks.sliding_window_view(array, length + FOOTER)
    remaining = np.arange(len(offsets))
    forms = 0
    while remaining.size:
        if forms == _MANY_FORMS:
            _singles(data, numbers[remaining], offsets[remaining], length, result)
            return
        first = int(offsets[remaining[0]])
        record = data[first : first + length]
        form = layout(record) if _good(data, first, length, result) else None
        if form is None:
            _single(data, int(numbers[remaining[0]]), first, length, result)
            remaining = remaining[1:]
            continue
        forms += 1
        free_tags = forms > _MANY_TAGS
        rows = windows[offsets[remaining]]
        fits = _fits(rows, rows[0].copy(), form, length, free_tags)
        _take(rows[fits], numbers[remaining[fits]], form, length, free_tags, result)
        remaining = remaining[~fits]


def _good(data: bytes, offset: int, length: int, result: ScanResult) -> bool:
    if not result.checked:
        return True
    (crc,) = struct.unpack_from("<I", data, offset + length)
    return bool(masked_crc(memoryview(data)[offset : offset + length]) == crc)


def _singles(data: bytes, numbers: np.ndarray, offsets: np.ndarray, length: int, result: ScanResult) -> None:
    for number, offset in zip(numbers.tolist(), offsets.tolist(), strict=True):
        _single(data, number, offset, length, result)


def _single(data: bytes, number: int, offset: int, length: int, result: ScanResult) -> None:
    if _good(data, offset, length, result):
        result.records += 1
        result.others.append((number, offset, length))
    else:
        result.skipped += 1


def _varying(form: Layout, free_tags: bool) -> np.ndarray:
    """Returns the numbers of the columns in which records of one form may differ."""
    columns = [*range(form.wall, form.wall + 8), *range(form.step, form.step + form.step_bytes)]
    for p in form.places:
        columns += range(p.at, p.at + p.size)
        if free_tags:
            columns += range(p.tag_at, p.tag_at + len(p.tag))
    return np.array(columns)


def _fits(rows: np.ndarray, template: np.ndarray, form: Layout, length: int, free_tags: bool) -> np.ndarray:
    is_fixed = np.ones(length, bool)
    is_fixed[_varying(form, free_tags)] = False
    columns = np.flatnonzero(is_fixed)
    matches = (rows[:, columns] == template[columns]).all(axis=1)
    for c in range(form.step, form.step + form.step_bytes):  # the varints must have the same number of bytes
        matches &= (rows[:, c] ^ template[c]) < 128
    return np.asarray(matches)


def _take(
    rows: np.ndarray, numbers: np.ndarray, form: Layout, length: int, free_tags: bool, result: ScanResult
) -> None:
    """Checks the records of one form and reads their numbers."""
    if result.checked and not (is_valid := _checksums_hold(rows, form, length, free_tags)).all():
        result.skipped += int((~is_valid).sum())
        rows, numbers = rows[is_valid], numbers[is_valid]
    result.records += len(rows)
    walls = _numbers(rows, form.wall, "<f8")
    steps = _steps(rows, form)
    for p in form.places:
        with np.errstate(invalid="ignore"):  # a signaling NaN would raise a warning
            values = _numbers(rows, p.at, "<f4" if p.size == 4 else "<f8").astype(np.float64)
        if not free_tags:
            result.points.append(Points(_text(p.tag), numbers, steps, walls, values))
            continue
        for tag, members in _by_tag(rows[:, p.tag_at : p.tag_at + len(p.tag)]):
            result.points.append(Points(_text(tag), numbers[members], steps[members], walls[members], values[members]))


def _checksums_hold(rows: np.ndarray, form: Layout, length: int, free_tags: bool) -> np.ndarray:
    stored_checksums = np.ascontiguousarray(rows[:, length:]).view("<u4")[:, 0]
    crc = unmasked(int(stored_checksums[0]))  # the checksum of the first row was compared before
    crcs = crcs_like(rows[:, :length], rows[0, :length].copy(), crc, _varying(form, free_tags))
    return np.asarray(_masked(crcs) == stored_checksums)


def _masked(crcs: np.ndarray) -> np.ndarray:
    """Returns the masked checksums of an array of checksums, as `masked_crc` does for one."""
    return np.asarray(((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + _MASK_ADD)


def _text(tag: bytes) -> str:
    return tag.decode("utf-8", "replace")


def _numbers(rows: np.ndarray, at: int, kind: str) -> np.ndarray:
    size = np.dtype(kind).itemsize
    return np.ascontiguousarray(rows[:, at : at + size]).view(kind)[:, 0]


def _steps(rows: np.ndarray, form: Layout) -> np.ndarray:
    steps = np.zeros(len(rows), np.int64)
    for k in range(form.step_bytes):
        steps |= (rows[:, form.step + k] & 127).astype(np.int64) << (7 * k)
    return steps


def _by_tag(tags: np.ndarray) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yields pairs of a tag and the increasing numbers of the rows that have this tag."""
    if tags.shape[1] == 0:
        yield b"", np.arange(len(tags))
        return
    keys = np.ascontiguousarray(tags).view(np.dtype((np.void, tags.shape[1])))[:, 0]
    names, inverse = np.unique(keys, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=len(names)))
    for name, members in zip(names, np.split(order, ends[:-1]), strict=True):
        yield name.tobytes(), members
