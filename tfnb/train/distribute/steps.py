"""The steps and the monitor of `tf.contrib.distribute`: one training step of a strategy as an object.

Invariant: a step is called once while the graph is built, and its operation runs as often as is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Runner

if TYPE_CHECKING:
    from tfnb.train.distribute.strategies import Strategy
    from tfnb.train.optimizers.base import Optimizer

__all__ = ["DistributeConfig", "Monitor", "StandardInputStep", "StandardSingleLossStep", "Step", "UpdateContext"]


class _Strategies(NamedTuple):
    train_distribute: Any
    eval_distribute: Any
    remote_cluster: Any


class DistributeConfig(_Strategies):
    """The strategies of training and evaluation. `remote_cluster` is refused, since estimators run in one process."""

    __slots__ = ()

    def __new__(
        cls,
        train_distribute: Strategy | None = None,
        eval_distribute: Strategy | None = None,
        remote_cluster: object = None,
    ) -> DistributeConfig:
        refuse_given("DistributeConfig", "estimators run in one process", remote_cluster=remote_cluster)
        return super().__new__(cls, train_distribute, eval_distribute, remote_cluster)


class UpdateContext:
    """Where a function of `extended.update` builds. device: the device of the variable."""

    def __init__(self, device: str) -> None:
        self.device = device


class Step:
    """The base of steps of a strategy: calling one returns its operation. Subclasses define `__call__`."""

    def __init__(self, distribution: Strategy) -> None:
        self._distribution = distribution

    @property
    def distribution(self) -> Any:
        """The strategy."""
        return self._distribution

    def initialize(self) -> list[Any]:
        """Returns the operations that run once before the first step."""
        return []

    def __call__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define its step")


class StandardInputStep(Step):
    """A step with data. dataset_fn: a function that returns a data set of batches."""

    def __init__(self, dataset_fn: Callable[[], Any], distribution: Strategy) -> None:
        super().__init__(distribution)
        with distribution.scope():
            self._iterator = distribution.make_input_fn_iterator(lambda _: dataset_fn())

    def initialize(self) -> list[Any]:
        """Returns the operations that begin the data."""
        return self._iterator.initialize()


class StandardSingleLossStep(StandardInputStep):
    """A training step: the gradients of `loss_fn` in all replicas are added and applied.

    loss_fn(context, inputs): returns the loss of a replica; context.is_last_step says whether the call's last step is
    built. optimizer: of `tf.train`. iterations_per_step: how many steps a call makes, one after another. Raises
    `InvalidArgumentError` when that is not positive.
    """

    def __init__(
        self,
        dataset_fn: Callable[[], Any],
        loss_fn: Callable[..., Any],
        optimizer: Optimizer,
        distribution: Strategy,
        iterations_per_step: int = 1,
    ) -> None:
        super().__init__(dataset_fn, distribution)
        if iterations_per_step < 1:
            raise InvalidArgumentError(f"iterations_per_step must be at least 1, got {iterations_per_step}")
        self._loss_fn, self._optimizer, self._count = loss_fn, optimizer, iterations_per_step

    def __call__(self) -> Any:
        """Returns the operation of the steps."""
        done: list[Any] = []
        for number in range(self._count):
            with get_default_graph().control_dependencies(done):
                done = [self._one(_StepContext(number == self._count - 1))]
        return done[0]

    def _one(self, context: _StepContext) -> Any:
        with self.distribution.scope():
            inputs = self._iterator.get_next()

            def step(*parts: object) -> Any:
                return self._optimizer.minimize(self._loss_fn(context, parts[0]))

            return self.distribution.group(self.distribution.extended.call_for_each_replica(step, (inputs,)))


class _StepContext(NamedTuple):
    """What a loss function knows of the step that is built."""

    is_last_step: bool


class Monitor:
    """Runs a step in a session. step_callable: a `Step`. session: by default one is opened by the caller.

    Raises `InvalidArgumentError` without a session, since operations run in sessions.
    """

    def __init__(self, step_callable: Step, session: Runner | None = None) -> None:
        if session is None:
            raise InvalidArgumentError("Should provide a `session` to Monitor; operations run in sessions.")
        self._operation, self._session = step_callable(), session
        session.run(step_callable.initialize())

    def run_steps(self, num_steps: int | None = None) -> None:
        """Runs `num_steps` steps, by default one."""
        for _ in range(1 if num_steps is None else num_steps):
            self._session.run(self._operation)
