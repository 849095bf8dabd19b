"""`tf.estimator.export`: the inputs and outputs of exported models, and the export of the model of an estimator.

Invariant: an exported model is a SavedModel, whose folder gets its name only when it is complete.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.placeholder import placeholder
from tfnb.ops.io.example_functions import parse_example
from tfnb.system.files import os_errors
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.signatures import (
    SIGNATURE_CONSTANTS,
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from tfnb.types import string

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "SupervisedInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]

_DEFAULT_KEY = SIGNATURE_CONSTANTS["DEFAULT_SERVING_SIGNATURE_DEF_KEY"]


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Mapping[str, Mapping[str, Any]] | None = None


class ServingInputReceiver(_Receiver):
    """The inputs of an exported model: `features` for the model function, and the placeholders that are fed.

    receiver_tensors: the placeholders. Instead of a dict one tensor may be given, which is then called "feature" or
    "input". receiver_tensors_alternatives: a dict of name to other tensors that may be fed instead; each adds a
    signature for every output.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: TensorLike | Mapping[str, Any],
        receiver_tensors: TensorLike | Mapping[str, Any],
        receiver_tensors_alternatives: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Any:
        """Replaces a single tensor by a dict."""
        named = features if isinstance(features, Mapping) else {"feature": features}
        received = receiver_tensors if isinstance(receiver_tensors, Mapping) else {"input": receiver_tensors}
        return super().__new__(cls, named, received, receiver_tensors_alternatives)


class TensorServingInputReceiver(ServingInputReceiver):
    """The inputs of an exported model whose features are one tensor, which the model function gets as it is.

    For the arguments see `ServingInputReceiver`.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: TensorLike,
        receiver_tensors: TensorLike | Mapping[str, Any],
        receiver_tensors_alternatives: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Any:
        """Replaces a single received tensor by a dict. Raises `DTypeError` for features in a dict."""
        if isinstance(features, Mapping):
            raise DTypeError(f"TensorServingInputReceiver: features must be one tensor, got {features!r}")
        received = receiver_tensors if isinstance(receiver_tensors, Mapping) else {"input": receiver_tensors}
        return _Receiver.__new__(cls, features, received, receiver_tensors_alternatives)


class SupervisedInputReceiver(NamedTuple):
    """The inputs of a model that is exported for training or evaluation: features, labels, and what is fed."""

    features: Any
    labels: Any
    receiver_tensors: Any


def build_raw_supervised_input_receiver_fn(
    features: Mapping[str, Any] | TensorLike,
    labels: Mapping[str, Any] | TensorLike,
    default_batch_size: int | None = None,
) -> Callable[[], SupervisedInputReceiver]:
    """Returns a function that returns a receiver of tensors like `features` and `labels`.

    default_batch_size: the static batch size, by default unknown. Raises `InvalidArgumentError` when features and
    labels have a name in common.
    """
    given = {"features": features, "labels": labels}
    named = {
        k: dict(v) if isinstance(v, Mapping) else {k[:-1] if k == "labels" else "input": v} for k, v in given.items()
    }
    shared = sorted(set(named["features"]) & set(named["labels"]))
    if shared:
        raise InvalidArgumentError(f"Features and labels must have distinct keys. Found overlapping keys: {shared}")

    def receive() -> SupervisedInputReceiver:
        made = {k: build_raw_serving_input_receiver_fn(v, default_batch_size)().features for k, v in named.items()}
        single = {k: made[k] if isinstance(given[k], Mapping) else next(iter(made[k].values())) for k in made}
        return SupervisedInputReceiver(single["features"], single["labels"], {**made["features"], **made["labels"]})

    return receive


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a function that returns a receiver of serialized tf.Examples, which are parsed by `feature_spec`.

    default_batch_size: the static batch size, by default unknown.
    """

    def receive() -> ServingInputReceiver:
        serialized = placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return receive


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Returns a function that returns a receiver of tensors like `features`.

    default_batch_size: the static batch size, by default unknown.
    """

    def receive() -> ServingInputReceiver:
        received = {
            name: placeholder(t.dtype, [default_batch_size, *t.shape.as_list()[1:]], name=t.op.name)
            for name, t in features.items()
        }
        return ServingInputReceiver(received, received)

    return receive


def signatures(
    receiver: ServingInputReceiver,
    export_outputs: Mapping[str, ExportOutput] | None,
    predictions: TensorLike | Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the SignatureDefs of the outputs by name; without `export_outputs` the predictions are the only output.

    As in TensorFlow, an output whose signature needs tf.Example strings is skipped with a warning if the model receives
    something else. Raises `InvalidArgumentError` when there are several outputs and none is the default.
    """
    outputs = dict(export_outputs or {_DEFAULT_KEY: PredictOutput(predictions)})
    if _DEFAULT_KEY not in outputs:
        if len(outputs) > 1:
            raise InvalidArgumentError(
                f"EstimatorSpec: of several export_outputs one must be called {_DEFAULT_KEY!r}, got {sorted(outputs)}"
            )
        outputs[_DEFAULT_KEY] = next(iter(outputs.values()))
    alternatives = dict(receiver.receiver_tensors_alternatives or {})
    result = {}
    for name, output in outputs.items():
        for alternative, received in {"": receiver.receiver_tensors, **alternatives}.items():
            try:
                result[f"{alternative}:{name}" if alternative else name] = output.signature(received)
            except InvalidArgumentError as e:
                logging.warning("The export has no signature %r: %s", name, e)
    if not result:
        raise InvalidArgumentError(f"none of the export_outputs {sorted(outputs)} fits what the model receives")
    return result


def timestamped_folder(base: FilePath) -> str:
    """Returns a new folder name below `base`: the current time in seconds, or the next number without a folder."""
    folder, timestamp = os.fsdecode(base), int(time.time())
    while os.path.lexists(os.path.join(folder, str(timestamp))):
        timestamp += 1
    with os_errors(folder):
        os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, str(timestamp))


def add_extra_assets(folder: str, assets_extra: Mapping[str, Any]) -> None:
    """Copies files into `assets.extra` of a SavedModel.

    Raises `InvalidArgumentError` for a path that leads out of that folder.
    """
    extra = os.path.join(folder, "assets.extra")
    for name, source in assets_extra.items():
        target = os.path.normpath(os.path.join(extra, name))
        if os.path.commonpath([extra, target]) != extra or target == extra:
            raise InvalidArgumentError(f"assets_extra: {name!r} is no path inside of assets.extra")
        with os_errors(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.fsdecode(source), target)
