"""Networks whose layers follow each other, written as text: AlexNet, the VGG networks and OverFeat.

Every layer of such a network is a convolution, a pooling or a dropout, also those called "fully connected". Invariant:
the end points go by the scopes of the layers, as "vgg_16/conv1/conv1_1".
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.scope import variable_scope
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import squeeze
from tfnb.v1.contrib.framework.arg_scope import Defaults, arg_scope
from tfnb.v1.contrib.layers.named_outputs import convert_collection_to_dict
from tfnb.v1.contrib.layers.stacks import repeat
from tfnb.v1.contrib.layers.standard_layers import conv2d, dropout, max_pool2d
from tfnb.v1.contrib.nets.scopes import normal, plain_scope

__all__ = ["straight"]


def straight(name: str, layers: str, doc: str, final: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Returns the function of a network.

    layers: "scope:channels@kernel" for a convolution, with "x3" behind it for three in a row, "/4" for a stride, "V"
    for the padding "VALID"; "pool:kernel" for a pooling. final: defaults of convolutions from fc6 on.
    """
    before, _, after = layers.partition("|")
    last = {"biases_initializer": Zeros()} if final else {}

    def network(
        inputs: TensorLike,
        num_classes: int = 1000,
        is_training: bool | Tensor = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, OrderedDict[str, Any]]:
        with variable_scope(scope, name, [inputs]) as opened:
            end_points = opened.original_name_scope + "_end_points"
            with arg_scope([conv2d, max_pool2d], outputs_collections=end_points):
                net = _run(inputs, before)
                with arg_scope([conv2d], **(final or {})):
                    for i, layer in enumerate(after.split()):
                        net = _run(net, layer)
                        net = dropout(net, dropout_keep_prob, is_training=is_training, scope=f"dropout{6 + i}")
                    net = conv2d(
                        net,
                        num_classes,
                        [1, 1],
                        activation_fn=None,
                        normalizer_fn=None,
                        scope="fc8",
                        **last,
                    )
            points = convert_collection_to_dict(end_points)
            if spatial_squeeze:
                net = squeeze(net, [1, 2], name="fc8/squeezed")
                points[opened.name + "/fc8"] = net
            return net, points

    network.__name__ = network.__qualname__ = name
    network.__doc__ = doc
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


def _run(net: Any, layers: str) -> Tensor:
    for layer in layers.split():
        scope, what = layer.split(":")
        if scope.startswith("pool"):
            net = max_pool2d(net, [int(what)] * 2, 2, scope=scope)
            continue
        channels, kernel, times, stride, valid = _PATTERN.fullmatch(what).groups()  # type: ignore[union-attr]
        options = {"stride": int(stride or 1), **({"padding": "VALID"} if valid else {})}
        size = [int(kernel)] * 2
        if times:
            net = repeat(net, int(times), conv2d, int(channels), size, scope=scope, **options)
        else:
            net = conv2d(net, int(channels), size, scope=scope, **options)
    return net


_PATTERN = re.compile(r"(\d+)@(\d+)(?:x(\d+))?(?:/(\d+))?(V)?")
_RESULT = """

    inputs: images (batch, height, width, channels), 224 x 224 by default. Returns the logits, (batch, num_classes) or
    with `spatial_squeeze=False` (batch, height, width, num_classes), and the end points by name."""
_SMALL_WEIGHTS = {"weights_initializer": normal(0.005), "biases_initializer": Constant(0.1)}


def _vgg(name: str, *counts: int) -> Callable[..., Any]:
    blocks = zip(counts, (64, 128, 256, 512, 512), strict=True)
    layers = " ".join(f"conv{i}:{n}@3x{count} pool{i}:2" for i, (count, n) in enumerate(blocks, 1))
    layer_count = sum(counts) + 3
    text = f"The network of Simonyan and Zisserman (2014) with {layer_count} layers.{_RESULT}"
    return straight(name, f"{layers} | fc6:4096@7V fc7:4096@1", text)


vgg_a = _vgg("vgg_a", 1, 1, 2, 2, 2)
vgg_16 = _vgg("vgg_16", 2, 2, 3, 3, 3)
vgg_19 = _vgg("vgg_19", 2, 2, 4, 4, 4)
alexnet_v2 = straight(
    "alexnet_v2",
    "conv1:64@11/4V pool1:3 conv2:192@5 pool2:3 conv3:384@3 conv4:384@3 conv5:256@3 pool5:3 | fc6:4096@5V fc7:4096@1",
    f"The network of Krizhevsky (2014), for one device.{_RESULT}",
    _SMALL_WEIGHTS,
)
overfeat = straight(
    "overfeat",
    "conv1:64@11/4V pool1:2 conv2:256@5V pool2:2 conv3:512@3 conv4:1024@3 conv5:1024@3 pool5:2"
    " | fc6:3072@6V fc7:4096@1",
    f"The network OverFeat of Sermanet et al. (2013), for images of 231 x 231.{_RESULT}",
    _SMALL_WEIGHTS,
)
overfeat.default_image_size = 231  # type: ignore[attr-defined]


def vgg_arg_scope(weight_decay: float = 0.0005) -> Defaults:
    """Returns the defaults of the layers of the VGG networks, for `arg_scope`."""
    return plain_scope(weight_decay, 0.0)


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Defaults:
    """Returns the defaults of the layers of AlexNet, for `arg_scope`."""
    return plain_scope(weight_decay, 0.1, ([max_pool2d], {"padding": "VALID"}))


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Defaults:
    """Returns the defaults of the layers of OverFeat, for `arg_scope`."""
    return plain_scope(weight_decay, 0.0, ([max_pool2d], {"padding": "VALID"}))
