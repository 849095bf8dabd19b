"""`tf.contrib.predictor`: models as functions from a dict of arrays to a dict of arrays.

Invariant: a predictor keeps its own graph and session until it is closed or collected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError, NotFoundError, refuse_given
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import SignatureDef
from tfnb.session.config import ConfigProto
from tfnb.session.session import Session
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.saving.saved_model import load
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.export import ServingInputReceiver, signatures
from tfnb.v1.estimators.spec import ModeKeys

__all__ = ["Predictor", "from_contrib_estimator", "from_estimator", "from_saved_model"]


class Predictor:
    """A function from a dict of input arrays to a dict of output arrays; both have the names of a signature."""

    def __init__(
        self, graph: GraphBuilder, session: Session, feeds: Mapping[str, Any], fetches: Mapping[str, Any]
    ) -> None:
        self.graph, self.session = graph, session
        self.feed_tensors, self.fetch_tensors = dict(feeds), dict(fetches)

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outputs for the inputs. Raises `InvalidArgumentError` for names that are no inputs."""
        unknown = sorted(set(input_dict) - set(self.feed_tensors))
        if unknown:
            raise InvalidArgumentError(
                f"Got unexpected keys in input_dict: {unknown}; expected: {sorted(self.feed_tensors)}"
            )
        result: dict[str, Any] = self.session.run(
            self.fetch_tensors, {self.feed_tensors[k]: v for k, v in input_dict.items()}
        )
        return result

    def close(self) -> None:
        """Closes the session."""
        self.session.close()


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: SignatureDef | None = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: GraphBuilder | None = None,
    config: ConfigProto | None = None,
) -> Predictor:
    """Returns the predictor of a SavedModel.

    The inputs and outputs are those of the signature `signature_def_key` (by default "serving_default"), of
    `signature_def`, or the tensors that `input_names` and `output_names` name. tags: separated by commas, by default
    "serve". graph: where the model is imported, by default a new graph. config: of the session. Raises
    `InvalidArgumentError` for an unknown signature, or two ways of naming the inputs and outputs.
    """
    if sum(x is not None for x in (signature_def_key, signature_def, input_names)) > 1:
        raise InvalidArgumentError(
            "You must specify at most one of signature_def_key OR signature_def OR input_names and output_names."
        )
    if (input_names is None) != (output_names is None):
        raise InvalidArgumentError("input_names and output_names must both be specified or both be unspecified.")
    place = graph or GraphBuilder()
    with place.as_default():
        session = Session(graph=place, config=config)
        loaded = load(session, (tags or "serve").split(","), export_dir)
        if input_names is None:
            key = signature_def_key or "serving_default"
            if signature_def is None and key not in loaded.signature_def:
                raise InvalidArgumentError(
                    f"Got signature_def_key {key!r}. Available signatures are {sorted(loaded.signature_def)}."
                )
            chosen = signature_def or loaded.signature_def[key]
            input_names = {k: v.name for k, v in chosen.inputs.items()}
            output_names = {k: v.name for k, v in chosen.outputs.items()}
    feeds = {k: place.get_tensor_by_name(n) for k, n in input_names.items()}
    fetches = {k: place.get_tensor_by_name(n) for k, n in (output_names or {}).items()}
    return Predictor(place, session, feeds, fetches)


def from_estimator(
    estimator: Estimator,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: GraphBuilder | None = None,
    config: ConfigProto | None = None,
) -> Predictor:
    """Returns the predictor of a trained estimator.

    serving_input_receiver_fn: returns the inputs (see `tf.estimator.export`). output_key: which of the model's
    export_outputs, by default "serving_default", or the predictions of a model without any. graph: where the model is
    built, by default a new graph. config: of the session. Raises `DTypeError` for another estimator, `NotFoundError`
    for one that is not trained, `InvalidArgumentError` for an unknown output.
    """
    if not isinstance(estimator, Estimator):
        raise DTypeError(f"Expected estimator to be of type tf.estimator.Estimator, but got type {type(estimator)}")
    path = estimator.latest_checkpoint()
    if path is None:
        raise NotFoundError(f"{estimator.model_dir} holds no trained model; call train first")
    place = graph or GraphBuilder()
    with place.as_default():
        get_or_create_global_step()
        receiver = serving_input_receiver_fn()
        spec = estimator.spec_of(receiver.features, None, ModeKeys.PREDICT)
        defined = signatures(receiver, spec.export_outputs, spec.predictions)
        key = output_key or "serving_default"
        if key not in defined:
            raise InvalidArgumentError(f"Got output_key {key!r}. Available outputs are {sorted(defined)}.")
        session = Session(graph=place, config=config)
        creator = Saver(allow_empty=True)
        session.run(Scaffold.default_local_init_op())
        creator.restore(session, path)
    feeds = {k: place.get_tensor_by_name(v.name) for k, v in defined[key].inputs.items()}
    fetches = {k: place.get_tensor_by_name(v.name) for k, v in defined[key].outputs.items()}
    return Predictor(place, session, feeds, fetches)


def from_contrib_estimator(
    estimator: Any,
    prediction_input_fn: Callable[[], Any],
    input_alternative_key: str | None = None,
    output_alternative_key: str | None = None,
    graph: GraphBuilder | None = None,
    config: ConfigProto | None = None,
) -> Predictor:
    """Returns the predictor of an estimator of `tf.contrib.learn`.

    prediction_input_fn: returns `InputFnOps`. output_alternative_key: which output. graph: where the model is built.
    config: of the session. Raises `InvalidArgumentError` for an `input_alternative_key`; there is one kind of input.
    """
    refuse_given(
        "from_contrib_estimator", "a model has one kind of input here", input_alternative_key=input_alternative_key
    )

    def receive() -> ServingInputReceiver:
        ops = prediction_input_fn()
        return ServingInputReceiver(ops.features, ops.default_inputs)

    return from_estimator(estimator, receive, output_alternative_key, graph, config)
