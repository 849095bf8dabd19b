"""`SyncReplicasOptimizer`: the gradients of several workers are averaged for one step (OSDI'16, sections 4.4 and 6.3).

Each worker adds its gradients to an accumulator next to each variable and waits for a token. A thread of the chief
takes the first `replicas_to_aggregate` gradients, applies their mean and enqueues the tokens of the next step. Any
further workers are backups. Invariant: a gradient of an earlier step is never applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.sync.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from tfnb.client.sync.queues import FIFOQueue
from tfnb.client.variables.variable import (
    Variable,
    global_variables,
    group,
    report_uninitialized_variables,
)
from tfnb.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ops.array.constants import FILL
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.session.session import Session
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.input.queue_runner import QueueRunner
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.moving_averages import ExponentialMovingAverage
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.types import int32

__all__ = ["API", "SyncReplicasOptimizer"]


class SyncReplicasOptimizer(Optimizer):
    """An optimizer that applies the mean of the gradients of `replicas_to_aggregate` workers with `opt`.

    total_num_replicas: the number of workers, by default `replicas_to_aggregate`; the others are backups, and gradients
    that arrive late are dropped. variable_averages: an `ExponentialMovingAverage` of `variables_to_average`. The hook
    `make_session_run_hook(is_chief)` must be among the hooks of the training.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Sequence[Variable] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        if not isinstance(opt, Optimizer):
            raise DTypeError(f"SyncReplicasOptimizer wraps an optimizer, got {type(opt).__name__}")
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise InvalidArgumentError(f"needed at least one replica, got {replicas_to_aggregate} of {total}")
        self._opt = opt
        self._needed, self._total = replicas_to_aggregate, total
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._averages, self._averaged = variable_averages, variables_to_average
        self._is_applied = False

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Returns the gradients that the wrapped optimizer computes; the arguments are passed on."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that submits the gradients of this worker and waits until the step is done.

        global_step: the counter of the steps of all workers, which must be given. Raises `InvalidArgumentError` without
        it or without gradients.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not isinstance(global_step, Variable):
            raise InvalidArgumentError("synchronous replicas need a global_step, which tells old gradients from new")
        if not pairs:
            raise InvalidArgumentError("No gradients provided for any variable: apply_gradients got none")
        graph = global_step.graph
        with graph.as_default():
            self._local_step = self._make_local_step(global_step)
        with graph.as_default(), graph.name_scope(name or self._name):
            apply_ops, averaged_pairs, set_steps = self._accumulate(pairs, global_step)
            # A device, not a colocation group: each variable is updated on its own device.
            with graph.device(global_step.device):
                update = self._opt.apply_gradients(averaged_pairs, global_step)
                self._global_step = global_step
                self._tokens = FIFOQueue(-1, global_step.dtype, [()], name="sync_token_q", shared_name="sync_token_q")
                with graph.control_dependencies(apply_ops):
                    token = self._tokens.dequeue()
                sync = self._hand_out_tokens(self._averaging(update))
                dummy = FIFOQueue(1, int32, [()], name="dummy_queue", shared_name="dummy_queue")
            self._runner = QueueRunner(dummy, [sync])
            train = self._local_step.assign(token).op
            self.local_step_init_op = self._local_step.assign(global_step.value()).op
            self.chief_init_op = group(self.local_step_init_op, *set_steps)
            self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        self._is_applied = True
        return train

    def _make_local_step(self, global_step: Variable) -> Variable:
        """Returns a variable on this worker with the global step for which its next gradients are computed."""
        anchor = NO_OP(name="local_anchor", graph=get_default_graph())
        with get_default_graph().colocate_with(anchor):
            return Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype,
                name="sync_rep_local_step",
            )

    def _accumulate(
        self, pairs: Sequence[tuple[Any, Any]], global_step: Variable
    ) -> tuple[list[Operation], list[tuple[Any, Any]], list[Operation]]:
        """Creates the accumulators of the gradients and the operations on them.

        Returns those that submit the gradients of this worker, the pairs of mean gradient and variable, and the
        operations that set the global step of the accumulators.
        """
        apply_ops, averaged_pairs, set_steps = [], [], []
        local = self._local_step.value()
        for grad, v in pairs:
            name = f"{v.op.name}/grad_accum"
            with v.graph.colocate_with(v.op):
                acc: Any
                if isinstance(grad, IndexedSlices):
                    acc = SparseConditionalAccumulator(v.dtype, v.shape, shared_name=name)
                    apply_ops.append(acc.apply_indexed_slices_grad(grad, local_step=local))
                    averaged_pairs.append((acc.take_indexed_slices_grad(self._needed), v))
                else:
                    acc = ConditionalAccumulator(v.dtype, v.shape, shared_name=name)
                    apply_ops.append(acc.apply_grad(grad, local_step=local))
                    averaged_pairs.append((acc.take_grad(self._needed), v))
                set_steps.append(acc.set_global_step(global_step.value(), name="SetGlobalStep"))
        return apply_ops, averaged_pairs, set_steps

    def _averaging(self, update: Operation) -> Operation:
        if self._averages is None:
            return update
        with get_default_graph().control_dependencies([update]):
            average_op: Operation = self._averages.apply(self._averaged)
            return average_op

    def _hand_out_tokens(self, update: Operation) -> Operation:
        """Returns an operation that runs after the update and enqueues a token for each worker: the step for which the
        next gradients are computed.
        """
        with get_default_graph().control_dependencies([update]):
            step = self._global_step.read_value()
            enqueue_op: Operation = self._tokens.enqueue_many([FILL([self._tokens_per_step], step)])
            return enqueue_op

    # ---- operations of the chief -----------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """Returns the queue runner of the chief, which repeatedly applies the mean gradients and enqueues tokens.

        Raises `FailedPreconditionError` before `apply_gradients` was called.
        """
        self._check_applied("get_chief_queue_runner")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Returns an operation that enqueues tokens for the first step, if there are fewer workers than gradients to
        aggregate.

        num_tokens: the number of tokens; -1 means `replicas_to_aggregate`. Raises `InvalidArgumentError` for too few.
        """
        self._check_applied("get_init_tokens_op")
        minimum = self._needed - self._total
        count = self._needed if num_tokens == -1 else num_tokens
        if count < minimum:
            raise InvalidArgumentError(f"too few tokens: {count}; without {minimum} the first step waits for ever")
        if count <= 0:
            init_op: Operation = NO_OP(name="no_init_tokens", graph=self._global_step.graph)
            return init_op
        graph = self._global_step.graph
        with graph.as_default(), graph.colocate_with(self._global_step.op):
            init_op = self._tokens.enqueue_many([FILL([count], self._global_step.value())])
            return init_op

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns the hook that the `MonitoredTrainingSession` of a worker needs.

        is_chief: True for the chief, whose hook also runs the synchronous steps; num_tokens: as in
        `get_init_tokens_op`.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)

    def _check_applied(self, what: str) -> None:
        if not self._is_applied:
            raise InvalidArgumentError(f"apply_gradient should be called before {what}")

    # ---- the wrapped optimizer -------------------------------------------------------------

    def get_slot(self, *args: Any, **kwargs: Any) -> Variable | None:
        """Returns a slot of the wrapped optimizer; the arguments are those of `Optimizer.get_slot`."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots of the wrapped optimizer."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Variable]:
        """Returns the slot variables of the wrapped optimizer."""
        return self._opt.variables()


class _SyncReplicasHook(SessionRunHook):
    """Prepares a worker for synchronous steps; on the chief it also runs them."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens

    def begin(self) -> None:
        opt = self._optimizer
        opt._check_applied("make_session_run_hook")
        self._init = opt.chief_init_op if self._is_chief else opt.local_step_init_op
        self._ready = opt.ready_for_local_init_op
        self._tokens = opt.get_init_tokens_op(self._num_tokens) if self._is_chief else None
        self._runner = opt.get_chief_queue_runner() if self._is_chief else None

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        uninitialized = session.run(self._ready)
        if len(uninitialized):
            raise FailedPreconditionError(f"these variables are not initialised: {[m.decode() for m in uninitialized]}")
        session.run(self._init)
        if self._tokens is not None:
            session.run(self._tokens)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)


API: dict[str, Any] = {"train.SyncReplicasOptimizer": SyncReplicasOptimizer}
