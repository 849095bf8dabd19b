"""The weights, losses, updates and metrics of a layer, and those of the layers inside it.

Invariant: `trainable_weights` are the weights that optimizers change; those of a layer that is not trainable are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.keras import constraints, initializers, regularizers
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend.settings import floatx
from tfnb.v1.keras.backend.values import batch_get_value, batch_set_value, count_params
from tfnb.v1.keras.graph_api import tf

__all__ = ["WeightsOfLayer"]


class WeightsOfLayer:
    """The weights of a layer, with what belongs to training them."""

    _trainable: bool
    name: Any
    dtype: Any
    stateful: bool
    _trainable_weights: list[Variable]
    _non_trainable_weights: list[Variable]
    _tracked: list[Any]
    _losses: list[Any]
    _updates: list[Any]
    _metrics: list[Any]
    _regularizer_losses: dict[Any, Any]

    def _start_weights(self) -> None:
        state = self.__dict__
        state.update(_trainable_weights=[], _non_trainable_weights=[], _tracked=[])
        state.update(_losses=[], _updates=[], _metrics=[], _regularizer_losses={})

    def __setattr__(self, name: str, value: object) -> None:
        """Sets an attribute; layers and variables in it, also in lists and dictionaries, are remembered."""
        if "_tracked" in self.__dict__ and not name.startswith("_"):
            self._remember(value)
        object.__setattr__(self, name, value)

    def _remember(self, value: object) -> None:
        if isinstance(value, (WeightsOfLayer, list, tuple, Mapping)) and not any(value is v for v in self._tracked):
            self._tracked.append(value)
        for variable in _parts(value, Variable):
            mine = (*self._trainable_weights, *self._non_trainable_weights)
            if not any(variable is weight for weight in mine):
                (self._trainable_weights if variable.trainable else self._non_trainable_weights).append(variable)

    def _remember_again(self) -> None:
        """Remembers the variables that a list or a dictionary has got since it became an attribute."""
        for value in self._tracked:
            if not isinstance(value, WeightsOfLayer):
                self._remember(value)

    @property
    def _layers(self) -> list[Any]:
        """The layers inside this one. Those of a list or a dictionary are the ones that it holds now."""
        return _once([layer for value in self._tracked for layer in _parts(value, WeightsOfLayer)])

    @_layers.setter
    def _layers(self, layers: list[Any]) -> None:
        self._tracked = list(layers)

    def add_weight(
        self,
        name: str | None = None,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Identifier | None = None,
        partitioner: object = None,
        use_resource: bool | None = None,
        synchronization: object = None,
        aggregation: object = None,
        **kwargs: Any,
    ) -> Variable:
        """Returns a new weight, a variable of the given shape.

        initializer: by default Glorot's uniform one for floats, zeros for other dtypes. Raises `InvalidArgumentError`
        for an option that tfnb does not have.
        """
        if kwargs or partitioner is not None:
            raise InvalidArgumentError(f"add_weight: unknown options {sorted(kwargs) or ['partitioner']}")
        del use_resource, synchronization, aggregation  # every variable is updated in place
        kind = tf.as_dtype(dtype or self.dtype or floatx())
        initializer = initializers.get(initializer)
        if initializer is None:
            initializer = initializers.get("glorot_uniform" if kind.is_floating else "zeros")
        sizes = [int(n) for n in _sizes(shape)]
        trainable = True if trainable is None else bool(trainable)
        variable = tf.Variable(
            lambda: initializer(sizes, dtype=kind),
            trainable=trainable,
            name=name or "Variable",
            dtype=kind,
            constraint=constraints.get(constraint),
        )
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._losses.append((_penalty(name or "Variable", variable, regularizer), False))
        return variable

    add_variable = add_weight

    # weights

    @property
    def trainable(self) -> bool:
        """Whether optimizers change the weights; setting it sets those of the layers inside, too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for layer in self._layers:
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that optimizers change."""
        if not self.trainable:
            return []
        self._remember_again()
        return _once([*self._trainable_weights, *(w for layer in self._layers for w in layer.trainable_weights)])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that optimizers do not change."""
        self._remember_again()
        nested = [w for layer in self._layers for w in layer.non_trainable_weights]
        if self.trainable:
            return _once([*self._non_trainable_weights, *nested])
        inner = [w for layer in self._layers for w in layer.weights]
        return _once([*self._trainable_weights, *self._non_trainable_weights, *inner])

    @property
    def weights(self) -> list[Any]:
        """All weights, the trainable ones first."""
        return _once([*self.trainable_weights, *self.non_trainable_weights])

    @property
    def trainable_variables(self) -> list[Any]:
        """The weights that optimizers change."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The weights that optimizers do not change."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All weights."""
        return self.weights

    def get_weights(self) -> list[np.ndarray]:
        """Returns the values of the weights, in their order."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the values of the weights. Raises `InvalidArgumentError` when numbers or shapes do not match."""
        mine = self.weights
        if len(mine) != len(weights):
            raise InvalidArgumentError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of length '
                f"{len(weights)}, but the layer was expecting {len(mine)} weights."
            )
        for variable, value in zip(mine, weights, strict=True):
            if tuple(variable.shape.as_list()) != np.shape(value):
                raise InvalidArgumentError(
                    f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with provided weight shape "
                    f"{np.shape(value)}"
                )
        batch_set_value(zip(mine, weights, strict=True))

    def count_params(self) -> int:
        """Returns the number of elements of all weights. Raises `InvalidArgumentError` before they exist."""
        if not getattr(self, "built", True):
            raise InvalidArgumentError(f"You tried to call `count_params` on {self.name}, but the layer isn't built.")
        return sum(count_params(w) for w in self.weights)

    # losses, updates and metrics

    def add_loss(self, losses: object, inputs: object = None) -> None:
        """Adds a scalar tensor, or a function that returns one, to the loss of the models with this layer.

        inputs: anything but None when the loss depends on the inputs of the layer, which is seen by itself otherwise.
        """
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            self._losses.append((loss, inputs is not None or not callable(loss)))

    def add_update(self, updates: object, inputs: object = None) -> None:
        """Adds operations that run with each training step of the models with this layer."""
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            self._updates.append((update, inputs is not None))

    def add_metric(self, value: Tensor, aggregation: str | None = None, name: str | None = None) -> None:
        """Adds a scalar tensor, averaged over an epoch with the aggregation "mean", to the metrics of the models."""
        if aggregation not in (None, "mean"):
            raise InvalidArgumentError(f"add_metric: the aggregation {aggregation!r}; needed None or mean")
        self._metrics.append((name or value.op.name, value, aggregation))

    def _collected_losses(self) -> Iterable[tuple[Any, bool]]:
        for i, (loss, conditional) in enumerate(self._losses):
            if callable(loss):
                if i not in self._regularizer_losses:
                    self._regularizer_losses[i] = loss()
                loss = self._regularizer_losses[i]
            yield loss, conditional
        for layer in self._layers:
            yield from layer._collected_losses()

    def _collected_updates(self) -> Iterable[tuple[Any, bool]]:
        if not self.trainable and not self.stateful:
            return
        yield from self._updates
        for layer in self._layers:
            yield from layer._collected_updates()

    def _collected_metrics(self) -> Iterable[tuple[str, Any, str | None]]:
        yield from self._metrics
        for layer in self._layers:
            yield from layer._collected_metrics()

    @property
    def losses(self) -> list[Any]:
        """The penalties of weights and outputs, scalar tensors."""
        return _once([loss for loss, _ in self._collected_losses()])

    @property
    def updates(self) -> list[Any]:
        """The operations that run with each training step."""
        return _once([update for update, _ in self._collected_updates()])

    def get_losses_for(self, inputs: object) -> list[Any]:
        """Returns the penalties that depend on inputs, or for None those that do not."""
        return _once([loss for loss, conditional in self._collected_losses() if conditional == (inputs is not None)])

    def get_updates_for(self, inputs: object) -> list[Any]:
        """Returns the updates that depend on inputs, or for None those that do not."""
        return _once([u for u, conditional in self._collected_updates() if conditional == (inputs is not None)])


def _penalty(name: str, variable: Variable, regularizer: Callable[[Any], Any]) -> Callable[[], Any]:
    def penalty() -> Any:
        with get_default_graph().name_scope(f"{name}/Regularizer"):
            return regularizer(variable)

    return penalty


def _sizes(shape: ShapeLike) -> Sequence[Any]:
    if shape is None:
        return ()
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return shape.as_list() if hasattr(shape, "as_list") else tuple(shape)


def _parts(value: object, kind: type) -> Iterable[Any]:
    """Returns what of a kind a value is or holds, in lists and dictionaries of any depth."""
    if isinstance(value, kind):
        return (value,)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return (part for v in inner for part in _parts(v, kind))


def _once(values: Iterable[Any]) -> list[Any]:
    """Returns the values without repetitions, in their order."""
    seen: set[int] = set()
    return [v for v in values if not (id(v) in seen or seen.add(id(v)))]  # type: ignore[func-returns-value]
