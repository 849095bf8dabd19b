"""`tf.keras.estimator.model_to_estimator`: a compiled model as an estimator.

Each call of the estimator makes the model anew on its own data, in its own graph. Invariant: the first training begins
with the weights that the model had, and layers keep their names, so checkpoints name the same variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.session.session import Session
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys
from tfnb.v1.keras.backend.settings import learning_phase_scope
from tfnb.v1.keras.engine.input_layer import Input
from tfnb.v1.keras.engine.loading import clone_model, load_model
from tfnb.v1.keras.engine.saving import training_config
from tfnb.v1.keras.engine.structure import flat
from tfnb.v1.keras.engine.targets import Training
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.optimizers import lookup as optimizers

__all__ = ["model_to_estimator"]


def model_to_estimator(
    keras_model: Model | None = None,
    keras_model_path: str | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    model_dir: str | None = None,
    config: Any = None,
    checkpoint_format: str = "saver",
) -> Estimator:
    """Returns an estimator that trains, evaluates and applies a compiled model.

    keras_model: the model, or keras_model_path: a file of one. custom_objects: classes by name that the file needs.
    model_dir: the folder of checkpoints. Features are a tensor or a dictionary by the names of inputs. Raises
    `InvalidArgumentError` for a model that is not compiled, or is defined by `call`, and for another format of
    checkpoints than "saver".
    """
    if (keras_model is None) == (keras_model_path is None):
        raise InvalidArgumentError("model_to_estimator: needed either keras_model or keras_model_path")
    if checkpoint_format != "saver":
        raise InvalidArgumentError(f"model_to_estimator: checkpoint_format={checkpoint_format!r}; needed saver")
    model = load_model(str(keras_model_path), custom_objects) if keras_model is None else keras_model
    if model._options is None or not model._is_graph:
        raise InvalidArgumentError(
            "model_to_estimator: the given keras model has not been compiled yet, or is defined by `call`. Please "
            "compile a model of layers before"
        )
    return Estimator(_model_fn(model), model_dir, config)


def _optimizer(model: Model, config: Mapping[str, Any] | None) -> Any:
    """Returns a new optimizer like that of the model; one of `tf.train` has no variables yet, and is used itself."""
    return model.optimizer if config is None else optimizers.deserialize(config["optimizer_config"])


def _inputs(model: Model, features: object) -> list[Any]:
    if isinstance(features, Mapping):
        missing = [name for name in model.input_names if name not in features]
        if missing:
            raise InvalidArgumentError(f"the features lack the inputs {missing}; they have {sorted(features)}")
        features = [features[name] for name in model.input_names]
    tensors = [tf.convert_to_tensor(t) for t in flat(features)]
    made = []
    for tensor, old, name in zip(tensors, model.inputs, model.input_names, strict=True):
        tensor = tensor if tensor.dtype == old.dtype else tf.cast(tensor, old.dtype)
        if tensor.shape.ndims == 1 and old.shape.ndims == 2:
            tensor = tf.expand_dims(tensor, 1)
        made.append(Input(tensor=tensor, name=name))
    return made


def _targets(copy: Model, labels: object) -> list[Tensor]:
    if isinstance(labels, Mapping):
        labels = [labels[name] for name in copy.output_names]
    found = []
    for target, output in zip(flat(labels), copy.outputs, strict=True):
        target = tf.convert_to_tensor(target)
        found.append(tf.expand_dims(target, 1) if target.shape.ndims == 1 and output.shape.ndims == 2 else target)
    return found


def _model_fn(model: Model) -> Callable[..., EstimatorSpec]:
    config, weights = training_config(model), model.get_weights()

    def restored(copy: Model) -> Scaffold:
        def load(scaffold: Scaffold, session: Session) -> None:
            for variable, value in zip(copy.weights, weights, strict=True):
                variable.load(value, session)

        return tf.train.Scaffold(init_fn=load)

    def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
        """Makes the model on the features, with the loss and the metrics of the labels."""
        with learning_phase_scope(int(mode == ModeKeys.TRAIN)):
            copy = clone_model(model, _inputs(model, features))
        copy.output_names = model.output_names
        scaffold = restored(copy)
        predictions = dict(zip(copy.output_names, copy.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions, scaffold=scaffold)
        training = Training(copy, {**model._options, "target_tensors": _targets(copy, labels)})
        if mode == ModeKeys.EVAL:
            names = [name for name in training.names if name != "loss"]
            metrics = {
                name: (metric.result(), result)
                for name, metric, result in zip(names, training.metrics, training.results, strict=True)
            }
            return EstimatorSpec(mode, predictions, training.total_loss, eval_metric_ops=metrics, scaffold=scaffold)
        optimizer = _optimizer(model, config)
        with tf.get_default_graph().name_scope("training"):
            updates = [
                *optimizer.get_updates(loss=training.total_loss, params=copy.trainable_weights),
                *training.updates(),
            ]
            with tf.control_dependencies(updates):
                step = tf.train.get_or_create_global_step()
                train_op = tf.assign_add(step, tf.constant(1, step.dtype.base_dtype)).op
        return EstimatorSpec(mode, predictions, training.total_loss, train_op, scaffold=scaffold)

    return model_fn
