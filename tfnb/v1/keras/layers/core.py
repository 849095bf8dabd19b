"""Dense, Activation, Dropout, Flatten, Reshape, Permute, RepeatVector, Lambda, Masking and others.

Invariant: names, defaults and shapes are TensorFlow 1.15's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras import regularizers
from tfnb.v1.keras.argument_types import Identifier, Masks, TrainingFlag
from tfnb.v1.keras.backend import arrays, nn
from tfnb.v1.keras.backend.settings import data_format_of
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.engine.calls import InputSpec
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.weight_options import LayerWithOptions
from tfnb.v1.keras.serialization import deserialize_keras_object, has_arg


@register()
class Dense(LayerWithOptions):
    """Computes activation(inputs @ kernel + bias) over the last dimension."""

    fields = (
        "units",
        "activation",
        "use_bias",
        "kernel_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "kernel_constraint",
        "bias_constraint",
    )

    def __init__(
        self,
        units: int,
        activation: Identifier | None = None,
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = int(units), use_bias
        self._set_options(
            activation=activation,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.input_spec, self.supports_masking = InputSpec(min_ndim=2), True
        self.bias: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        width = tf.TensorShape(input_shape).as_list()[-1]
        if width is None:
            raise InvalidArgumentError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.kernel = self._weight("kernel", (width, self.units))
        if self.use_bias:
            self.bias = self._weight("bias", (self.units,))

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        rank = inputs.shape.ndims
        if rank > 2:
            y = tf.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            y.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            y = tf.matmul(inputs, self.kernel)
        if self.bias is not None:
            y = tf.nn.bias_add(y, self.bias)
        return self.activation(y)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape([*tf.TensorShape(input_shape).as_list()[:-1], self.units])


@register()
class Activation(LayerWithOptions):
    """Applies an activation function."""

    fields = ("activation",)

    def __init__(self, activation: Identifier | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._set_options(activation=activation)

    def call(self, inputs: TensorOrVariable) -> Any:  # type: ignore[override]
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape(input_shape)


@register()
class Dropout(Layer):
    """Sets a share `rate` of the elements to 0 in training, and divides the others by 1 - rate."""

    def __init__(
        self, rate: float, noise_shape: Sequence[Any] | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed, self.supports_masking = rate, noise_shape, seed, True

    def _noise_shape(self, inputs: TensorOrVariable) -> list[Any] | None:
        if self.noise_shape is None:
            return None
        dynamic = tf.shape(inputs)
        return [dynamic[i] if n is None else n for i, n in enumerate(self.noise_shape)]

    def call(self, inputs: TensorOrVariable, training: TrainingFlag | None = None) -> Tensor:  # type: ignore[override]
        if not self.rate:
            return tf.identity(inputs)

        def dropped() -> Tensor:
            return tf.nn.dropout(inputs, rate=self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed)

        y = nn.in_train_phase(dropped, lambda: tf.identity(inputs), training)
        y.set_shape(inputs.shape)
        return y

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape(input_shape)

    def get_config(self) -> dict[str, Any]:
        own = {"rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}
        return {**super().get_config(), **own}


class _SpatialDropout(Dropout):
    rank = 1

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _noise_shape(self, inputs: TensorOrVariable) -> list[Any]:
        dynamic, ones = tf.shape(inputs), [1] * self.rank
        if self.data_format == "channels_first":
            return [dynamic[0], dynamic[1], *ones]
        return [dynamic[0], *ones, dynamic[self.rank + 1]]

    def get_config(self) -> dict[str, Any]:
        config = Layer.get_config(self) | {"rate": self.rate}
        return config | ({"data_format": self.data_format} if self.rank > 1 else {})


@register()
class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of sequences."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


@register()
class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of images."""

    rank = 2


