"""The pointer file `checkpoint`, which lists the checkpoints of a folder and the latest one (OSDI'16, section 4.3).

It is a text file in TensorFlow's format, which is replaced as a whole. Invariant: the file is written after the
checkpoint that it names.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from tfnb.errors import DataLossError, IncompleteStateError
from tfnb.ir.protos import proto
from tfnb.ops.checkpoint.index import index_path, read_bounded
from tfnb.ops.checkpoint.tensorflow_v2 import is_checkpoint, remove_checkpoint
from tfnb.system.files import os_errors, replace_file, sync_folder

__all__ = [
    "API",
    "CheckpointState",
    "checkpoint_exists",
    "delete_checkpoint",
    "get_checkpoint_state",
    "latest_checkpoint",
    "meta_graph_path",
    "update_checkpoint_state",
]

FilePath: TypeAlias = str | bytes | os.PathLike[str]

_MAX_BYTES = 1 << 24  # the largest size of a pointer file
_LINE = re.compile(r'(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|[-+.\w]+)')


@dataclass
class CheckpointState:
    """The content of the pointer file: the latest checkpoint, and all that are kept, the oldest first."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0

    def to_text(self) -> str:
        """Returns the text of the pointer file."""
        lines = [f'model_checkpoint_path: "{_escaped(self.model_checkpoint_path)}"']
        lines += [f'all_model_checkpoint_paths: "{_escaped(p)}"' for p in self.all_model_checkpoint_paths]
        lines += [f"all_model_checkpoint_timestamps: {t!r}" for t in self.all_model_checkpoint_timestamps]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "\n".join(lines) + "\n"

    @classmethod
    def from_text(cls, text: str) -> CheckpointState:
        """Parses the text of a pointer file. Raises `ValueError` for any other text."""
        state = cls()
        for line in filter(None, map(str.strip, text.splitlines())):
            match_ = _LINE.fullmatch(line)
            if match_ is None:
                raise ValueError(f"{line[:80]!r} is no line of a checkpoint state")
            key, value = match_.groups()
            if key == "model_checkpoint_path":
                state.model_checkpoint_path = _unescaped(value)
            elif key == "all_model_checkpoint_paths":
                state.all_model_checkpoint_paths.append(_unescaped(value))
            elif key == "all_model_checkpoint_timestamps":
                state.all_model_checkpoint_timestamps.append(float(value))
            elif key == "last_preserved_timestamp":
                state.last_preserved_timestamp = float(value)
        return state


def _escaped(text: str) -> str:
    """Returns a text with the escapes of protocol buffers: octal numbers for bytes that are not printable ASCII."""
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\"}
    return "".join(escapes.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in os.fsencode(text))


def _unescaped(quoted: str) -> str:
    if not quoted.startswith('"'):
        raise ValueError(f"{quoted[:80]!r} is no quoted text")
    ascii_only = "".join(c if c.isascii() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in quoted)
    try:
        return os.fsdecode(ast.literal_eval("b" + ascii_only))
    except SyntaxError:
        raise ValueError(f"{quoted[:80]!r} is no quoted text") from None


def _pointer(folder: FilePath, latest_filename: str | None) -> str:
    return os.path.join(os.fsdecode(folder), latest_filename or "checkpoint")


