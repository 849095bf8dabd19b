"""The files of a checkpoint: safetensors shards and a JSON index with checksums (OSDI'16, section 4.3).

The index `PREFIX.index` names the shards `PREFIX.data-00000-of-00001-TOKEN.safetensors`, and for each tensor its dtype,
shape, parts and their CRC32C. Shards are on disk before the index takes its name, and a shard's name is never used
again. Invariant: at any moment the index, if there is one, tells a complete checkpoint.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError
from tfnb.ir.files import TEMPORARY, os_errors, replace_file, sync_folder
from tfnb.ir.record import record
from tfnb.ops.lazy_library import library
from tfnb.types import DType, as_dtype

__all__ = [
    "Checkpoint", "Entry", "Item", "index_path", "merge_checkpoints", "remove_checkpoint",
    "write_checkpoint",
]  # fmt: skip

FORMAT = "tfnb checkpoint 1"
_PIECE = 1 << 22  # bytes written at once
Item = tuple[str, str, np.ndarray]  # name, "" or "full shape and slice" as SaveV2 takes them, value


@record
class Part:
    """A block of a tensor: where it begins, its shape, shard number, key in the shard and CRC32C."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    shard: int
    key: str
    crc32c: int


@record
class Entry:
    """A tensor of a checkpoint."""

    dtype: DType
    shape: tuple[int, ...]
    parts: tuple[Part, ...]


def index_path(prefix: str) -> str:
    return prefix + ".index"


# ---- values as a shard holds them ----------------------------------------------------------------


def _stored(array: np.ndarray) -> np.ndarray:
    """The value in a dtype that safetensors has: strings as lengths and bytes, complex numbers as pairs."""
    if array.dtype == object:
        parts = [bytes(x) for x in array.reshape(-1)]
        lengths = np.array([len(p) for p in parts], "<i8").tobytes()
        return np.frombuffer(lengths + b"".join(parts), np.uint8)
    dense = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.kind == "c":
        return dense.reshape(*array.shape, 1).view(np.dtype(f"f{array.dtype.itemsize // 2}"))
    return dense.view(np.uint16) if array.dtype.kind == "V" else dense  # bfloat16