@register()
class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of volumes."""

    rank = 3


@register()
class Flatten(Layer):
    """Joins all dimensions but the first into one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format, self.input_spec = data_format_of(data_format), InputSpec(min_ndim=1)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = tf.transpose(inputs, [0, *range(2, rank), 1])
        if rank == 1:
            return tf.expand_dims(inputs, 1)
        return arrays.batch_flatten(inputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        return tf.TensorShape([sizes[0], None if None in sizes[1:] else int(np.prod(sizes[1:]))])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


@register()
class Reshape(Layer):
    """Gives each element of the batch another shape, in which one dimension may be -1."""

    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        y = tf.reshape(inputs, tf.stack([tf.shape(inputs)[0], *self.target_shape]))
        y.set_shape(self.compute_output_shape(inputs.shape))
        return y

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes: list[Any] = tf.TensorShape(input_shape).as_list()
        target: list[Any] = list(self.target_shape)
        if -1 in target:
            known = int(np.prod([n for n in target if n != -1]))
            total = None if None in sizes[1:] else int(np.prod(sizes[1:]))
            target[target.index(-1)] = None if total is None else total // known
        elif None not in sizes[1:] and int(np.prod(sizes[1:])) != int(np.prod(target)):
            raise InvalidArgumentError(f"total size of new array must be unchanged: {sizes[1:]} to {target}")
        return tf.TensorShape([sizes[0], *target])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "target_shape": self.target_shape}


@register()
class Permute(Layer):
    """Puts the dimensions after the batch in another order; `dims` begins with 1."""

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise InvalidArgumentError(f"Invalid permutation `dims` for Permute Layer: {dims}")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return tf.transpose(inputs, (0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "dims": self.dims}


@register()
class RepeatVector(Layer):
    """Repeats vectors [batch, width] as [batch, n, width]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n, self.input_spec = n, InputSpec(ndim=2)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return arrays.repeat(inputs, self.n)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "n": self.n}


@register()
class ActivityRegularization(Layer):
    """Adds a penalty on its inputs to the loss."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.l1, self.l2 = True, l1, l2
        self._activity_regularizer = regularizers.L1L2(l1, l2)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}


@register()
class Masking(Layer):
    """Masks the time steps whose elements all equal `mask_value`, and sets them to 0."""

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.mask_value = True, mask_value

    def compute_mask(self, inputs: TensorOrVariable, mask: Masks | None = None) -> Tensor:
        return tf.reduce_any(tf.not_equal(inputs, self.mask_value), -1)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        present = tf.reduce_any(tf.not_equal(inputs, self.mask_value), -1, True)
        return inputs * tf.cast(present, inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mask_value": self.mask_value}


@register()
class Lambda(Layer):
    """Applies a function. Its code stands in the configuration only by name; see `from_config`."""

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: object = None,
        mask: Any = None,
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, dict(arguments or {})
        self._mask = mask
        del output_shape  # TensorFlow finds the shape by calling the function, and so does tfnb
        self.supports_masking = mask is not None

    def call(self, inputs: Any, mask: Masks | None = None, training: TrainingFlag | None = None) -> Any:  # type: ignore[override]
        arguments = dict(self.arguments)
        if has_arg(self.function, "mask"):
            arguments["mask"] = mask
        if has_arg(self.function, "training"):
            arguments["training"] = training
        return self.function(inputs, **arguments)

    def compute_mask(self, inputs: Any, mask: Masks | None = None) -> Any:
        return self._mask(inputs, mask) if callable(self._mask) else self._mask

    def get_config(self) -> dict[str, Any]:
        own = {"function": self.function, "output_shape": None, "arguments": self.arguments}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the layer of a configuration; a function from a file is looked up by its name.

        Raises `InvalidArgumentError` for a name that is not among the custom objects. Code in a file is not run.
        """
        config = dict(config)
        function = config.pop("function")
        if isinstance(function, list) or function == "<lambda>":
            raise InvalidArgumentError(
                "the file holds a Lambda layer of a function without a name, whose code tfnb does not run; give the "
                "layer a named function, and that name in custom_objects"
            )
        if isinstance(function, str):
            function = deserialize_keras_object(function, {}, custom_objects, "function in Lambda layer")
        for name in ("function_type", "module", "output_shape", "output_shape_type", "output_shape_module"):
            config.pop(name, None)
        return cls(function, **config)
