"""`tf.train.Saver`: saves, restores and deletes checkpoints of variables (white paper, section 3.3; OSDI'16, 4.3).

A save writes shards, index, MetaGraph and finally the pointer file; each gets its name only when it is complete, so the
latest checkpoint can be loaded at any time. Invariant: a restore checks the names, dtypes, shapes and checksums of all
variables before it assigns any.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from tfnb.client.graph.meta_graph import export_meta_graph
from tfnb.client.variables.variable import Variable
from tfnb.errors import (
    AbortedError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    NotReadyError,
)
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.message_types import SaverDef
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.checkpoint.files import Checkpoint, Item, write_checkpoint
from tfnb.ops.checkpoint.tensorflow_v2 import checkpoint_stamp, is_checkpoint, open_checkpoint
from tfnb.session.session import Session
from tfnb.system.files import os_errors
from tfnb.system.interrupts import holding_handlers
from tfnb.train.saving.best_checkpoints import BestCheckpoints
from tfnb.train.saving.checkpoint_state import (
    FilePath,
    delete_checkpoint,
    get_checkpoint_mtimes,
    meta_graph_path,
    update_checkpoint_state,
)
from tfnb.train.saving.saver_graph import Saveable, SaverNames, add_saver, saveables
from tfnb.types import as_shape

__all__ = ["API", "Saver", "step_number"]

_V1, _V2 = 1, 2
_ATTEMPTS = 50  # to restore a checkpoint that is replaced at the same time

_log = logging.getLogger("tfnb")


class Saver:
    """Saves and restores variables.

    var_list: the variables, by default all global ones, or a dict of names in checkpoints to variables. reshape:
    restore into another shape with the same number of elements. sharded: one Save node per device. max_to_keep: the
    number of checkpoints that are kept; None or 0 keeps all, and the pointer file names only the latest one.
    keep_checkpoint_every_n_hours: in addition one is kept for each such interval. restore_sequentially: restore one
    variable after the other. allow_empty: having no variables is not an error. keep_best: the number of checkpoints
    with the best `metric` (see `save`) that are kept in addition; best_mode: "max" or "min". The other arguments are
    TensorFlow's; all checkpoints have one format, whatever `write_version` is.

    Raises `InvalidArgumentError` when there are no variables or two have the same name, and `DTypeError` for an object
    that is not a variable.
    """

    def __init__(
        self,
        var_list: Mapping[str, Any] | Sequence[Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: object = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = _V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | bytes | None = None,
        keep_best: int = 0,
        best_mode: str = "max",
    ) -> None:
        if builder is not None:
            raise InvalidArgumentError("Saver: a builder of one's own is not understood")
        if best_mode not in ("max", "min"):
            raise InvalidArgumentError(f"Saver: best_mode must be 'max' or 'min', got {best_mode!r}")
        if defer_build and var_list is not None:
            raise InvalidArgumentError("Saver: with defer_build, var_list must be None")
        self._var_list, self._name, self._filename = var_list, name, filename
        self._reshape, self._sharded = reshape, sharded
        self._sequentially, self._allow_empty = restore_sequentially, allow_empty
        self._max_to_keep = max_to_keep or 0
        self._every_hours = keep_checkpoint_every_n_hours
        self._pad_step_number, self._relative = pad_step_number, save_relative_paths
        self._write_version = write_version
        self._kept: list[tuple[str, float]] = []
        self._written: set[str] = set()  # the kept checkpoints that this object saved
        self._next_preserved = time.time() + self._every_hours * 3600
        self._best = BestCheckpoints(keep_best, best_mode) if keep_best else None
        self._names: SaverNames | None = None
        self._chosen: list[Saveable] | None = None
        self._graph: Any = None
        self._lock = threading.RLock()
        self._starting = threading.RLock()  # several threads may save and close at once
        self._writer: ThreadPoolExecutor | None = None
        self._pending: Future[str] | None = None
        if saver_def is not None:
            self._take_def(saver_def)
        elif not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the nodes of the saver to the graph; needed after `defer_build`, and done only once."""
        if self._names is not None:
            return
        saveable_list = saveables(self._var_list)
        self._graph = saveable_list[0].ref.graph if saveable_list else get_default_graph()
        if not saveable_list and not self._allow_empty:
            raise InvalidArgumentError("Saver: there are no variables to save")
        self._chosen = saveable_list
        with self._graph.as_default():
            self._names = add_saver(
                saveable_list,
                name=self._name,
                reshape=self._reshape,
                sharded=self._sharded,
                sequentially=self._sequentially,
                filename=self._filename,
            )

    # ---- saving ----------------------------------------------------------------------------------

    def save(
        self,
        sess: Session,
        save_path: FilePath,
        global_step: TensorLike | Variable | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        metric: float | None = None,
    ) -> str | None:
        """Saves the variables of the session `sess` and returns the prefix of the checkpoint. A saver without variables
        writes nothing and returns None.

        save_path: the prefix, to which "-STEP" is added if `global_step` (a number, tensor or variable) is given.
        Missing folders are created. latest_filename: the name of the pointer file. metric: ranks the checkpoint for
        `keep_best`. Raises `PermissionDeniedError`, `ResourceExhaustedError` (the disk is full) and
        `FailedPreconditionError` (a variable is not initialized); earlier checkpoints are unchanged then.
        """
        self._settle()
        path = self._path(sess, save_path, global_step, latest_filename)
        names = self._built()
        if self.is_empty:
            return None
        with holding_handlers(), self._lock:  # several threads may save, and a signal handler
            sess.run(names.save_tensor_name, {names.filename_tensor_name: path})
            self._write_meta(path, meta_graph_suffix, write_meta_graph, strip_default_attrs)
            self._finish(path, meta_graph_suffix, write_state, latest_filename, metric)
        return path

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
    ) -> Any:
        """Returns the MetaGraphDef of the saver and its graph, which is also written to `filename` if that is given.

        The arguments are those of `tf.train.export_meta_graph`.
        """
        saver_def = self.as_saver_def()
        return export_meta_graph(
            filename,
            saver_def=saver_def,
            collection_list=collection_list,
            as_text=as_text,
            graph=self._graph,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )

    def save_async(
        self,
        sess: Session,
        save_path: FilePath,
        global_step: TensorLike | Variable | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        metric: float | None = None,
    ) -> Future[str]:
        """Saves like `save`, but only reads the variables, between two steps; a thread of the saver writes them.

        It waits until an earlier save is written, so there is at most one copy of the variables. Returns a future of
        the prefix. The future and `wait` raise an error of the thread; the next save only logs it, and saves.
        """
        self._settle()
        path = self._path(sess, save_path, global_step, latest_filename)
        self._built()
        if self._chosen is None:
            raise FailedPreconditionError("save_async needs a Saver made of variables, not of a SaverDef")
        values = sess.run([s.ref for s in self._chosen])
        items: list[Item] = [(s.name, s.slice_spec, _own(value)) for s, value in zip(self._chosen, values, strict=True)]

        def write() -> str:
            with self._lock:
                write_checkpoint(path, items)
                self._write_meta(path, meta_graph_suffix, write_meta_graph, False)
                self._finish(path, meta_graph_suffix, write_state, latest_filename, metric)
            return path

        with self._starting:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="tfnb-saver")
            self._pending = self._writer.submit(write)
            return self._pending

    def _write_meta(self, path: str, suffix: str, wanted: bool, strip_default_attrs: bool) -> None:
        if wanted:
            meta = meta_graph_path(path, suffix)
            with os_errors(meta):
                self.export_meta_graph(meta, strip_default_attrs=strip_default_attrs)

    def wait(self) -> None:
        """Waits until no save is being written. Raises the error of the last asynchronous save."""
        with self._starting:
            pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _settle(self) -> None:
        """Waits until no save is being written. An error of the last one is logged: it must not prevent the next."""
        try:
            self.wait()
        except Exception as e:
            _log.warning("an earlier asynchronous save has failed: %s", e)

    def close(self) -> None:
        """Waits for saves and ends the thread that writes them; a later `save_async` starts another one."""
        with self._starting:
            writer, self._writer = self._writer, None
        try:
            self.wait()
        finally:
            if writer is not None:
                writer.shutdown()

    def _path(
        self, sess: Session, save_path: FilePath, global_step: TensorLike | Variable | None, latest: str | None
    ) -> str:
        prefix = os.fsdecode(save_path)
        base = os.path.basename(prefix)
        if not prefix:
            raise InvalidArgumentError("save_path must name a file, and is empty")
        if base == (latest or "checkpoint") and global_step is None and not self._sharded:
            raise InvalidArgumentError(f"save_path {prefix!r} collides with the name of the pointer file")
        folder = os.path.dirname(prefix)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise InvalidArgumentError(f"Parent directory of {prefix} doesn't exist, can't save.")
        if global_step is None:
            return prefix
        step = step_number(sess, global_step)
        return f"{prefix}-{step:08d}" if self._pad_step_number else f"{prefix}-{step}"

    def _finish(self, path: str, suffix: str, state: bool, latest: str | None, metric: float | None) -> None:
        """Writes the pointer file, and then removes the checkpoints that are no longer kept."""
        if not state:
            return
        folder = os.path.dirname(path)
        if self._best is not None and metric is not None:
            self._best.add(folder, path, float(metric))
        if self._max_to_keep:
            self._kept = [(p, t) for p, t in self._kept if p != path] + [(path, time.time())]
        self._written.add(path)
        removed_prefixes = []
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            old_prefix, write_time = self._kept.pop(0)
            if write_time > self._next_preserved:
                self._next_preserved += self._every_hours * 3600
            elif self._best is None or not self._best.keeps(old_prefix):
                removed_prefixes.append(old_prefix)
        update_checkpoint_state(
            folder,
            path,
            [p for p, _ in self._kept],
            latest,
            [t for _, t in self._kept],
            save_relative_paths=self._relative,
        )
        if self._best is not None and self._max_to_keep:
            removed_prefixes += [p for p in self._best.drop() if p not in dict(self._kept)]
        for old_prefix in removed_prefixes:
            # The pointer file of a copied folder names checkpoints of another run, which are not removed.
            if old_prefix in self._written or _same_folder(old_prefix, path):
                delete_checkpoint(old_prefix, suffix)
            self._written.discard(old_prefix)

    # ---- restoring -------------------------------------------------------------------------------

    def restore(self, sess: Session, save_path: FilePath) -> None:
        """Assigns the values of the checkpoint `save_path` to the variables; they need not be initialized.

        Raises `NotFoundError` (there is no checkpoint, or it lacks a variable), `InvalidArgumentError` (another dtype
        or shape) and `DataLossError` (it is damaged); the session `sess` is unchanged then.
        """
        if save_path is None:
            raise InvalidArgumentError("restore: can't load save_path when it is None")
        self._settle()
        names = self._built()
        if self.is_empty:
            return
        prefix = os.fsdecode(save_path)
        if not is_checkpoint(prefix):
            raise NotFoundError(f"Failed to find any matching files for {prefix}: there is no {prefix}.index")
        for _ in range(_ATTEMPTS):
            stamp = checkpoint_stamp(prefix)
            checkpoint = open_checkpoint(prefix)
            if self._chosen is None:
                checkpoint.verify()
            else:
                self._check(checkpoint, self._chosen)
            sess.run(names.restore_op_name, {names.filename_tensor_name: prefix})
            if not self._has_several_nodes() or checkpoint_stamp(prefix) == stamp:
                return
        raise AbortedError(f"restore: {prefix} was saved anew {_ATTEMPTS} times while it was restored")

    def _has_several_nodes(self) -> bool:
        """Returns whether several nodes restore. A save meanwhile could give them different checkpoints."""
        return self._chosen is None or self._sharded or self._sequentially

    def _check(self, checkpoint: Checkpoint, chosen: Sequence[Saveable]) -> None:
        missing_names = [s.name for s in chosen if s.name not in checkpoint.entries]
        if missing_names:
            suffix = f" (and {len(missing_names) - 1} more variables)" if missing_names[1:] else ""
            raise NotFoundError(f"Key {missing_names[0]} not found in checkpoint {checkpoint.prefix}{suffix}")
        for s in chosen:
            entry = checkpoint.entry(s.name)
            if entry.dtype is not s.ref.dtype:
                raise InvalidArgumentError(
                    f"restore: {s.name} is {s.ref.dtype.name} here, {entry.dtype.name} in {checkpoint.prefix}",
                    s.ref.op,
                )
            shape = s.ref.shape
            fits = shape.is_compatible_with(entry.shape)
            if s.slice_spec:  # "FULL_SHAPE RANGES", as in `SaveSliceInfo.spec`
                shape = as_shape([int(n) for n in s.slice_spec.split(" ")[:-1]])
                fits = shape.is_compatible_with(entry.shape)
            elif self._reshape and shape.is_fully_defined():
                fits = shape.num_elements() == int(np.prod(entry.shape, dtype=np.int64))
            if not fits:
                raise InvalidArgumentError(
                    f"restore: Assign requires shapes of both tensors to match. {s.name} has shape {shape} here, "
                    f"{entry.shape} in {checkpoint.prefix}",
                    s.ref.op,
                )
        if self._sharded or self._sequentially:  # several nodes restore, so all values are checked before any node runs
            checkpoint.verify(s.name for s in chosen)

    # ---- what is kept ----------------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept, the oldest first; none when `max_to_keep` is None or 0."""
        return [p for p, _ in self._kept]

    @property
    def best_checkpoint(self) -> str | None:
        """The prefix of the kept checkpoint with the best metric, or None."""
        return None if self._best is None else self._best.best

    def set_last_checkpoints(self, last_checkpoints: Sequence[Any]) -> None:
        """Sets the list of kept checkpoints, the oldest first, with the current time."""
        self._kept = [(os.fsdecode(p), time.time()) for p in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[FilePath, float]]) -> None:
        """Sets the list of kept checkpoints, the oldest first.

        last_checkpoints_with_time: pairs of a prefix and a time in seconds.
        """
        self._kept = [(os.fsdecode(p), float(t)) for p, t in last_checkpoints_with_time]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[Any]) -> None:
        """Sets the list of kept checkpoints to those of `checkpoint_paths` that exist, as after an earlier run."""
        existing = [os.fsdecode(p) for p in checkpoint_paths if is_checkpoint(os.fsdecode(p))]
        self._kept = list(zip(existing, get_checkpoint_mtimes(existing), strict=True))
        if self._best is not None and existing:
            self._best.recover(os.path.dirname(existing[-1]))

    # ---- definitions -----------------------------------------------------------------------------

    def _built(self) -> SaverNames:
        if self._names is None:
            raise NotReadyError("the Saver was made with defer_build: call build() first")
        return self._names

    def _take_def(self, saver_def: SaverDef) -> None:
        self._names = SaverNames(saver_def.filename_tensor_name, saver_def.save_tensor_name, saver_def.restore_op_name)
        self._graph = get_default_graph()
        self._max_to_keep = saver_def.max_to_keep
        self._sharded = saver_def.sharded
        if saver_def.keep_checkpoint_every_n_hours:
            self._every_hours = saver_def.keep_checkpoint_every_n_hours

    def as_saver_def(self) -> Any:
        """Returns the `SaverDef` message: the names of the nodes, and which checkpoints are kept."""
        names = self._built()
        return proto("saver").SaverDef(
            filename_tensor_name=names.filename_tensor_name,
            save_tensor_name=names.save_tensor_name,
            restore_op_name=names.restore_op_name,
            max_to_keep=self._max_to_keep,
            sharded=self._sharded,
            keep_checkpoint_every_n_hours=self._every_hours,
            version=self._write_version,
        )

    @property
    def is_empty(self) -> bool:
        """Whether there are no variables to save."""
        return self._chosen is not None and not self._chosen

    @property
    def saver_def(self) -> Any:
        """The `SaverDef` message of this saver."""
        return self.as_saver_def()

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the `SaverDef` message with names below `export_scope`; None if the nodes are not below it."""
        saver_def = self.as_saver_def()
        if export_scope is None:
            return saver_def
        prefix = f"{export_scope.rstrip('/')}/"
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            name = getattr(saver_def, field)
            if not name.startswith(prefix):
                return None
            setattr(saver_def, field, name.removeprefix(prefix))
        return saver_def

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """Returns a saver from its `SaverDef` message; its nodes are already in the default graph, below
        `import_scope`.
        """
        if not import_scope:
            return Saver(saver_def=saver_def)
        scoped_def = proto("saver").SaverDef()
        scoped_def.CopyFrom(saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(scoped_def, field, f"{import_scope}/{getattr(scoped_def, field)}")
        return Saver(saver_def=scoped_def)


def _own(value: Tensor) -> np.ndarray:
    return np.array(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)


def _same_folder(one: str, other: str) -> bool:
    return os.path.realpath(os.path.dirname(one)) == os.path.realpath(os.path.dirname(other))


def step_number(sess: Session, global_step: TensorLike) -> int:
    """Returns the value of a step given as a number, a tensor or a variable, as an int."""
    if hasattr(global_step, "graph"):
        return int(np.asarray(sess.run(global_step)).item())
    if not isinstance(global_step, (int, np.integer)):
        raise DTypeError(f"global_step must be an integer, a tensor or a variable, got {global_step!r}")
    return int(global_step)


API: dict[str, Any] = {"train.Saver": Saver}
