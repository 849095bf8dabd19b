"""`multi_gpu_model`: a model of which several devices compute parts of each batch, with the same weights.

Invariant: the outputs are those of the model, in the order of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.session.api import list_local_devices
from tfnb.v1.keras.engine.loading import clone_model
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layers.core import Lambda
from tfnb.v1.keras.layers.merge import Concatenate

__all__ = ["multi_gpu_model", "parallel_model"]


def _part(x: Tensor, number: int, count: int) -> Tensor:
    """Returns the rows of the part `number` of `count`; the last one has what is left over."""
    step = tf.shape(x)[0] // count
    return x[number * step :] if number == count - 1 else x[number * step : (number + 1) * step]


def parallel_model(model: Model, devices: Sequence[str], merging: str) -> Model:
    """Returns the model that computes a part of each batch on each of `devices` and joins the outputs on `merging`."""
    count = len(devices)
    results: list[list[Any]] = [[] for _ in model.outputs]
    for number, device in enumerate(devices):
        with tf.device(device):
            options = {"arguments": {"number": number, "count": count}}
            parts = [Lambda(_part, **options)(x) for x in model.inputs]
            outputs = model(parts[0] if len(parts) == 1 else parts)
        for result, output in zip(results, outputs if isinstance(outputs, list) else [outputs], strict=True):
            result.append(output)
    with tf.device(merging):
        merged = [Concatenate(axis=0, name=n)(r) for n, r in zip(model.output_names, results, strict=True)]
    return Model(model.inputs, merged if len(merged) > 1 else merged[0])


def multi_gpu_model(model: Model, gpus: Any, cpu_merge: bool = True, cpu_relocation: bool = False) -> Model:
    """Returns a model of which each of several GPUs computes a part of the batch.

    gpus: their number, at least 2, or a list of their numbers. cpu_merge: the outputs are joined on the processor.
    cpu_relocation: the weights become new ones on the processor. Raises `InvalidArgumentError` for fewer, or for GPUs
    that are not there.
    """
    numbers = list(gpus) if isinstance(gpus, (list, tuple)) else list(range(int(gpus)))
    if len(numbers) < 2:
        raise InvalidArgumentError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: `gpus={gpus}`"
        )
    there = [d.name for d in list_local_devices()]
    missing = [n for n in numbers if not any(name.lower().endswith(f"gpu:{n}") for name in there)]
    if missing:
        raise InvalidArgumentError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, the GPUs {missing} are needed; this machine has: {there}"
        )
    if cpu_relocation:
        with tf.device("/cpu:0"):
            model = clone_model(model)
    devices = [f"/gpu:{n}" for n in numbers]
    return parallel_model(model, devices, "/cpu:0" if cpu_merge else devices[0])
