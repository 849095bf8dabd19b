"""The base of Keras' optimizers: hyperparameters as variables, slots of each weight, and constraints after updates.

Invariant: names are TensorFlow 1.15's ("training/Adam/dense/kernel/m"), and `weights` are in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
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
    by_rows = False  # whether a gradient of some rows leaves the slots of the other rows as they are

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
        state["_rows"] = {}  # id of the tensor of rows that a step reads -> (tensor, variable, numbers of the rows)

    # hyperparameters

    def _set_hyper(self, name: str, value: Any) -> None:
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

    def _add(self, name: str, initial: Any, dtype: Any = None) -> Any:
        scope = self.__dict__["_scope"] or f"{self._name}/"
        with get_default_graph().control_dependencies(None), get_default_graph().name_scope(scope):
            return tf.Variable(initial, name=name, dtype=dtype, trainable=False)

    def _variable(self, name: str) -> Any:
        if name not in self._variables:
            self._variables[name] = self._add(name, np.float32(_number(self._hyper[name])))
        return self._variables[name]

    def _value(self, name: str, dtype: Any) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return tf.cast(value(tf.cast(self.iterations, tf.float32)), dtype)
        if hasattr(value, "graph"):
            return tf.cast(value, dtype)
        return tf.cast(value() if callable(value) else self._variable(name), dtype)

    def _serialized(self, name: str) -> Any:
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
    def iterations(self, variable: Any) -> None:
        self.iterations_variable = variable

    # slots

    def add_slot(self, var: Any, slot_name: str, initial: float = 0.0) -> Any:
        """Returns the variable `slot_name` of the weight `var`, created on first use."""
        key = (var.op.name, slot_name)
        if key not in self._slots:
            value = np.full(var.shape.as_list(), initial, var.dtype.base_dtype.as_numpy_dtype)
            self._slots[key] = self._add(f"{var.op.name}/{slot_name}", value)
            self._weights.append(self._slots[key])
        return self._slots[key]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """Returns the variable `slot_name` of a weight. Raises `KeyError` when there is none."""
        if id(var) in self._rows:
            _, variable, indices = self._rows[id(var)]
            return self._read_rows(self.get_slot(variable, slot_name), indices)
        return self._slots[(var.op.name, slot_name)]

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in self.slots:
            for var in var_list:
                self.add_slot(var, slot)

    # updates

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Returns the limited gradients of the loss. Raises `InvalidArgumentError` for one that does not exist."""
        gradients = tf.gradients(loss, list(params))
        for gradient, param in zip(gradients, params, strict=True):
            if gradient is None:
                raise InvalidArgumentError(
                    f"Variable {param} has `None` for gradient. Please make sure that all of your ops have a gradient "
                    "defined (i.e. are differentiable)."
                )
        return [self._limited(g) for g in gradients]

    def _limited(self, gradient: Any) -> Any:
        if not self._clip.keys() & {"clipnorm", "clipvalue"}:
            return gradient
        gradient = tf.convert_to_tensor(gradient)
        if "clipnorm" in self._clip:
            gradient = tf.clip_by_norm(gradient, float(self._clip["clipnorm"]))
        if "clipvalue" in self._clip:
            limit = float(self._clip["clipvalue"])
            gradient = tf.clip_by_value(gradient, -limit, limit)
        return gradient

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Returns the operations of a step that makes the scalar `loss` smaller by changing `params`."""
        return [self.apply_gradients(list(zip(self.get_gradients(loss, params), params, strict=True)))]

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Any:
        """Returns the operation of a step; `loss` and `var_list` may be functions that return them."""
        variables = var_list() if callable(var_list) else var_list
        value = loss() if callable(loss) else loss
        gradients = tf.gradients(value, list(variables), grad_ys=grad_loss)
        return self.apply_gradients(list(zip(gradients, variables, strict=True)), name)

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Any, Any]], name: str | None = None) -> Any:
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

    def _updated(self, gradient: Any, var: Any) -> Any:
        dtype = var.dtype.base_dtype
        rate = self._value("learning_rate", dtype)
        if self._initial_decay > 0:
            steps = tf.cast(self.iterations, dtype)
            rate = rate / (1.0 + self._value("decay", dtype) * steps)
        if isinstance(gradient, tf.IndexedSlices) and self.by_rows:
            indices, position = tf.unique(gradient.indices)
            gradient = tf.unsorted_segment_sum(gradient.values, position, tf.shape(indices)[0])
            operation = tf.group(*self._step(gradient, self._read_rows(var, indices), rate))
        else:
            operation = tf.group(*self._step(tf.convert_to_tensor(gradient), var, rate))
        if var.constraint is None:
            return operation
        with get_default_graph().control_dependencies([operation]):
            return tf.assign(var, var.constraint(var.value())).op

    def _read_rows(self, variable: Any, indices: Any) -> Any:
        """Returns some rows of a variable; a step that changes the tensor changes these rows."""
        rows = tf.gather(variable, indices)
        self._rows[id(rows)] = (rows, variable, indices)
        return rows

    def _changed(self, target: Any, value: Any, whole: Any, of_rows: Any) -> Any:
        if id(target) not in self._rows:
            return whole(target, value)
        _, variable, indices = self._rows[id(target)]
        return of_rows(variable, indices, value)

    def _set(self, target: Any, value: Any) -> Any:
        """Returns the operation that gives a variable, or the rows that were read of it, a value."""
        return self._changed(target, value, tf.assign, tf.scatter_update)

    def _take(self, target: Any, value: Any) -> Any:
        """Returns the operation that subtracts a value from a variable or the rows of it."""
        return self._changed(target, value, tf.assign_sub, tf.scatter_sub)

    def _give(self, target: Any, value: Any) -> Any:
        """Returns the operation that adds a value to a variable or the rows of it."""
        return self._changed(target, value, tf.assign_add, tf.scatter_add)

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        """Returns the operations that change the weight `var` and its slots. Subclasses define it.

        gradient, var: whole, or the rows of both that a sparse gradient has.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define its step")

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
        return {"name": self._name, **{name: self._serialized(name) for name in self._hyper}, **limits}

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


def _number(value: Any) -> Any:
    return value if not callable(value) else value()