def _restored(stored: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of `_stored`. Raises `ValueError` when the value does not fit."""
    if not dtype.is_string:
        return stored.reshape(-1).view(dtype.np).reshape(shape)
    count = int(np.prod(shape, dtype=np.int64))
    data = stored.tobytes()
    ends = np.cumsum(np.frombuffer(data, "<i8", count)) + 8 * count
    if count and ends[-1] != len(data):
        raise ValueError("the strings' lengths do not add up")
    starts = np.concatenate([[8 * count], ends[:-1]]) if count else ends
    values = np.empty(count, object)
    values[:] = [data[a:b] for a, b in zip(starts, ends, strict=True)]
    return values.reshape(shape)


def _crc(array: np.ndarray) -> int:
    data = array.reshape(-1).view(np.uint8) if array.size else b""
    return int(library("crc32c", "crc32c", "a checkpoint").crc32c(data))


def _parse_slice(name: str, text: str, array_shape: tuple[int, ...] | None) -> Any:
    """(full shape, start, shape) of "10 4 0,5:-"; (None, None, None) of ""."""
    if not text:
        return None, None, None
    *dims, spec = text.split(" ")
    try:
        full = tuple(int(d) for d in dims)
        ranges = [
            (0, d) if r == "-" else tuple(map(int, r.split(",")))
            for d, r in zip(full, spec.split(":"), strict=True)
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
    """Writes the tensors as one shard and then the index, and removes what earlier writes of `prefix` left.

    Raises `NotFoundError` when the folder does not exist, `PermissionDeniedError`, `ResourceExhaustedError` (disk
    full); a checkpoint that was there before is then untouched.
    """
    tensors: dict[str, Any] = {}
    stored: dict[str, np.ndarray] = {}
    for name, text, array in items:
        full, start, shape = _parse_slice(name, text, array.shape)
        if full is None:
            full, start, shape, key = array.shape, (0,) * array.ndim, array.shape, name
        else:
            key = f"{name}/{','.join(map(str, start))}"
        if key in stored:
            raise InvalidArgumentError(f"the tensor {key!r} is saved twice")
        stored[key] = _stored(array)
        part = {
            "start": list(start), "shape": list(shape), "shard": 0, "key": key, "crc32c": _crc(stored[key]),
        }  # fmt: skip
        entry = tensors.setdefault(
            name, {"dtype": as_dtype(array.dtype).name, "shape": list(full), "parts": []}
        )
        entry["parts"].append(part)
    shard = _shard_name(prefix, 0, 1)
    _write_shard(prefix, shard, stored)
    _write_index(prefix, [_shard_facts(shard)], tensors)


def _shard_name(prefix: str, number: int, count: int) -> str:
    return f"{prefix}.data-{number:05d}-of-{count:05d}-{secrets.token_hex(4)}.safetensors"


def _shard_facts(path: str) -> dict[str, Any]:
    return {"file": os.path.basename(path), "bytes": os.path.getsize(path)}


def _write_shard(prefix: str, path: str, stored: dict[str, np.ndarray]) -> None:
    """In a folder of its own first, so that whatever a killed writer leaves is known by its name."""
    scratch = f"{prefix}{TEMPORARY}{secrets.token_hex(4)}"
    try:
        with os_errors(prefix):
            os.mkdir(scratch)
            made = os.path.join(scratch, "shard")
            with open(made, "xb") as file:
                _write_safetensors(file, stored)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, path)
            sync_folder(os.path.dirname(path))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


_TYPES = {
    "f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8", "u8": "U64", "u4": "U32",
    "u2": "U16", "u1": "U8", "b1": "BOOL",
}  # fmt: skip


def _write_safetensors(file: Any, stored: dict[str, np.ndarray]) -> None:
    """A safetensors file: the length of a JSON header, the header, the bytes of the tensors one after the other.

    Written here since the library's writer copies every tensor and holds Python's lock meanwhile, so that the steps of
    a training beside it would wait.
    """
    header: dict[str, Any] = {}
    at = 0
    for name, array in stored.items():
        kind = _TYPES[array.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for array in stored.values():
        data: Any = array.reshape(-1).view(np.uint8).data if array.size else b""
        for begin in range(0, len(data), _PIECE):
            file.write(data[begin : begin + _PIECE])


def _write_index(prefix: str, shards: list[dict[str, Any]], tensors: dict[str, Any]) -> None:
    content = {"format": FORMAT, "shards": shards, "tensors": tensors}
    text = json.dumps(content, separators=(",", ":"))
    checksum = library("crc32c", "crc32c", "a checkpoint").crc32c(text.encode())

    def write(path: str) -> None:
        with open(path, "x", encoding="utf-8") as file:
            file.write(f'{{"crc32c":{checksum},"content":{text}}}\n')

    replace_file(index_path(prefix), write)
    sync_folder(os.path.dirname(prefix))
    _sweep(prefix, {s["file"] for s in shards})


def _sweep(prefix: str, keep: set[str]) -> None:
    """Removes shards that the index no longer names, and what killed writers left."""
    name = glob.escape(prefix)
    for path in glob.glob(f"{name}.data-*.safetensors"):
        if os.path.basename(path) not in keep:
            _remove(path)
    for path in (*glob.glob(f"{name}{TEMPORARY}*"), *glob.glob(f"{name}.index{TEMPORARY}*")):
        _remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def remove_checkpoint(prefix: str) -> None:
    """Deletes a checkpoint, the index first; nothing happens when there is none."""
    _remove(index_path(prefix))
    _sweep(prefix, set())


def merge_checkpoints(prefixes: Sequence[str], destination: str, delete_old: bool = True) -> None:
    """One checkpoint of several that were written side by side; their shards move.

    Raises `InvalidArgumentError` when a tensor is in two of them with different shapes.
    """
    parts = [Checkpoint(p) for p in prefixes]
    shards: list[dict[str, Any]] = []
    tensors: dict[str, Any] = {}
    total = sum(len(p.shards) for p in parts)
    moves = []
    for part in parts:
        offset = len(shards)
        for name, size in part.shards:
            target = _shard_name(destination, len(shards), total)
            shards.append({"file": os.path.basename(target), "bytes": size})
            moves.append((os.path.join(part.folder, name), target))
        for name, told in part.content["tensors"].items():
            blocks = [{**b, "shard": b["shard"] + offset} for b in told["parts"]]
            entry = tensors.setdefault(name, {**told, "parts": []})
            if (entry["dtype"], entry["shape"]) != (told["dtype"], told["shape"]):
                raise InvalidArgumentError(f"{name} has two shapes or dtypes in the parts of {destination}")
            entry["parts"] += blocks
    with os_errors(destination):
        for source, target in moves:
            os.replace(source, target) if delete_old else shutil.copyfile(source, target)
        sync_folder(os.path.dirname(destination))
    _write_index(destination, shards, tensors)
    if delete_old:
        for p in prefixes:
            remove_checkpoint(p)
        for folder in {os.path.dirname(p) for p in prefixes}:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        for path in glob.glob(f"{glob.escape(destination)}_temp_*"):  # parts that a killed training never merged
            _remove(path)


# ---- reading -------------------------------------------------------------------------------------


class Checkpoint:
    """A checkpoint on disk, by its prefix; the index is read at once, tensors when they are asked for.

    Raises `NotFoundError` when there is none, `DataLossError` when index or shards are damaged.
    """

    _last: tuple[tuple[str, Part], np.ndarray] | None = None  # the part read last; slices are read one after the other

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.folder = os.path.dirname(prefix)
        path = index_path(prefix)
        if not os.path.exists(path):
            raise NotFoundError(f"there is no checkpoint {prefix} (no file {path})")
        with os_errors(path), open(path, "rb") as file:
            data = file.read()
        self.content = _parse_index(path, data)
        try:
            self.shards = [(str(s["file"]), int(s["bytes"])) for s in self.content["shards"]]
            self.entries = {n: _entry(e) for n, e in self.content["tensors"].items()}
        except (KeyError, TypeError, ValueError) as e:
            raise DataLossError(f"{path}: the index makes no sense ({e!r})") from None
        self._open: dict[int, Any] = {}

    def entry(self, name: str) -> Entry:
        """Raises `NotFoundError` for a tensor that is not there."""
        found = self.entries.get(name)
        if found is None:
            raise NotFoundError(f"Key {name} not found in checkpoint {self.prefix}")
        return found

    def read(self, name: str, shape_and_slice: str = "") -> np.ndarray:
        """The tensor, or the slice of it that RestoreV2's text tells. Raises `DataLossError` when it is damaged."""
        entry = self.entry(name)
        full, start, shape = _parse_slice(name, shape_and_slice, None)
        if full is None:
            return self._whole(name, entry)
        if full != entry.shape:
            raise InvalidArgumentError(
                f"{name} has shape {entry.shape} in {self.prefix}, the slice is of one of shape {full}"
            )
        return self._slice(name, entry, start, shape)

    def verify(self, names: Iterable[str] | None = None) -> None:
        """Reads the tensors (default: all) and raises `DataLossError` for the first that is damaged."""
        for name in self.entries if names is None else names:
            self._whole(name, self.entry(name))

    def _whole(self, name: str, entry: Entry) -> np.ndarray:
        if len(entry.parts) == 1 and entry.parts[0].shape == entry.shape:
            return self._part(name, entry.parts[0], entry.dtype)
        return self._slice(name, entry, (0,) * len(entry.shape), entry.shape)

    def _slice(self, name: str, entry: Entry, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        """A slice out of the parts that it meets; the others are not read."""
        found = np.zeros(shape, entry.dtype.np)
        covered = 0
        for p in entry.parts:
            begin = [max(a, b) for a, b in zip(start, p.start, strict=True)]
            end = [min(a + n, b + m) for a, n, b, m in zip(start, shape, p.start, p.shape, strict=True)]
            if any(a >= b for a, b in zip(begin, end, strict=True)):
                continue
            here = tuple(slice(a - o, b - o) for a, b, o in zip(begin, end, start, strict=True))
            there = tuple(slice(a - o, b - o) for a, b, o in zip(begin, end, p.start, strict=True))
            if self._last is None or self._last[0] != (name, p):
                self._last = (name, p), self._part(name, p, entry.dtype)
            found[here] = self._last[1][there]
            covered += found[here].size
        if covered != found.size:
            raise DataLossError(f"{name}: {self.prefix} holds {covered} of {found.size} elements of a slice")
        return found

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        stored = self._stored(part)
        if _crc(stored) != part.crc32c:
            path = self._shard_path(part.shard)
            raise DataLossError(f"{path}: the checksum of {name} does not match: the file is damaged")
        try:
            return _restored(stored, dtype, part.shape)
        except ValueError as e:
            raise DataLossError(f"{self.prefix}: {name} does not fit the index: {e}") from None

    def _shard_path(self, number: int) -> str:
        return os.path.join(self.folder, self.shards[number][0])

    def _stored(self, part: Part) -> np.ndarray:
        path = self._shard_path(part.shard)
        try:
            if part.shard not in self._open:
                size = self.shards[part.shard][1]
                found = os.path.getsize(path)
                if found != size:
                    raise DataLossError(f"{path} has {found} bytes, the index says {size}: truncated?")
                opened = library("safetensors", "safetensors", "a checkpoint").safe_open(path, "np")
                self._open[part.shard] = opened
            return np.asarray(self._open[part.shard].get_tensor(part.key))
        except FileNotFoundError:
            raise NotFoundError(f"the checkpoint {self.prefix} lacks its shard {path}") from None
        except (DataLossError, MemoryError):
            raise
        except OSError as e:
            with os_errors(path):
                raise e
        except Exception as e:  # SafetensorError, which has no base of ours
            raise DataLossError(f"{path}: {e}") from None
        raise AssertionError


def _parse_index(path: str, data: bytes) -> dict[str, Any]:
    try:
        outer = json.loads(data)
        content = outer["content"]
        checksum = outer["crc32c"]
    except (ValueError, KeyError, TypeError):
        raise DataLossError(f"{path} is truncated, damaged, or no index of tfnb's") from None
    text = json.dumps(content, separators=(",", ":"))
    if library("crc32c", "crc32c", "a checkpoint").crc32c(text.encode()) != checksum:
        raise DataLossError(f"{path}: the checksum of the index does not match: the file is damaged")
    if content.get("format") != FORMAT:
        raise DataLossError(f"{path} has the format {content.get('format')!r}, known is {FORMAT!r}")
    return dict(content)


def _entry(told: dict[str, Any]) -> Entry:
    parts = tuple(
        Part(tuple(p["start"]), tuple(p["shape"]), int(p["shard"]), str(p["key"]), int(p["crc32c"]))
        for p in told["parts"]
    )
    return Entry(as_dtype(told["dtype"]), tuple(told["shape"]), parts)
