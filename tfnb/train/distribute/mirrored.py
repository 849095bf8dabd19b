"""The strategies of one machine: MirroredStrategy, OneDeviceStrategy, CentralStorageStrategy, and contrib's forms.

Invariant: they differ in their devices, in where variables are, and in how data sets are divided, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.session.api import list_local_devices
from tfnb.train.distribute.reduction import CrossDeviceOps
from tfnb.train.distribute.strategies import Strategy, StrategyExtended, devices_of

__all__ = ["CentralStorageStrategy", "ContribMirroredStrategy", "MirroredStrategy", "OneDeviceStrategy"]


def _all_devices() -> list[str]:
    """Returns the names of all GPUs, or of the processor where there is none."""
    names = [d.name for d in list_local_devices()]
    gpus = [name for name in names if "gpu:" in name.lower()]
    return gpus or names[:1]


def _chosen(devices: str | Iterable[str] | None, num_gpus: int | None) -> tuple[str, ...]:
    if devices is not None and num_gpus is not None:
        raise InvalidArgumentError("Must only specify one of `devices` and `num_gpus`.")
    if num_gpus is not None:
        return devices_of([f"/gpu:{i}" for i in range(num_gpus)] or ["/cpu:0"], ())
    return devices_of(devices, () if devices is not None else _all_devices())


class OneDeviceStrategy(Strategy):
    """A strategy of one replica, whose variables and operations are on `device`."""

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(self, (device,)))


class MirroredStrategy(Strategy):
    """A strategy of a replica on each of `devices`, by default all GPUs, or the processor.

    cross_device_ops: how gradients become one, a `tf.distribute.CrossDeviceOps`. A batch of a data set is divided among
    the replicas, and the gradients of their losses are added. Raises `InvalidArgumentError` for a device that is given
    twice, or no device.
    """

    def __init__(
        self, devices: str | Iterable[str] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        super().__init__(StrategyExtended(self, _chosen(devices, None), cross_device_ops))


class CentralStorageStrategy(Strategy):
    """A strategy of a replica on each of `compute_devices`, with the variables on `parameter_device`.

    By default these are all GPUs, and the processor. Raises `InvalidArgumentError` as `MirroredStrategy` does.
    """

    def __init__(self, compute_devices: str | Iterable[str] | None = None, parameter_device: str | None = None) -> None:
        devices = _chosen(compute_devices, None)
        super().__init__(StrategyExtended(self, devices, None, parameter_device or "/cpu:0"))


class ContribMirroredStrategy(Strategy):
    """`tf.contrib.distribute.MirroredStrategy`: a batch of a data set goes to one replica, the next to the next.

    num_gpus, num_gpus_per_worker: the number of GPUs instead of `devices`. cross_tower_ops: `cross_device_ops`.
    auto_shard_dataset: is for several workers, and refused. Raises `InvalidArgumentError` as `MirroredStrategy` does.
    """

    divides_batches = False

    def __init__(
        self,
        devices: Sequence[str] | str | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:
        refuse_given("MirroredStrategy", "there is one worker", auto_shard_dataset=auto_shard_dataset)
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        super().__init__(StrategyExtended(self, _chosen(devices, count), cross_device_ops or cross_tower_ops))
