"""The Inception networks as text: a line for each stage, a stage with branches as "a b | c".

"64@1x1" is a convolution with 64 channels, "max3" and "avg3" are poolings; "/2" is a stride, "V" the padding "VALID",
"~0.09" the deviation of the initial weights, "=name" a name that is not the usual one, "a+b" two layers side by side.
Invariant: the names of variables are those of slim's checkpoints, "Mixed_5b/Branch_1/Conv2d_0b_5x5/weights".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfnb.client.variables.scope import variable_scope
from tfnb.errors import InternalError, InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.array.shape_ops import squeeze
from tfnb.v1.contrib.layers.standard_layers import avg_pool2d, conv2d, dropout, max_pool2d
from tfnb.v1.contrib.nets.scopes import normal

__all__ = ["Stage", "build", "finish", "reduced_kernel", "stages_of"]

_LAYER = re.compile(r"(?:(\d+)@(\d+)x(\d+)|(max|avg)(\d+))(/2)?(V)?(?:~([\d.]+))?(?:=(\w+))?")


class Stage(NamedTuple):
    """One line: its name, and the layers of its branches."""

    name: str
    branches: list[list[str]]


def stages_of(text: str) -> list[Stage]:
    """Returns the stages of a network from lines "name: layers | layers"."""
    stages = []
    for line in filter(None, map(str.strip, text.splitlines())):
        names, _, layers = line.partition(":")
        branches = [branch.split() for branch in layers.split("|")]
        stages += [Stage(name, branches) for name in names.split()]
    return stages


def build(
    net: Any,
    stages: Sequence[Stage],
    final_endpoint: str,
    depth: Callable[[int], int],
    end_points: dict[str, Any],
    special: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Tensor:
    """Adds stages to `net` until `final_endpoint`, notes each in `end_points`, and returns the last output.

    `special` has the functions of stages by their names. Raises `InvalidArgumentError` when there is no such end point.
    """
    for stage in stages:
        if stage.name in (special or {}):
            net = special[stage.name](net)  # type: ignore[index]
        elif stage.name.startswith("Mixed"):
            with variable_scope(stage.name):
                net = _branches(net, stage.branches, depth)
        else:
            net = _layer(net, f"{stage.branches[0][0]}={stage.name}", 0, depth)
        end_points[stage.name] = net
        if stage.name == final_endpoint:
            return net
    raise InvalidArgumentError(f"there is no end point {final_endpoint}; there are {[s.name for s in stages]}")


def _branches(net: Tensor, branches: list[list[str]], depth: Callable[[int], int]) -> Tensor:
    outputs = []
    for number, branch in enumerate(branches):
        with variable_scope(f"Branch_{number}"):
            out, place = net, 0
            for layer in branch:
                sides = [_layer(out, side, place + i, depth) for i, side in enumerate(layer.split("+"))]
                place += len(sides)
                out = sides[0] if len(sides) == 1 else concat(sides, 3)
            outputs.append(out)
    return concat(outputs, 3)


def _layer(net: Tensor, text: str, place: int, depth: Callable[[int], int]) -> Tensor:
    match = _LAYER.fullmatch(text)
    if match is None:
        raise InternalError(f"the layer {text!r} of a network does not read")
    channels, height, width, pooling, window, stride, valid, deviation, name = match.groups()
    options: dict[str, Any] = {"stride": 2 if stride else 1, **({"padding": "VALID"} if valid else {})}
    letter = "1a" if stride else "0" + "abcde"[place]
    if pooling:
        pool = {"max": max_pool2d, "avg": avg_pool2d}[pooling]
        usual = f"{pooling.capitalize()}Pool_{letter}_{window}x{window}"
        return pool(net, [int(window)] * 2, scope=name or usual, **options)
    if deviation:
        options["weights_initializer"] = normal(float(deviation))
    size = [int(height), int(width)]
    return conv2d(net, depth(int(channels)), size, scope=name or f"Conv2d_{letter}_{height}x{width}", **options)


def reduced_kernel(net: Tensor, size: Sequence[int]) -> list[int]:
    """Returns the size of a window over the whole image, at most `size`; `size` where the image's is not known."""
    height, width = net.shape.as_list()[1:3]
    return list(size) if height is None or width is None else [min(height, size[0]), min(width, size[1])]


def finish(
    net: Tensor,
    end_points: dict[str, Any],
    num_classes: int,
    keep_prob: float,
    names: tuple[str, str, str],
    spatial_squeeze: bool,
    prediction_fn: Callable[..., Any],
    size: Sequence[int],
) -> Tensor:
    """Adds pooling over the image, dropout, logits and predictions; `names` are the scopes of the first three."""
    pooling, dropping, last = names
    with variable_scope("Logits"):
        net = avg_pool2d(net, size, stride=1, padding="VALID", scope=pooling)
        net = dropout(net, keep_prob, scope=dropping)
        end_points["PreLogits"] = net
        logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=last)
        if spatial_squeeze:
            logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
    end_points["Logits"] = logits
    end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits
