"""Callbacks that write: checkpoints of the model, tables of values, and event files for TensorBoard.

Invariant: only the files that the caller named are written.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.summary import Summary
from tfnb.summary.writer import FileWriter
from tfnb.v1.keras.callbacks.base import Callback
from tfnb.v1.keras.callbacks.control import is_better
from tfnb.v1.keras.graph_api import tf

__all__ = ["CSVLogger", "ModelCheckpoint", "TensorBoard"]


class ModelCheckpoint(Callback):
    """Saves the model after each epoch, or after `save_freq` samples; the name may hold {epoch} and values.

    save_best_only: only when `monitor` has become better. save_weights_only: the weights without the model.
    """

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.period = kwargs.pop("period", 1)
        if kwargs or (save_freq != "epoch" and not isinstance(save_freq, int)):
            raise InvalidArgumentError(f"ModelCheckpoint: unknown options {sorted(kwargs) or save_freq}")
        self.filepath, self.monitor, self.verbose = str(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.monitor_op = is_better(mode, monitor)
        self.best = np.inf if self.monitor_op is np.less else -np.inf
        self._epochs = self._samples = self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if isinstance(self.save_freq, int):
            self._samples += (logs or {}).get("size", 1)
            if self._samples >= self.save_freq:
                self._samples = 0
                self._save(self._epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs or {})

    def _save(self, epoch: int, logs: dict[str, Any]) -> None:
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            current = logs.get(self.monitor)
            if current is None or not self.monitor_op(current, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            self.best = current
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


class CSVLogger(Callback):
    """Writes the values of each epoch as a line of a table; `append` goes on with an existing file."""

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = str(filename), separator, append

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        path = Path(self.filename)
        self._header = not (self.append and path.exists() and path.stat().st_size)
        self._file = path.open("a" if self.append else "w", newline="", encoding="utf-8")
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self._writer is None:
            fields = ["epoch", *sorted(logs)]
            self._writer = csv.DictWriter(self._file, fields, delimiter=self.sep, restval="NA", extrasaction="ignore")
            if self._header:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **{k: v for k, v in logs.items() if np.ndim(v) == 0}})
        self._file.flush()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._file.close()


class TensorBoard(Callback):
    """Writes the loss and the metrics as event files: per epoch, per batch or every `update_freq` samples.

    histogram_freq: every so many epochs, histograms of the weights. write_graph: the graph. Raises
    `UnimplementedError` for pictures, gradients and embeddings.
    """

    def __init__(
        self,
        log_dir: str = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Sequence[str] | None = None,
        embeddings_metadata: object = None,
        embeddings_data: object = None,
        update_freq: str | int = "epoch",
        profile_batch: int = 0,
    ) -> None:
        super().__init__()
        rest = (embeddings_layer_names, embeddings_metadata)
        refused = (write_grads, write_images, embeddings_freq, embeddings_data, profile_batch, *rest)
        if any(value is not None and value is not False and value != 0 for value in refused):
            raise UnimplementedError(
                "TensorBoard: write_grads, write_images, embeddings and profile_batch are not in tfnb; tf.summary has "
                "images and histograms, tf.RunMetadata the times of a step"
            )
        self.log_dir, self.histogram_freq, self.write_graph = str(log_dir), histogram_freq, write_graph
        self.batch_size = batch_size
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._seen = self._written = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        graph = self.model._graph()
        self._writer = FileWriter(self.log_dir, graph if self.write_graph else None)
        self._histograms: Any = None
        if self.histogram_freq:
            with graph.as_default(), graph.name_scope(None):
                parts = [tf.summary.histogram(w.op.name, w.value()) for w in self.model.weights]
                self._histograms = tf.summary.merge(parts) if parts else None

    def _write(self, prefix: str, logs: dict[str, Any], step: int) -> None:
        for name, value in logs.items():
            if name not in ("batch", "size") and np.ndim(value) == 0:
                entry = Summary.Value(tag=f"{prefix}{name}", simple_value=float(value))
                self._writer.add_summary(Summary(value=[entry]), step)
        self._writer.flush()

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self.update_freq == "epoch":
            return
        self._seen += (logs or {}).get("size", 1)
        if self._seen - self._written >= int(self.update_freq) or self.update_freq == 1:
            self._write("batch_", logs or {}, self._seen)
            self._written = self._seen

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._write("epoch_", logs or {}, epoch)
        if self._histograms is not None and epoch % self.histogram_freq == 0:
            self._writer.add_summary(self.model._run(self._histograms, {}), epoch)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._writer.close()
