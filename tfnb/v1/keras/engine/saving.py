"""Saving of models: weights as checkpoints or HDF5, whole models with configuration, loss and optimizer; the summary.

Invariant: keys in a checkpoint of weights are those of TensorFlow's objects, "layer_with_weights-0/kernel/...".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.v1.keras import hdf5
from tfnb.v1.keras.backend.values import batch_set_value, count_params, get_session
from tfnb.v1.keras.graph_api import tf

__all__ = ["SavedByKeras", "training_config"]

_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def _attributes(layer: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yields (key, variable) of the weights of a layer and of the layers in its attributes."""
    for weight in (*layer._trainable_weights, *layer._non_trainable_weights):
        if id(weight) not in seen:
            seen.add(id(weight))
            yield f"{path}/{weight.op.name.rpartition('/')[2]}{_SUFFIX}", weight
    numbered = getattr(layer, "_is_graph", None) is not None
    inner = (
        _numbered(layer)
        if numbered
        else {
            name: value for name, value in vars(layer).items() if not name.startswith("_") and hasattr(value, "_layers")
        }
    )
    for name, value in inner.items():
        yield from _attributes(value, f"{path}/{name}", seen)
    for number, value in enumerate(layer._layers):
        yield from _attributes(value, f"{path}/layer-{number}", seen)


def _numbered(model: Any) -> dict[str, Any]:
    return {f"layer_with_weights-{i}": layer for i, layer in enumerate(_with_weights(model))}


def _with_weights(model: Any) -> list[Any]:
    return [layer for layer in model.layers if layer.weights]


def _checkpoint_names(model: Any) -> dict[str, Any]:
    return {key.lstrip("/"): variable for key, variable in _attributes(model, "", set())}


def training_config(model: Any) -> dict[str, Any] | None:
    """Returns the loss, metrics and optimizer of a compiled model, or None."""
    if model._options is None or not hasattr(model.optimizer, "iterations_variable"):
        return None
    kept = {k: v for k, v in model._options.items() if k != "target_tensors"}
    optimizer = {"class_name": type(model.optimizer).__name__, "config": model.optimizer.get_config()}
    return {**kept, "optimizer_config": optimizer}


