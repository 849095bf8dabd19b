"""Models from files and configurations (`tf.keras.models`).

Invariant: a loaded model predicts, and goes on training, as the saved one would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError, refuse_given
from tfnb.v1.keras import hdf5
from tfnb.v1.keras.backend.values import batch_set_value
from tfnb.v1.keras.engine.functional import copied_graph
from tfnb.v1.keras.engine.input_layer import Input
from tfnb.v1.keras.engine.sequential import Sequential
from tfnb.v1.keras.engine.structure import flat
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layers import catalog
from tfnb.v1.keras.optimizers import lookup as optimizers
from tfnb.v1.keras.serialization import CustomObjectScope

__all__ = [
    "clone_model",
    "export_saved_model",
    "load_from_saved_model",
    "load_model",
    "model_from_config",
    "model_from_json",
    "model_from_yaml",
    "save_model",
]


def save_model(
    model: Model,
    filepath: str,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: object = None,
) -> None:
    """Writes a model; see `Model.save`."""
    model.save(filepath, overwrite, include_optimizer, save_format, signatures)


def model_from_config(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the model of a dictionary {"class_name", "config"}. Raises `InvalidArgumentError` for a list."""
    if isinstance(config, list):
        raise InvalidArgumentError("`model_from_config` expects a dictionary; use `Sequential.from_config` for a list")
    return catalog.deserialize(config, custom_objects)


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the model of a text of JSON."""
    return model_from_config(json.loads(json_string), custom_objects)


def model_from_yaml(yaml_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the model of a text that `to_yaml` wrote. Raises `InvalidArgumentError` for YAML that is not JSON."""
    try:
        return model_from_json(yaml_string, custom_objects)
    except json.JSONDecodeError as error:
        raise InvalidArgumentError(f"model_from_yaml: needed a text of `to_yaml`, which is JSON: {error}") from error


def load_model(
    filepath: str,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
) -> Any:
    """Returns the model that `save` wrote, compiled if it was and `compile` is set.

    Raises `NotFoundError` when there is no such file.
    """
    path = Path(str(filepath))
    with CustomObjectScope(custom_objects or {}):
        if path.is_dir():
            return _from_folder(path, compile)
        if not path.exists():
            raise NotFoundError(f"load_model: there is no file {path}")
        return _from_hdf5(str(path), compile)


def _from_folder(folder: Path, compiled: bool) -> Any:
    description = folder / "assets" / "saved_model.json"
    if not description.exists():
        raise NotFoundError(f"load_model: {description} is not there; the folder is not a saved model of Keras")
    written = json.loads(description.read_text(encoding="utf-8"))
    model = model_from_config(written["model"])
    reader = tf.train.NewCheckpointReader(str(folder / "variables" / "variables"))
    batch_set_value(zip(model.weights, map(reader.get_tensor, written["weights"]), strict=True))
    if compiled and written["training"]:
        _compile(model, written["training"])
        _restore_optimizer(model, [reader.get_tensor(n) for n in written["optimizer_weights"]])
    return model


def _from_hdf5(path: str, compiled: bool) -> Any:
    with hdf5.open_file(path, "r") as file:
        config = file.attrs.get("model_config")
        if config is None:
            raise InvalidArgumentError(f"No model found in config file: {path}")
        model = model_from_config(json.loads(config))
        hdf5.load_weights_from_group(file["model_weights"], model.layers, False)
        training = file.attrs.get("training_config")
        if compiled and training is not None:
            _compile(model, json.loads(training))
            if "optimizer_weights" in file:
                group = file["optimizer_weights"]
                _restore_optimizer(model, [np.asarray(group[n]) for n in group.attrs["weight_names"]])
    return model


def _compile(model: Model, training: Mapping[str, Any]) -> None:
    options = {k: v for k, v in training.items() if k != "optimizer_config"}
    model.compile(optimizers.deserialize(training["optimizer_config"]), **options)


def _restore_optimizer(model: Model, values: list[Any]) -> None:
    if values:
        model._make_train_op()
        model.optimizer.set_weights(values)


def clone_model(
    model: Model, input_tensors: object = None, clone_function: Callable[[Any], Any] | None = None
) -> Model:
    """Returns a model of new layers with the same configuration and new weights.

    input_tensors: the inputs of the new model. clone_function: from each layer to its copy.
    """
    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        layers = [copy(layer) for layer in model.layers]
        if input_tensors is None:
            return Sequential(layers, name=model.name)
        x = y = flat(input_tensors)[0]
        for layer in layers:
            y = layer(y)
        return Model(x, y, name=model.name)
    if not model._is_graph:
        raise InvalidArgumentError("clone_model: a model that is defined by `call` cannot be cloned")
    given = (
        flat(input_tensors)
        if input_tensors is not None
        else [
            Input(batch_shape=tuple(t.shape.as_list()), dtype=t.dtype.base_dtype, name=n)
            for t, n in zip(model.inputs, model.input_names, strict=True)
        ]
    )
    inputs, outputs = copied_graph(model, given, copy)
    return Model(inputs, outputs, name=model.name)


def export_saved_model(
    model: Model,
    saved_model_path: str,
    custom_objects: Mapping[str, Any] | None = None,
    as_text: bool = False,
    input_signature: object = None,
    serving_only: bool = False,
) -> None:
    """Writes a model as a folder of TensorFlow's format, which `load_from_saved_model` reads.

    Raises `InvalidArgumentError` for options of other formats.
    """
    refuse_given(
        "export_saved_model",
        "the folder holds the configuration and the weights; leave it out",
        custom_objects=custom_objects,
        as_text=as_text or None,
        input_signature=input_signature,
        serving_only=serving_only or None,
    )
    model.save(saved_model_path, save_format="tf")


def load_from_saved_model(saved_model_path: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the model that `export_saved_model` wrote. Raises `NotFoundError` when there is none."""
    return load_model(saved_model_path, custom_objects)
