"""The functions that TensorFlow generates for gradients of its ops, which programs use to change how they propagate.

They take the inputs and attributes of a raw op by position: `gen_nn_ops.relu_grad(gradients, features)`, which releases
before 1.5 named with an underscore. Invariant: a function adds exactly one node, as that of `tf.raw_ops` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from tfnb.client.compat.raw_ops import raw_op
from tfnb.client.namespace import Lazy
from tfnb.errors import InvalidArgumentError

__all__ = ["API"]

_FUNCTIONS = {
    "nn": "relu_grad=ReluGrad relu6_grad=Relu6Grad elu_grad=EluGrad selu_grad=SeluGrad softplus_grad=SoftplusGrad "
    "softsign_grad=SoftsignGrad max_pool_grad=MaxPoolGrad avg_pool_grad=AvgPoolGrad lrn_grad=LRNGrad "
    "bias_add_grad=BiasAddGrad leaky_relu_grad=LeakyReluGrad",
    "math": "tanh_grad=TanhGrad sigmoid_grad=SigmoidGrad sqrt_grad=SqrtGrad rsqrt_grad=RsqrtGrad",
    "array": "mirror_pad_grad=MirrorPadGrad",
    "image": "resize_bilinear_grad=ResizeBilinearGrad resize_nearest_neighbor_grad=ResizeNearestNeighborGrad",
}


def _generated(op_name: str) -> Callable[..., Any]:
    """Returns the function of a raw op whose arguments may be given by position."""
    function = raw_op(op_name)
    names = list(inspect.signature(function).parameters)

    def generated(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise InvalidArgumentError(f"{op_name} takes at most {len(names)} arguments, got {len(args)}")
        return function(**dict(zip(names, args, strict=False)), **kwargs)

    generated.__name__, generated.__doc__ = op_name, function.__doc__
    return generated


def _names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module, functions in _FUNCTIONS.items():
        for pair in functions.split():
            name, _, op_name = pair.partition("=")
            value = Lazy(partial(_generated, op_name))
            found.update({f"python.ops.gen_{module}_ops.{form}": value for form in (name, f"_{name}")})
    return found


API: dict[str, Any] = _names()
