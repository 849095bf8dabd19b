"""Checkpoints on disk: writing, merging, removal and reading (OSDI'16, section 4.3).

The index `PREFIX.index` names the shards `PREFIX.data-00000-of-00001-TOKEN.safetensors`, and for each tensor its dtype,
shape, parts and their CRC32C. Shards are on disk before the index gets its name, and the name of a shard is never
reused. Invariants: whenever an index exists, it describes a complete checkpoint. A file is removed only if an index of
the same prefix names it in the form that a save of this prefix gives to names, or if it is a scratch folder.

A reader opens all shards at once, so it gets the tensors of one save even while others replace the checkpoint. Of two
writers of one prefix, the last one leaves its checkpoint.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from tfnb.ops.checkpoint.index import (
    MAX_INDEX_BYTES,
    Entry,
    Index,
    Part,
    index_path,
    parse_index,
    read_bounded,
    read_index,
    shard_name,
    shards_of,
)
from tfnb.ops.checkpoint.shard import Shards, from_stored, to_stored, write_shard
from tfnb.ops.lazy_library import library
from tfnb.system.files import make_folder, os_errors, sync_file, sync_folder
from tfnb.system.scratch import Scratch, abandoned
from tfnb.types import DType, as_dtype

__all__ = [
    "Checkpoint",
    "Item",
    "merge_checkpoints",
    "remove_own_checkpoint",
    "sweep",
    "write_checkpoint",
]

_PATIENCE = 2.0  # seconds that a save waits for another one that replaces an index in the same folder
_ATTEMPTS = 50  # attempts to read a checkpoint while saves replace it
_NEW_INDEX, _OLD_INDEX = "index", "old"  # the names of files in a scratch folder
Item = tuple[str, str, np.ndarray]  # (name, "" or "full shape and slice" as in SaveV2, value)


def _crc(array: np.ndarray) -> int:
    data = array.reshape(-1).view(np.uint8) if array.size else b""
    return int(library("crc32c", "crc32c", "a checkpoint").crc32c(data))


def _parse_slice(
    name: str, text: str, array_shape: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Returns (full shape, start, shape) from a text such as "10 4 0,5:-"; None from ""."""
    if not text:
        return None
    *dims, spec = text.split(" ")
    try:
        full = tuple(int(d) for d in dims)
        ranges = [
            (0, d) if r == "-" else tuple(map(int, r.split(","))) for d, r in zip(full, spec.split(":"), strict=True)
        ]
        start, shape = tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)
    except (ValueError, IndexError):
        raise InvalidArgumentError(f"{name}: {text!r} is no shape and slice") from None
    inside = all(0 <= a and 0 <= n and a + n <= d for a, n, d in zip(start, shape, full, strict=True))
    if not inside or (array_shape is not None and shape != array_shape):
        raise InvalidArgumentError(f"{name}: the slice {text!r} does not fit {array_shape or full}")
    return full, start, shape


# ---- writing -------------------------------------------------------------------------------------


def write_checkpoint(prefix: str, items: Iterable[Item]) -> None:
    """Writes the tensors as one shard, then the index, and removes the shards of the previous index.

    Missing folders are created. Raises `PermissionDeniedError`, `ResourceExhaustedError` (disk full) and similar
    errors, which leave an earlier checkpoint unchanged.
    """
    entries: dict[str, Entry] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, text, array in items:
        described = _parse_slice(name, text, array.shape)
        full, start, shape = described or (array.shape, (0,) * array.ndim, array.shape)
        key = f"{name}/{','.join(map(str, start))}" if described else name
        if key in arrays:
            raise InvalidArgumentError(f"the tensor {key!r} is saved twice")
        arrays[key] = to_stored(array)
        part = Part(start, shape, 0, key, _crc(arrays[key]))
        earlier_parts = entries[name].parts if name in entries else ()
        entries[name] = Entry(as_dtype(array.dtype), full, (*earlier_parts, part))
    make_folder(os.path.dirname(prefix))
    with os_errors(prefix), Scratch(prefix) as scratch:
        shard_path = scratch.file("shard")
        write_shard(shard_path, arrays)
        shard = shard_name(prefix, 0, 1, scratch.token)
        index = Index([(shard, os.path.getsize(shard_path))], entries)
        _publish(prefix, scratch, index, [(shard_path, shard)])
    sweep(os.path.dirname(prefix))


