"""Exporters, which `train_and_evaluate` asks after an evaluation to write the model as a SavedModel.

Invariant: an exporter writes only below its own folder, `export/<name>` of the model's folder.
"""

from __future__ import annotations

import glob
import inspect
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.summary.frame import summary_iterator
from tfnb.v1.estimators.estimator import Estimator

__all__ = ["BestExporter", "Exporter", "FinalExporter", "LatestExporter"]


class Exporter(ABC):
    """What `EvalSpec` takes as an exporter."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the folder of the exports."""

    @abstractmethod
    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:
        """Exports the model of `checkpoint_path` below the folder `export_path`, or does not.

        eval_result: the metrics of the checkpoint. is_the_final_export: whether the training has ended. Returns the
        path of the export or None.
        """


class _SavedModel(Exporter):
    """An exporter that writes SavedModels, and keeps the last `exports_to_keep` of them."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None,
        as_text: bool,
        exports_to_keep: int | None,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise InvalidArgumentError(
                f"`exports_to_keep`, if provided, must be positive number, got {exports_to_keep}"
            )
        self._name, self._receive = name, serving_input_receiver_fn
        self._extra, self._as_text, self._keep = assets_extra, as_text, exports_to_keep

    @property
    def name(self) -> str:
        """The name of the folder of the exports."""
        return self._name

    def _write(self, estimator: Estimator, export_path: str, checkpoint_path: str | None) -> bytes:
        made = estimator.export_savedmodel(export_path, self._receive, self._extra, self._as_text, checkpoint_path)
        if self._keep is not None:
            numbers = sorted(int(n) for n in os.listdir(export_path) if n.isdigit())
            for number in numbers[: -self._keep]:
                shutil.rmtree(os.path.join(export_path, str(number)))
        return made


class LatestExporter(_SavedModel):
    """Exports the model after each evaluation.

    name: of the folder. serving_input_receiver_fn: returns the inputs of the exported model. assets_extra, as_text: as
    in `Estimator.export_saved_model`. exports_to_keep: how many are kept, None for all. Raises `InvalidArgumentError`
    for a number that is not positive.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:
        """Exports the model; see `Exporter.export`. `eval_result` and `is_the_final_export` make no difference."""
        return self._write(estimator, export_path, checkpoint_path)


class FinalExporter(_SavedModel):
    """Exports the model when the training has ended. For the arguments see `LatestExporter`."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:
        """Exports the model if `is_the_final_export`; see `Exporter.export`. `eval_result` makes no difference."""
        return self._write(estimator, export_path, checkpoint_path) if is_the_final_export else None


def _smaller_loss(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    """Returns whether the current loss is smaller than the best so far."""
    for name, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or "loss" not in result:
            raise InvalidArgumentError(f"{name} cannot be empty or no loss is found in it.")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


class BestExporter(_SavedModel):
    """Exports the model each time that it is better than before.

    compare_fn: (best_eval_result, current_eval_result) to whether the current one is better; by default the smaller
    "loss" is. event_file_pattern: the event files of earlier evaluations below the model's folder, whose best counts
    after a restart. For the rest see `LatestExporter`.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = None,
        compare_fn: Callable[..., bool] = _smaller_loss,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if serving_input_receiver_fn is None:
            raise InvalidArgumentError("`serving_input_receiver_fn` must be defined.")
        names = inspect.signature(compare_fn).parameters
        if not {"best_eval_result", "current_eval_result"} <= set(names):
            raise InvalidArgumentError(
                f"compare_fn must take best_eval_result and current_eval_result, got {list(names)}"
            )
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._better, self._pattern = compare_fn, event_file_pattern
        self._best: Mapping[str, Any] | None = None
        self._looked_back = False

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:
        """Exports the model if it is the best so far; see `Exporter.export`. The end makes no difference."""
        if not self._looked_back:
            self._looked_back = True
            if self._pattern:
                self._best = self._earlier(os.path.join(estimator.model_dir, self._pattern))
        current = dict(eval_result or {})
        if self._best is not None and not self._better(best_eval_result=self._best, current_eval_result=current):
            return None
        self._best = current
        return self._write(estimator, export_path, checkpoint_path)

    def _earlier(self, pattern: str) -> Mapping[str, Any] | None:
        """Returns the best evaluation in event files, or None."""
        best: Mapping[str, Any] | None = None
        for path in sorted(glob.glob(pattern)):
            for event in summary_iterator(path):
                result = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                if result and (best is None or self._better(best_eval_result=best, current_eval_result=result)):
                    best = result
        return best