def generate_checkpoint_state_proto(
    save_dir: FilePath,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Returns the state with paths as in the pointer file: if `save_dir` is a relative path, then relative paths are
    relative to it.
    """
    folder = os.fsdecode(save_dir)
    latest = os.fsdecode(model_checkpoint_path)
    paths = [os.fsdecode(p) for p in all_model_checkpoint_paths or ()]
    times = list(all_model_checkpoint_timestamps or ())
    if not paths or paths[-1] != latest:
        paths.append(latest)
        if times:
            times.append(times[-1])

    def relative(path: str) -> str:
        return path if os.path.isabs(folder) or os.path.isabs(path) else os.path.relpath(path, folder)

    return CheckpointState(relative(latest), [relative(p) for p in paths], times, last_preserved_timestamp or 0.0)


def update_checkpoint_state(
    save_dir: FilePath,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Replaces the pointer file of the folder `save_dir`.

    latest_filename: its name, by default "checkpoint". save_relative_paths: store paths relative to the folder. The
    other arguments are the fields of `CheckpointState`. Raises `PermissionDeniedError`, `ResourceExhaustedError` and
    the like when a write fails.
    """
    folder = os.fsdecode(save_dir)
    state = generate_checkpoint_state_proto(
        folder,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    if save_relative_paths:
        state.model_checkpoint_path = _below(folder, state.model_checkpoint_path)
        state.all_model_checkpoint_paths = [_below(folder, p) for p in state.all_model_checkpoint_paths]
    path = _pointer(folder, latest_filename)
    replace_file(path, lambda p: _write(p, state.to_text()))
    sync_folder(folder)


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _below(folder: str, path: str) -> str:
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def get_checkpoint_state(checkpoint_dir: FilePath, latest_filename: str | None = None) -> CheckpointState | None:
    """Returns the content of the pointer file of a folder, with full paths, or None if there is no such file.

    latest_filename: the name of the file, by default "checkpoint". Raises `DataLossError` when it is damaged, and
    `IncompleteStateError`, a DataLossError, when it names no checkpoint.
    """
    path = _pointer(checkpoint_dir, latest_filename)
    if not os.path.exists(path):
        return None
    data = read_bounded(path, _MAX_BYTES, "a pointer file")
    try:
        state = CheckpointState.from_text(data.decode())
    except ValueError as e:
        raise DataLossError(f"{path} is no checkpoint state: {e}") from None
    if not state.model_checkpoint_path:
        raise IncompleteStateError(f"{path} names no checkpoint")
    folder = os.fsdecode(checkpoint_dir)
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [os.path.join(folder, p) for p in state.all_model_checkpoint_paths]
    return state


def latest_checkpoint(checkpoint_dir: FilePath, latest_filename: str | None = None) -> str | None:
    """Returns the prefix of the latest existing checkpoint in a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    for path in (state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)):
        if is_checkpoint(path):
            return path
    return None


def checkpoint_exists(checkpoint_prefix: FilePath) -> bool:
    """Returns True if there is a checkpoint with the prefix `checkpoint_prefix`."""
    return is_checkpoint(os.fsdecode(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[Any]) -> list[float]:
    """Returns the times, in seconds, at which the checkpoints `checkpoint_prefixes` were written; missing ones are
    skipped.
    """
    paths = [index_path(os.fsdecode(p)) for p in checkpoint_prefixes]
    return [os.path.getmtime(p) for p in paths if os.path.exists(p)]


def meta_graph_path(prefix: str, suffix: str = "meta") -> str:
    """Returns the path of the MetaGraph of a checkpoint."""
    return f"{prefix}.{suffix}"


def delete_checkpoint(checkpoint_prefix: FilePath, meta_graph_suffix: str = "meta") -> None:
    """Deletes the checkpoint `checkpoint_prefix` and its MetaGraph; does nothing when there is none.

    Files with these names but other content are kept.
    """
    prefix = os.fsdecode(checkpoint_prefix)
    remove_checkpoint(prefix)
    path = Path(meta_graph_path(prefix, meta_graph_suffix))
    if path.is_file() and _is_meta_graph(path):
        with os_errors(path):
            path.unlink(missing_ok=True)


def _is_meta_graph(path: Path) -> bool:
    """Returns whether the file is a MetaGraphDef like those that a saver writes."""
    with os_errors(path):
        data = path.read_bytes()
    try:
        return bool(proto("meta_graph").MetaGraphDef.FromString(data).HasField("graph_def"))
    except import_module("google.protobuf.message").DecodeError:
        return False


API: dict[str, Any] = {
    "train.get_checkpoint_state": get_checkpoint_state,
    "train.update_checkpoint_state": update_checkpoint_state,
    "train.generate_checkpoint_state_proto": generate_checkpoint_state_proto,
    "train.latest_checkpoint": latest_checkpoint,
    "train.checkpoint_exists": checkpoint_exists,
    "train.get_checkpoint_mtimes": get_checkpoint_mtimes,
    "train.remove_checkpoint": delete_checkpoint,
    "train.CheckpointState": CheckpointState,
}