def _publish(prefix: str, scratch: Scratch, index: Index, shards: Sequence[tuple[str, str]]) -> None:
    """Renames the shards and then the index to their final names. `shards`: current path and final name of each shard.

    The scratch folder contains the new index until it is renamed, and after that the previous one. From these, `sweep`
    finds the shards that are not needed if this process is killed in between.
    """
    folder = os.path.dirname(prefix)
    new, old = scratch.file(_NEW_INDEX), scratch.file(_OLD_INDEX)
    with open(new, "xb") as file:
        file.write(index.to_bytes())
    sync_file(new)
    published: list[tuple[str, str]] = []
    try:
        for source, name in shards:
            os.replace(source, os.path.join(folder, name))
            published.append((source, os.path.join(folder, name)))
        sync_folder(folder)
        with _sole_writer(folder):
            own_index = _own_index(prefix)
            if own_index is not None:
                with open(old, "xb") as file:
                    file.write(own_index.to_bytes())
            os.replace(new, index_path(prefix))
            published = []
            sync_folder(folder)
            _remove_shards(prefix, own_index, index)
    except BaseException:
        for source, path in published:
            with contextlib.suppress(OSError):
                os.replace(path, source)
        raise


@contextlib.contextmanager
def _sole_writer(folder: str) -> Iterator[None]:
    """Prevents other saves from replacing an index of this folder, so that each removes exactly what it replaced.

    When the folder cannot be locked, or another process holds the lock for long, the save continues without it. In that
    case two simultaneous saves of one prefix may leave a shard that no index names.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(folder or ".", os.O_RDONLY)
            stack.callback(os.close, handle)
            end = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        break
                    time.sleep(0.002)
        yield


def _own_index(prefix: str) -> Index | None:
    """The index of a checkpoint of tfnb; None when there is none, or when it is not valid."""
    with contextlib.suppress(OpError):
        return parse_index(index_path(prefix), read_index(prefix))
    return None


def _remove_shards(prefix: str, before: Index | None, now: Index | None) -> None:
    """Removes the shards that one index of a prefix names and the other does not."""
    keep = set() if now is None else {name for name, _ in now.shards}
    for name in () if before is None else shards_of(prefix, before):
        if name not in keep:
            _remove(os.path.join(os.path.dirname(prefix), name))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def sweep(folder: str) -> None:
    """Removes what killed saves left in a folder: scratch folders, and shards that only these refer to."""
    for scratch in abandoned(folder):
        prefix = scratch.rpartition(".tmp-")[0]
        for name in (_NEW_INDEX, _OLD_INDEX):
            path = os.path.join(scratch, name)
            with contextlib.suppress(OpError):
                left = parse_index(path, read_bounded(path, MAX_INDEX_BYTES, "an index"))
                own_index = _own_index(prefix)
                if own_index is not None or not os.path.lexists(index_path(prefix)):
                    _remove_shards(prefix, left, own_index)


def remove_own_checkpoint(prefix: str) -> None:
    """Deletes a checkpoint of tfnb, the index first. Does nothing when there is none.

    A file `PREFIX.index` that is not an index of tfnb is kept, and so are shards that no save of this prefix wrote.
    """
    index = _own_index(prefix)
    if index is None:
        return
    try:
        with os_errors(prefix), Scratch(prefix) as scratch:
            os.replace(index_path(prefix), scratch.file(_OLD_INDEX))
            _remove_shards(prefix, index, None)
    except OpError:  # the disk has no space for a scratch folder
        _remove(index_path(prefix))
        _remove_shards(prefix, index, None)


def merge_checkpoints(prefixes: Sequence[str], destination: str, delete_old: bool = True) -> None:
    """Merges checkpoints into one at `destination`; with `delete_old` their shards are moved instead of copied.

    Raises `InvalidArgumentError` when two of them contain a tensor of the same name with different shapes.
    """
    parts = [Checkpoint(p) for p in prefixes]
    make_folder(os.path.dirname(destination))
    with os_errors(destination), Scratch(destination) as scratch:
        index, files = _merged(parts, destination, scratch, delete_old)
        _publish(destination, scratch, index, files)
    if delete_old:
        for p in prefixes:
            remove_own_checkpoint(p)
    sweep(os.path.dirname(destination))


def _merged(
    parts: Sequence[Checkpoint], destination: str, scratch: Scratch, delete_old: bool
) -> tuple[Index, list[tuple[str, str]]]:
    """The index of all parts, and for each shard its current path and its future name."""
    total = sum(len(p.index.shards) for p in parts)
    shards: list[tuple[str, int]] = []
    files: list[tuple[str, str]] = []
    entries: dict[str, Entry] = {}
    for part in parts:
        offset = len(shards)
        own_shards = set(shards_of(part.prefix, part.index))
        for name, size in part.index.shards:
            source = os.path.join(part.folder, name)
            with os_errors(source):
                status = os.lstat(source)
            if not stat.S_ISREG(status.st_mode) or status.st_size != size:
                raise DataLossError(f"{source} is no regular file of {size} bytes, as the index of {part.prefix} says")
            if not (delete_old and name in own_shards):
                copy = scratch.file(f"shard-{len(shards)}")
                shutil.copyfile(source, copy)
                sync_file(copy)
                source = copy
            files.append((source, shard_name(destination, len(shards), total, scratch.token)))
            shards.append((files[-1][1], size))
        for name, entry in part.index.entries.items():
            shifted = tuple(Part(p.start, p.shape, p.shard + offset, p.key, p.crc32c) for p in entry.parts)
            earlier = entries.get(name)
            if earlier is not None and (earlier.dtype, earlier.shape) != (entry.dtype, entry.shape):
                raise InvalidArgumentError(f"{name} has two shapes or dtypes in the parts of {destination}")
            entries[name] = Entry(entry.dtype, entry.shape, (() if earlier is None else earlier.parts) + shifted)
    return Index(shards, entries), files


# ---- reading -------------------------------------------------------------------------------------


class Checkpoint:
    """A checkpoint on disk. The constructor reads the index; tensors are read on request.

    All tensors come from the same save, even if another save replaces the checkpoint meanwhile. Raises `NotFoundError`
    when there is no checkpoint, and `DataLossError` when index or shards are damaged.
    """

    _last: tuple[tuple[str, Part], np.ndarray] | None = None  # the last part read, since slices are read in sequence

    def __init__(self, prefix: str) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        data = read_index(prefix)
        for _ in range(_ATTEMPTS):
            self.index = parse_index(index_path(prefix), data)
            self._shards = Shards(prefix, self.folder, self.index.shards)
            previous, data = data, data if self._shards.is_complete else read_index(prefix)
            if data == previous:  # the index has not been replaced, so missing shards are lost
                break
        self.entries = self.index.entries

    @property
    def content(self) -> dict[str, Any]:
        """Returns the contents of the index, as values of JSON."""
        return self.index.content()

    def entry(self, name: str) -> Entry:
        """Returns the entry of a tensor. Raises `NotFoundError` when the checkpoint does not contain the tensor."""
        tensor_entry = self.entries.get(name)
        if tensor_entry is None:
            raise NotFoundError(f"Key {name} not found in checkpoint {self.prefix}")
        return tensor_entry

    def read(self, name: str, shape_and_slice: str = "") -> np.ndarray:
        """Returns the tensor, or the slice described as in RestoreV2. Raises `DataLossError` when it is damaged."""
        entry = self.entry(name)
        described = _parse_slice(name, shape_and_slice, None)
        if described is None:
            return self._whole(name, entry)
        full, start, shape = described
        if full != entry.shape:
            raise InvalidArgumentError(
                f"{name} has shape {entry.shape} in {self.prefix}, the slice is of one of shape {full}"
            )
        return self._slice(name, entry, start, shape)

    def verify(self, names: Iterable[str] | None = None) -> None:
        """Reads the tensors (by default all) and raises `DataLossError` for the first damaged one."""
        for name in self.entries if names is None else names:
            self._whole(name, self.entry(name))

    def _whole(self, name: str, entry: Entry) -> np.ndarray:
        if len(entry.parts) == 1 and entry.parts[0].shape == entry.shape:
            return self._part(name, entry.parts[0], entry.dtype)
        return self._slice(name, entry, (0,) * len(entry.shape), entry.shape)

    def _slice(self, name: str, entry: Entry, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        """A slice, assembled from the parts that it overlaps; the other parts are not read."""
        met = []
        elements = 0
        for p in entry.parts:
            begin = [max(a, b) for a, b in zip(start, p.start, strict=True)]
            end = [min(a + n, b + m) for a, n, b, m in zip(start, shape, p.start, p.shape, strict=True)]
            if all(a < b for a, b in zip(begin, end, strict=True)):
                met.append((p, begin, end))
                elements += math.prod(b - a for a, b in zip(begin, end, strict=True))
        if elements != math.prod(shape):
            raise DataLossError(f"{name}: {self.prefix} holds {elements} of {math.prod(shape)} elements of a slice")
        self._check(name, entry, [p for p, _, _ in met])
        array = np.empty(shape, entry.dtype.np)
        filled = np.zeros(shape, bool) if len(met) > 1 else None
        for p, begin, end in met:
            target = tuple(slice(a - o, b - o) for a, b, o in zip(begin, end, start, strict=True))
            source = tuple(slice(a - o, b - o) for a, b, o in zip(begin, end, p.start, strict=True))
            if filled is not None:
                if filled[target].any():
                    raise DataLossError(f"{name}: two parts hold the same elements in {self.prefix}")
                filled[target] = True
            if self._last is None or self._last[0] != (name, p):
                self._last = (name, p), self._part(name, p, entry.dtype)
            array[target] = self._last[1][source]
        return array

    def _check(self, name: str, entry: Entry, parts: Sequence[Part]) -> None:
        """Raises unless the bytes of these parts exist; called before memory for the whole is allocated."""
        for p in parts:
            self._shards.check(p.shard, p.key, entry.dtype, p.shape)

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        data = self._shards.read(part.shard, part.key, dtype, part.shape)
        if _crc(data) != part.crc32c:
            path = self._shards.path(part.shard)
            raise DataLossError(f"{path}: the checksum of {name} does not match: the file is damaged")
        try:
            return from_stored(data, dtype, part.shape)
        except ValueError as e:
            raise DataLossError(f"{self.prefix}: {name} does not fit the index: {e}") from None
