"""The base of Keras' optimizers: hyperparameters as variables, slots of each weight, and constraints after updates.

Invariant: names are TensorFlow 1.15's ("training/Adam/dense/kernel/m"), and `weights` are in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import DType, DTypeLike, float32
from tfnb.v1.keras import initializers
from tfnb.v1.keras.argument_types import Hyper, Identifier
from tfnb.v1.keras.backend.values import batch_get_value, batch_set_value, get_session
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.optimizers.schedules import LearningRateSchedule

__all__ = ["Optimizer"]


class Optimizer:
    """The base of optimizers.

    name: the scope of its variables. clipnorm, clipvalue: limits of each gradient's length or elements. lr: the rate;
    decay: it is divided by 1 + decay * steps. Raises `InvalidArgumentError` for a negative number.
    """

    slots: tuple[str, ...] = ()

    iterations_variable: Any  # an int64 variable, or None until it is needed

    def __init__(self, name: str, **kwargs: Any) -> None:
        allowed = {"clipnorm", "clipvalue", "lr", "decay"}
        for key, value in kwargs.items():
            if key not in allowed:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value < 0:
                raise InvalidArgumentError(f"Expected {key} >= 0, received: {value}")
        state = self.__dict__
        state.update(_name=name, _hyper={}, _variables={}, _slots={}, _weights=[], iterations_variable=None)
        state.update(_initial_decay=float(kwargs.pop("decay", 0.0)), _clip=kwargs, _pending=None)
        state["_scope"] = None

    # hyperparameters

    def _set_hyper(self, name: str, value: Hyper) -> None:
        if name == "learning_rate" and "lr" in self._clip:
            value = self._clip["lr"]
        variable = self._variables.get(name)
        if variable is not None:
            batch_set_value([(variable, np.asarray(_number(value)))])
        self._hyper[name] = value

    def __getattr__(self, name: str) -> Any:
        """Returns a hyperparameter: its variable, or before the first step its number."""
        key = "learning_rate" if name == "lr" else name
        hyper = self.__dict__.get("_hyper", {})
        if key not in hyper:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if not isinstance(hyper[key], LearningRateSchedule) and not callable(hyper[key]):
            return self._variable(key)
        return hyper[key]

    def __setattr__(self, name: str, value: Any) -> None:
        key = "learning_rate" if name == "lr" else name
        if key in self.__dict__.get("_hyper", {}):
            self._set_hyper(key, value)
        else:
            object.__setattr__(self, name, value)

    def _add(self, name: str, initial: TensorLike | Callable[[], Any], dtype: DTypeLike | None = None) -> Variable:
        scope = self.__dict__["_scope"] or f"{self._name}/"
        with get_default_graph().control_dependencies(None), get_default_graph().name_scope(scope):
            return tf.Variable(initial, name=name, dtype=dtype, trainable=False)

    def _variable(self, name: str) -> Variable:
        if name not in self._variables:
            self._variables[name] = self._add(name, np.float32(_number(self._hyper[name])))
        return self._variables[name]

    def _get_hyper(self, name: str, dtype: DType = float32) -> Tensor:
        """Returns the tensor of a hyperparameter, of the type `dtype`."""
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return tf.cast(value(tf.cast(self.iterations, tf.float32)), dtype)
        if hasattr(value, "graph"):
            return tf.cast(value, dtype)
        return tf.cast(value() if callable(value) else self._variable(name), dtype)

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        if callable(value):
            return value()
        if name in self._variables:
            return float(batch_get_value([self._variables[name]])[0])
        return float(get_session().run(value)) if hasattr(value, "graph") else float(value)

    @property
    def iterations(self) -> Any:
        """The number of steps, an int64 variable."""
        if self.iterations_variable is None:
            self.iterations_variable = self._add("iter", np.int64(0), tf.int64)
            self._weights.insert(0, self.iterations_variable)
        return self.iterations_variable

    @iterations.setter
    def iterations(self, variable: Variable) -> Any:
        self.iterations_variable = variable

    # slots

    def add_slot(self, var: Variable, slot_name: str, initializer: Identifier = "zeros") -> Variable:
        """Returns the variable `slot_name` of the weight `var`, created on first use by an initializer of Keras."""
        key = (var.op.name, slot_name)
        if key not in self._slots:
            make = partial(initializers.get(initializer), var.shape.as_list(), dtype=var.dtype.base_dtype)
            self._slots[key] = self._add(f"{var.op.name}/{slot_name}", make, var.dtype.base_dtype)
            self._weights.append(self._slots[key])
        return self._slots[key]

    def get_slot(self, var: Variable, slot_name: str) -> Variable:
        """Returns the variable `slot_name` of a weight. Raises `KeyError` when there is none."""
        return self._slots[(var.op.name, slot_name)]

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for slot in self.slots:
            for var in var_list:
                self.add_slot(var, slot)

    # updates

    def get_gradients(self, loss: Tensor, params: Sequence[Any]) -> list[Any]:
        """Returns the limited gradients of the loss. Raises `InvalidArgumentError` for one that does not exist."""
        gradients = tf.gradients(loss, list(params))
        for gradient, param in zip(gradients, params, strict=True):
            if gradient is None:
                raise InvalidArgumentError(
                    f"Variable {param} has `None` for gradient. Please make sure that all of your ops have a gradient "
                    "defined (i.e. are differentiable)."
                )
        return [self._limited(g) for g in gradients]

    def _limited(self, gradient: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
        if not self._clip.keys() & {"clipnorm", "clipvalue"}:
            return gradient
        gradient = tf.convert_to_tensor(gradient)
        if "clipnorm" in self._clip:
            gradient = tf.clip_by_norm(gradient, float(self._clip["clipnorm"]))
        if "clipvalue" in self._clip:
            limit = float(self._clip["clipvalue"])
            gradient = tf.clip_by_value(gradient, -limit, limit)
        return gradient

    def get_updates(self, loss: Tensor, params: Sequence[Any]) -> list[Any]:
        """Returns the operations of a step that makes the scalar `loss` smaller by changing `params`."""
        return [self.apply_gradients(list(zip(self.get_gradients(loss, params), params, strict=True)))]

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Sequence[Variable] | Callable[[], Sequence[Variable]],
        grad_loss: TensorLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """Returns the operation of a step; `loss` and `var_list` may be functions that return them."""
        variables = var_list() if callable(var_list) else var_list
        value = loss() if callable(loss) else loss
        gradients = tf.gradients(value, list(variables), grad_ys=grad_loss)
        return self.apply_gradients(list(zip(gradients, variables, strict=True)), name)

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Any, Any]], name: str | None = None) -> Operation:
        """Returns the operation that applies pairs (gradient, variable).

        Without pairs it only counts the step, as for a model whose layers are all frozen. Raises `InvalidArgumentError`
        when there are variables and none has a gradient.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if grads_and_vars and not pairs:
            raise InvalidArgumentError(
                f"No gradients provided for any variable: {[v.name for _, v in grads_and_vars]}."
            )
        graph = get_default_graph()
        with graph.name_scope(name or self._name) as scope:
            if self.__dict__["_scope"] is None:
                self.__dict__["_scope"] = scope
            step = self.iterations
            for hyper, value in sorted(self._hyper.items()):
                if not isinstance(value, LearningRateSchedule) and not callable(value):
                    self._variable(hyper)
            self._create_slots([v for _, v in pairs])
            updates = [self._updated(g, v) for g, v in pairs]
            with graph.control_dependencies(updates):
                return tf.assign_add(step, np.int64(1)).op

    def _updated(self, gradient: Tensor | IndexedSlices, var: Variable) -> Operation:
        if isinstance(gradient, IndexedSlices):
            done = self._resource_apply_sparse_duplicate_indices(gradient.values, var, gradient.indices)
        else:
            done = self._resource_apply_dense(gradient, var)
        operation = tf.group(done)
        if var.constraint is None:
            return operation
        with get_default_graph().control_dependencies([operation]):
            return tf.assign(var, var.constraint(var.value())).op

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        """Returns the operation that changes a variable and its slots for a whole gradient. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define _resource_apply_dense")

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        """Returns the operation for the gradients of some rows, each row once. Subclasses may define it.

        Here it takes the gradients of the other rows for 0, so that their slots change, too.
        """
        whole = tf.convert_to_tensor(IndexedSlices(grad, indices, tf.shape(var)))
        return self._resource_apply_dense(whole, var)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, var: Variable, indices: Tensor
    ) -> Tensor | Operation:
        """Returns the operation for the gradients of rows of which some occur more than once: it adds them up."""
        rows, position = tf.unique(indices)
        total = tf.unsorted_segment_sum(grad, position, tf.shape(rows)[0])
        return self._resource_apply_sparse(total, var, rows)

    def _decayed_lr(self, var_dtype: DType) -> Tensor:
        """Returns the learning rate of this step, a scalar of the type `var_dtype`."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if self._initial_decay > 0:
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * tf.cast(self.iterations, var_dtype))
        return rate

    # state

    @property
    def weights(self) -> list[Any]:
        """The number of steps and the slots, in the order of their creation."""
        return list(self._weights)

    def variables(self) -> list[Any]:
        """Returns the number of steps and the slots."""
        return self.weights

    def get_weights(self) -> list[np.ndarray]:
        """Returns the values of `weights`."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the values of `weights`. Raises `InvalidArgumentError` for another number of them."""
        if len(weights) != len(self._weights):
            raise InvalidArgumentError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(self._weights)} weights."
            )
        batch_set_value(zip(self._weights, weights, strict=True))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        limits = {k: v for k, v in self._clip.items() if k != "lr"}
        return {"name": self._name, **{name: self._serialize_hyperparameter(name) for name in self._hyper}, **limits}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the optimizer of a configuration."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        rate = config.get("learning_rate")
        if isinstance(rate, Mapping):
            config["learning_rate"] = LearningRateSchedule.of(rate, custom_objects)
        return cls(**config)


def _number(value: Hyper) -> Any:
    return value if not callable(value) else value()
