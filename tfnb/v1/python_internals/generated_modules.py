"""The functions that TensorFlow generates for gradients of its ops, which programs use to change how they propagate,
and public ones that it generates.

They take the inputs and attributes of a raw op by position: `gen_nn_ops.relu_grad(gradients, features)`, which releases
before 1.5 named with an underscore. Invariant: a function adds exactly one node, as that of `tf.raw_ops` does.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tfnb.client.graph.raw_ops import raw_op
from tfnb.client.namespace import Lazy
from tfnb.errors import InvalidArgumentError
from tfnb.ops import CATALOG
from tfnb.v1.python_internals import resource_ops

__all__ = ["API"]

_FUNCTIONS = {
    "nn": "relu_grad=ReluGrad relu6_grad=Relu6Grad elu_grad=EluGrad selu_grad=SeluGrad softplus_grad=SoftplusGrad "
    "softsign_grad=SoftsignGrad max_pool_grad=MaxPoolGrad avg_pool_grad=AvgPoolGrad lrn_grad=LRNGrad "
    "bias_add_grad=BiasAddGrad leaky_relu_grad=LeakyReluGrad conv3d_backprop_filter_v2=Conv3DBackpropFilterV2 "
    "conv3d_backprop_input_v2=Conv3DBackpropInputV2 conv2d_backprop_filter=Conv2DBackpropFilter "
    "conv2d_backprop_input=Conv2DBackpropInput",
    "math": "tanh_grad=TanhGrad sigmoid_grad=SigmoidGrad sqrt_grad=SqrtGrad rsqrt_grad=RsqrtGrad",
    "array": "mirror_pad_grad=MirrorPadGrad",
    "audio": "audio_spectrogram=AudioSpectrogram mfcc=Mfcc decode_wav=DecodeWav encode_wav=EncodeWav",
    "clustering": "nearest_neighbors=NearestNeighbors",
    "image": "resize_bilinear_grad=ResizeBilinearGrad resize_nearest_neighbor_grad=ResizeNearestNeighborGrad",
}

_PUBLIC = {
    "nn.quantized_avg_pool": "QuantizedAvgPool",
    "nn.quantized_max_pool": "QuantizedMaxPool",
    "nn.quantized_relu_x": "QuantizedReluX",
}
_UPDATE_MODULES = ("training_ops", "gen_training_ops")
# The updates of optimizers, whose functions are called apply_adam and resource_apply_adam.
_UPDATES = (
    "Adadelta Adagrad AdagradDA Adam AddSign CenteredRMSProp Ftrl FtrlV2 GradientDescent Momentum PowerSign "
    "ProximalAdagrad ProximalGradientDescent RMSProp"
).split()


def _generated(op_name: str) -> Callable[..., Any]:
    """Returns the function of a raw op whose arguments may be given by position."""
    function = raw_op(op_name) if op_name in CATALOG else resource_ops.API[f"raw_ops.{op_name}"].load()
    names = list(inspect.signature(function).parameters)

    def generated(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise InvalidArgumentError(f"{op_name} takes at most {len(names)} arguments, got {len(args)}")
        return function(**dict(zip(names, args, strict=False)), **kwargs)

    generated.__name__, generated.__doc__ = op_name, function.__doc__
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [p.replace(kind=kind) for p in inspect.signature(function).parameters.values()]
    generated.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return generated


def _names() -> dict[str, Any]:
    found: dict[str, Any] = {name: Lazy(partial(_generated, op_name)) for name, op_name in _PUBLIC.items()}
    for module, functions in _FUNCTIONS.items():
        for pair in functions.split():
            name, _, op_name = pair.partition("=")
            value = Lazy(partial(_generated, op_name))
            found.update({f"python.ops.gen_{module}_ops.{form}": value for form in (name, f"_{name}")})
            if module == "audio":
                found[f"contrib.framework.python.ops.audio_ops.{name}"] = value
    for update in _UPDATES:
        for prefix in ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"):
            if f"{prefix}{update}" in CATALOG or f"raw_ops.{prefix}{update}" in resource_ops.API:
                words = _snake_case(f"{prefix}{update}")
                value = Lazy(partial(_generated, f"{prefix}{update}"))
                found.update({f"python.training.{module}.{words}": value for module in _UPDATE_MODULES})
    return found


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("RMSProp", "RmsProp")).lower()


API: dict[str, Any] = _names()
