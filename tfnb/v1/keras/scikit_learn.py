"""Models as estimators of scikit-learn: `KerasClassifier` and `KerasRegressor`.

scikit-learn itself is not needed: it only asks for `fit`, `predict`, `score`, `get_params` and `set_params`.
Invariant: an argument goes to the function that builds the model, or to the method of the model that has it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.engine.sequential import Sequential
from tfnb.v1.keras.labels import to_categorical

__all__ = ["KerasClassifier", "KerasRegressor"]

_METHODS = ("fit", "predict", "predict_classes", "evaluate")


def _names(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


class _Wrapper:
    """A model that is built by each `fit`.

    build_fn: a function that returns a compiled model; without it the object itself is called. sk_params: its
    arguments, and those of `fit`, `predict` and `evaluate`. Raises `InvalidArgumentError` for an argument of none.
    """

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: object) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)
        self.model: Any = None

    def _builder(self) -> Callable[..., Any]:
        if self.build_fn is None:
            return self.__call__  # type: ignore[operator]  # of a subclass, which builds the model
        if inspect.isfunction(self.build_fn) or inspect.ismethod(self.build_fn):
            return self.build_fn
        return self.build_fn.__call__  # type: ignore[operator]

    def check_params(self, params: Iterable[str]) -> None:
        """Raises `InvalidArgumentError` for the name of an argument that no function takes."""
        builder = self._builder()
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(builder).parameters.values()):
            return
        known = _names(builder).union(*(_names(getattr(Sequential, name)) for name in _METHODS), {"nb_epoch"})
        for name in params:
            if name not in known:
                raise InvalidArgumentError(f"{name} is not a legal parameter")

    def get_params(self, **params: object) -> dict[str, Any]:
        """Returns the arguments of the constructor; scikit-learn's `deep` changes nothing."""
        params.pop("deep", None)
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn, **params}

    def set_params(self, **params: Any) -> _Wrapper:
        """Sets arguments, and returns the object."""
        self.check_params(name for name in params if name != "build_fn")
        self.build_fn = params.pop("build_fn", self.build_fn)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, fn: Callable[..., Any], override: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the arguments that the function `fn` takes, with those of `override` in their place."""
        return {**{k: v for k, v in self.sk_params.items() if k in _names(fn)}, **(override or {})}

    def fit(self, x: object, y: ArrayLike, **kwargs: Any) -> Any:
        """Builds the model and trains it with arrays; returns the history."""
        builder = self._builder()
        self.model = builder(**self.filter_sk_params(builder))
        loss = self.model.loss
        name = getattr(loss, "__name__", loss)
        if name == "categorical_crossentropy" and np.ndim(y) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **self.filter_sk_params(type(self.model).fit, kwargs))


class KerasClassifier(_Wrapper):
    """A classifier of scikit-learn; see `_Wrapper`."""

    def fit(self, x: object, y: ArrayLike, **kwargs: Any) -> Any:
        """Builds the model and trains it with labels, of any kind, or with rows of ones and zeros.

        Raises `InvalidArgumentError` for labels of another shape.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise InvalidArgumentError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def _probabilities(self, x: object, kwargs: Mapping[str, Any]) -> np.ndarray:
        return np.asarray(self.model.predict(x, **self.filter_sk_params(type(self.model).predict, kwargs)))

    def predict(self, x: object, **kwargs: Any) -> np.ndarray:
        """Returns the classes of the rows of an array."""
        p = self._probabilities(x, kwargs)
        numbers = p.argmax(-1) if p.shape[-1] > 1 else (p > 0.5).astype("int32")
        return np.asarray(self.classes_[numbers])

    def predict_proba(self, x: object, **kwargs: Any) -> np.ndarray:
        """Returns the probability of each class for the rows of an array, [rows, classes]."""
        p = self._probabilities(x, kwargs)
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def score(self, x: object, y: ArrayLike, **kwargs: Any) -> float:
        """Returns the accuracy. Raises `InvalidArgumentError` when the model was compiled without it."""
        y = np.searchsorted(self.classes_, y)
        options = self.filter_sk_params(type(self.model).evaluate, kwargs)
        if getattr(self.model.loss, "__name__", self.model.loss) == "categorical_crossentropy" and y.ndim != 2:
            y = to_categorical(y, self.n_classes_)
        values = np.atleast_1d(self.model.evaluate(x, y, **options))
        for name, value in zip(self.model.metrics_names, values, strict=True):
            if name in ("accuracy", "acc"):
                return float(value)
        raise InvalidArgumentError(
            'The model is not configured to compute accuracy. You should pass `metrics=["accuracy"]` to the '
            "`model.compile()` method."
        )


class KerasRegressor(_Wrapper):
    """A regressor of scikit-learn; see `_Wrapper`."""

    def predict(self, x: object, **kwargs: Any) -> np.ndarray:
        """Returns the outputs for the rows of an array."""
        options = self.filter_sk_params(type(self.model).predict, kwargs)
        return np.squeeze(self.model.predict(x, **options), axis=-1)

    def score(self, x: object, y: ArrayLike, **kwargs: Any) -> float:
        """Returns the loss with a minus, so that the best is the largest."""
        loss = self.model.evaluate(x, y, **self.filter_sk_params(type(self.model).evaluate, kwargs))
        return -float(np.atleast_1d(loss)[0])
