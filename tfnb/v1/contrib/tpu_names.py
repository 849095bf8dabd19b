"""`CrossShardOptimizer` and `TPUClusterResolver`, which programs and libraries name whether there is a TPU or not.

Invariant: as in TensorFlow without a TPU, the optimizer computes gradients of one shard and cannot apply them, and the
resolver knows an address that is given to it, and no name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.sessions.cluster_spec import ClusterSpec

__all__ = ["CrossShardOptimizer", "TPUClusterResolver"]

_NO_TPU = "the program runs on OpenCL devices with use_tpu=False"


class CrossShardOptimizer(Optimizer):
    """The optimizer `opt` with gradients that are added over shards.

    reduction: "weighted_mean" or "weighted_sum", which are the same for one shard. name: of the update. Raises
    `InvalidArgumentError` for another reduction or what is no optimizer.
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = "weighted_mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        if reduction not in ("weighted_mean", "weighted_sum"):
            raise InvalidArgumentError(f"Unsupported reduction: {reduction}. needed weighted_mean or weighted_sum")
        if not isinstance(opt, Optimizer):
            raise InvalidArgumentError(f"CrossShardOptimizer only works with tf.train.Optimizer, got {opt!r}")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Returns the inner optimizer's gradients; `loss`, `args`, `kwargs`: as for it."""
        return self._opt.compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: object = None, name: str | None = None
    ) -> NoReturn:
        """Raises `UnimplementedError`: gradients are added over shards by a TPU.

        grads_and_vars, global_step, name: as for the optimizer.
        """
        raise UnimplementedError(
            "CrossShardOptimizer adds gradients by CrossReplicaSum, for which no device but a TPU has a kernel; apply "
            "them by the optimizer itself, which is right for one shard"
        )

    def get_slot(self, *args: Any, **kwargs: Any) -> Variable | None:
        """Returns a slot of the inner optimizer; `args`, `kwargs`: as for it."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the inner optimizer's slots; `args`, `kwargs`: as for it."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """Returns the inner optimizer's variables."""
        return self._opt.variables()


class TPUClusterResolver:
    """The address of a TPU that a program names; there is no service here that knows TPUs by their names.

    tpu: an address "grpc://HOST:PORT", or a list with one; "" for none. job_name: of its tasks. The others describe
    an account of the cloud. Raises `InvalidArgumentError` without a TPU, and `UnimplementedError` for a name.
    """

    def __init__(
        self,
        tpu: Any = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: object = "default",
        service: object = None,
        discovery_url: str | None = None,
    ) -> None:
        address = tpu[0] if isinstance(tpu, (list, tuple)) and tpu else tpu
        address = address.decode() if isinstance(address, bytes) else address
        if address is None:
            raise InvalidArgumentError("Please provide a TPU Name to connect to.")
        if address and not address.startswith("grpc://"):
            raise UnimplementedError(
                f"the address of the TPU {address!r} is known by Google's cloud ({zone}, {project}, {credentials}, "
                f"{service}, {discovery_url}); {_NO_TPU}"
            )
        self._address, self._job_name = address, job_name
        self._coordinator = (coordinator_name, coordinator_address)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the address. There is one task, whatever `task_type`, `task_id` and `rpc_layer` ask for."""
        return str(self._address)

    get_master = master

    def cluster_spec(self) -> ClusterSpec | None:
        """Returns the tasks by their jobs as a `tf.train.ClusterSpec`, or None without an address."""
        if not self._address:
            return None
        name, address = self._coordinator
        tasks: dict[str, Any] = {self._job_name: [self._address.removeprefix("grpc://")]}
        return ClusterSpec(tasks if name is None else {**tasks, name: [str(address)]})