class SavedByKeras:
    """What models have to save and show themselves."""

    layers: list[Any]
    name: Any
    weights: list[Any]

    def save_weights(self, filepath: str, overwrite: bool = True, save_format: str | None = None) -> None:
        """Writes the weights: as HDF5 where the name ends in .h5, .hdf5 or .keras, and else as a checkpoint.

        Raises `InvalidArgumentError` for an unknown format, and for a file that must not be replaced.
        """
        path = str(filepath)
        as_hdf5 = _is_hdf5(path, save_format)
        if not overwrite and (Path(path).exists() or Path(f"{path}.index").exists()):
            raise InvalidArgumentError(f"save_weights: {path} exists, and overwrite is False")
        if as_hdf5:
            with hdf5.open_file(path, "w") as file:
                hdf5.save_weights_to_group(file, self.layers)
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        saver = tf.train.Saver(_checkpoint_names(self), max_to_keep=None)
        saver.save(get_session(), path, write_meta_graph=False)

    def load_weights(self, filepath: str, by_name: bool = False) -> None:
        """Sets the weights from a file or a checkpoint; `by_name`, of HDF5, matches layers by their names.

        Raises `NotFoundError` for a file that is not there, and `InvalidArgumentError` for weights that do not fit.
        """
        path = str(filepath)
        if hdf5.is_hdf5_name(path) and not Path(f"{path}.index").exists():
            with hdf5.open_file(path, "r") as file:
                group = file["model_weights"] if "layer_names" not in file.attrs else file
                hdf5.load_weights_from_group(group, self.layers, by_name)
            return
        if by_name:
            raise InvalidArgumentError("load_weights: by_name is for HDF5 files; a checkpoint is matched by its keys")
        if Path(path).is_dir():
            path = str(tf.train.latest_checkpoint(path) or path)
        if not Path(f"{path}.index").exists():
            raise NotFoundError(f"load_weights: there is no file {path} and no checkpoint of this name")
        reader = tf.train.NewCheckpointReader(path)
        names = _checkpoint_names(self)
        if not all(reader.has_tensor(key) for key in names):
            names = {v.op.name: v for v in names.values()}  # a checkpoint of tf.train.Saver
        missing = [key for key in names if not reader.has_tensor(key)]
        if missing:
            raise NotFoundError(f"load_weights: {path} has no value for {missing[0]} ({len(missing)} are missing)")
        batch_set_value([(v, reader.get_tensor(key)) for key, v in names.items()])

    def save(
        self,
        filepath: str,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: object = None,
    ) -> None:
        """Writes the model, with its configuration, weights, loss and optimizer; `load_model` reads it.

        The name of an HDF5 file ends in .h5, .hdf5 or .keras; else a folder is written with a checkpoint and JSON.
        """
        if signatures is not None:
            raise InvalidArgumentError("save: signatures belong to SavedModels; use tf.saved_model.simple_save")
        path = str(filepath)
        training = training_config(self) if include_optimizer else None
        state = list(self.optimizer.weights) if training and hasattr(self, "optimizer") else []
        if _is_hdf5(path, save_format):
            if not overwrite and Path(path).exists():
                raise InvalidArgumentError(f"save: {path} exists, and overwrite is False")
            with hdf5.open_file(path, "w") as file:
                file.attrs["model_config"] = hdf5.json_of(self._full_config()).encode()
                if training:
                    file.attrs["training_config"] = hdf5.json_of(training).encode()
                hdf5.save_weights_to_group(file.create_group("model_weights"), self.layers)
                if state:
                    group = file.create_group("optimizer_weights")
                    group.attrs["weight_names"] = [v.name.encode() for v in state]
                    for variable, value in zip(state, get_session().run(state), strict=True):
                        group.create_dataset(variable.name, data=value)
            return
        folder = Path(path)
        if not overwrite and folder.exists():
            raise InvalidArgumentError(f"save: {path} exists, and overwrite is False")
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        (folder / "variables").mkdir(exist_ok=True)
        variables = [*self.weights, *state]
        written = {
            "model": self._full_config(),
            "weights": [v.op.name for v in self.weights],
            "training": training,
            "optimizer_weights": [v.op.name for v in state],
        }
        (folder / "assets" / "saved_model.json").write_text(hdf5.json_of(written), encoding="utf-8")
        saver = tf.train.Saver({v.op.name: v for v in variables}, max_to_keep=None)
        saver.save(get_session(), str(folder / "variables" / "variables"), write_meta_graph=False)

    def _full_config(self) -> dict[str, Any]:
        class_name = type(self).__name__
        config = self.get_config()  # type: ignore[attr-defined]
        return {"class_name": class_name, "config": config, "keras_version": "2.2.4-tf", "backend": "tensorflow"}

    def to_json(self, **kwargs: Any) -> str:
        """Returns the configuration as JSON; keywords are those of `json.dumps`."""
        return json.dumps(json.loads(hdf5.json_of(self._full_config())), **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """Returns the configuration as YAML, of which JSON is a part."""
        return self.to_json(**kwargs)

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], Any] | None = None,
    ) -> None:
        """Prints the layers with the shapes of their outputs and the numbers of their weights."""
        show = print_fn or print
        width = line_length or 65
        ends = [int(width * p) for p in positions or (0.45, 0.85, 1.0)]

        def row(*fields: str) -> None:
            line = ""
            for field, end in zip(fields, ends, strict=True):
                line = (f"{line} " if line else "") + field
                line = line[:end].ljust(end)
            show(line)

        show(f'Model: "{self.name}"')
        show("_" * width)
        row("Layer (type)", "Output Shape", "Param #")
        show("=" * width)
        shown = self.layers
        for i, layer in enumerate(shown):
            try:
                shape = str(layer.output_shape)
            except (AttributeError, InvalidArgumentError):
                shape = "multiple"
            row(f"{layer.name} ({type(layer).__name__})", shape, str(sum(count_params(w) for w in layer.weights)))
            show(("=" if i == len(shown) - 1 else "_") * width)
        counts: list[int] = [count_params(w) for w in self.trainable_weights]  # type: ignore[attr-defined]
        trainable = sum(counts)
        total = sum(count_params(w) for w in self.weights)
        show(f"Total params: {total:,}")
        show(f"Trainable params: {trainable:,}")
        show(f"Non-trainable params: {total - trainable:,}")
        show("_" * width)


def _is_hdf5(path: str, save_format: str | None) -> bool:
    if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
        raise InvalidArgumentError(f"Unknown save format {save_format!r}; needed h5 or tf")
    return hdf5.is_hdf5_name(path) if save_format is None else save_format in ("h5", "hdf5", "keras")
