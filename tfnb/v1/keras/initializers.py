"""`tf.keras.initializers`: the initialisers of the graph API with Keras' names, defaults and configurations.

Invariant: an initialiser is a function (shape, dtype) -> tensor that tf.get_variable takes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.client.variables import initializers as graph
from tfnb.errors import InvalidArgumentError
from tfnb.types import DTypeLike
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object

Initializer = graph.Initializer


class Zeros(graph.Zeros):
    """Makes tensors of zeros."""


class Ones(graph.Ones):
    """Makes tensors of ones."""


class Constant(graph.Constant):
    """Makes tensors of one value, or of the values of a list."""


class Orthogonal(graph.Orthogonal):
    """Makes orthogonal matrices, times `gain`; dimensions before the last are joined into the rows."""


class Identity(graph.Identity):
    """Makes identity matrices, times `gain`."""


class VarianceScaling(graph.VarianceScaling):
    """Draws random numbers whose variance is `scale` over the number of inputs, outputs or their mean."""


class RandomNormal(graph.RandomNormal):
    """Draws normally distributed numbers."""

    def __init__(
        self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None, dtype: DTypeLike = "float32"
    ) -> None:
        super().__init__(mean, stddev, seed, tf.as_dtype(dtype))


class TruncatedNormal(graph.TruncatedNormal):
    """Draws normal numbers, those beyond two standard deviations again."""

    def __init__(
        self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None, dtype: DTypeLike = "float32"
    ) -> None:
        super().__init__(mean, stddev, seed, tf.as_dtype(dtype))


class RandomUniform(graph.RandomUniform):
    """Draws numbers that are uniform in [minval, maxval)."""

    def __init__(
        self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None, dtype: DTypeLike = "float32"
    ) -> None:
        super().__init__(minval, maxval, seed, tf.as_dtype(dtype))


class GlorotUniform(graph.VarianceScaling):
    """Draws uniform numbers of the variance 2 / (inputs + outputs)."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, tf.as_dtype(dtype))


class GlorotNormal(graph.VarianceScaling):
    """Draws truncated normal numbers of the variance 2 / (inputs + outputs)."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, tf.as_dtype(dtype))


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Returns the initialiser that draws truncated normal numbers of the variance 1 / inputs."""
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="truncated_normal", seed=seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns the initialiser that draws uniform numbers of the variance 1 / inputs."""
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="uniform", seed=seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Returns the initialiser that draws truncated normal numbers of the variance 2 / inputs."""
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="truncated_normal", seed=seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns the initialiser that draws uniform numbers of the variance 2 / inputs."""
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="uniform", seed=seed)


zeros, ones, constant, orthogonal, identity = Zeros, Ones, Constant, Orthogonal, Identity
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
normal = random_normal = RandomNormal
uniform = random_uniform = RandomUniform
truncated_normal = TruncatedNormal

# class -> the attributes that make its configuration, from which the constructor makes an equal one
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Zeros": ("dtype",),
    "Ones": ("dtype",),
    "Constant": ("value", "dtype"),
    "RandomUniform": ("minval", "maxval", "seed", "dtype"),
    "RandomNormal": ("mean", "stddev", "seed", "dtype"),
    "TruncatedNormal": ("mean", "stddev", "seed", "dtype"),
    "VarianceScaling": ("scale", "mode", "distribution", "seed", "dtype"),
    "GlorotUniform": ("seed", "dtype"),
    "GlorotNormal": ("seed", "dtype"),
    "Orthogonal": ("gain", "seed", "dtype"),
    "Identity": ("gain", "dtype"),
}
_CLASSES = (
    Zeros,
    Ones,
    Constant,
    RandomUniform,
    RandomNormal,
    TruncatedNormal,
    VarianceScaling,
    GlorotUniform,
    GlorotNormal,
    Orthogonal,
    Identity,
)
_KNOWN: dict[str, Any] = {
    "Initializer": Initializer,
    **{c.__name__: c for c in _CLASSES},
    **{f.__name__: f for f in (lecun_normal, lecun_uniform, he_normal, he_uniform)},
    "zeros": Zeros,
    "zero": Zeros,
    "ones": Ones,
    "one": Ones,
    "constant": Constant,
    "orthogonal": Orthogonal,
    "identity": Identity,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "normal": RandomNormal,
    "random_normal": RandomNormal,
    "uniform": RandomUniform,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
}


def serialize(initializer: object) -> str | dict[str, Any]:
    """Returns the configuration of an initialiser, or the name of a function."""
    for cls in type(initializer).__mro__:
        fields = _FIELDS.get(cls.__name__)
        if fields is not None:
            config = {name: getattr(initializer, name, None) for name in fields}
            if "dtype" in config:
                config["dtype"] = tf.as_dtype(config["dtype"] or "float32").name
            return {"class_name": cls.__name__, "config": config}
    if hasattr(initializer, "get_config"):
        return {"class_name": type(initializer).__name__, "config": initializer.get_config()}
    if hasattr(initializer, "__name__"):
        return initializer.__name__
    raise InvalidArgumentError(f"Cannot serialize the initializer {initializer!r}")


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the initialiser of a name or configuration."""
    if isinstance(config, str):
        config = {"class_name": config, "config": {}}  # also functions that return an initialiser are called
    if isinstance(config, Mapping) and "dtype" in (config.get("config") or {}):
        inner = {**config["config"], "dtype": tf.as_dtype(config["config"]["dtype"] or "float32")}
        config = {**config, "config": inner}
    return deserialize_keras_object(config, _KNOWN, custom_objects, "initializer")


def get(identifier: Identifier | None) -> Any:
    """Returns the initialiser of a name or configuration; None and callables are returned unchanged.

    Raises `InvalidArgumentError` for anything else.
    """
    if identifier is None:
        return None
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    raise InvalidArgumentError(f"Could not interpret initializer identifier: {identifier!r}")
