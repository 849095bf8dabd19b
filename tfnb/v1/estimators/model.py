"""`tf.Model`: a model with fit, evaluate and predict, like TFLearn's (Goldsborough, "A Tour of TensorFlow", wrappers).

`tf.Model(inputs, outputs, ...)` adds labels, loss, metric and training operation to the graph of the outputs, and has a
session. Invariant: every method runs that graph; `model.session` and `model.graph` can also be used directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.logging import summaries
from tfnb.client.losses_metrics import losses
from tfnb.client.variables.variable import global_variables_initializer, local_variables_initializer
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import SupportsTensor, Tensor, TensorLike
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import argmax, reduce_mean
from tfnb.ops.math.unary import SIGMOID
from tfnb.ops.nn.losses import softmax
from tfnb.session.api import ConfigProto, Session
from tfnb.summary.writer import FileWriter
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.optimize_loss import OPTIMIZERS
from tfnb.train.saving.saver import Saver
from tfnb.types import float32, int64

__all__ = ["Model"]

LOSSES = ("categorical_crossentropy", "binary_crossentropy", "mean_square")


class Model:
    """Trains the computation from the placeholder `inputs` to the tensor `outputs`.

    loss: "categorical_crossentropy" (outputs are logits [batch, classes], labels are class numbers or one-hot rows),
    "binary_crossentropy" (logits and labels have one shape) or "mean_square". optimizer: a name such as "Adam", or an
    optimizer. log_dir: the folder of event files. feeds: further feeds of every step. Raises `InvalidArgumentError` for
    an unknown loss or optimizer.
    """

    def __init__(
        self,
        inputs: Tensor,
        outputs: Tensor | SupportsTensor,
        loss: str = "categorical_crossentropy",
        optimizer: str | Optimizer = "Adam",
        learning_rate: float = 0.001,
        log_dir: str | None = None,
        feeds: Mapping[Any, Any] | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        if loss not in LOSSES:
            raise InvalidArgumentError(f"Model: the loss {loss!r}; needed one of {', '.join(LOSSES)}")
        logits: Any = outputs.__tensor__() if hasattr(outputs, "__tensor__") else outputs
        self.graph, self.inputs, self.outputs = logits.graph, inputs, logits
        self._feeds = dict(feeds or {})
        with self.graph.as_default(), self.graph.name_scope("model"):
            self._build(loss, optimizer, learning_rate)
            init = [global_variables_initializer(), local_variables_initializer()]
            self._saver = Saver()
        self.session = Session(graph=self.graph, config=config)
        self.session.run(init)
        self._writer = FileWriter(log_dir, self.graph) if log_dir else None
        self.steps = 0

    def _build(self, loss: str, optimizer: str | Optimizer, learning_rate: float) -> None:
        y = self.outputs
        sparse = loss == "categorical_crossentropy"
        # labels are class numbers; one-hot rows are converted to numbers before they are fed
        self.labels = PLACEHOLDER(
            dtype=int64 if sparse else float32, shape=y.shape[:-1] if sparse else y.shape, name="labels"
        )
        if sparse:
            self.loss = losses.sparse_softmax_cross_entropy(self.labels, y)
            self.prediction, hits = softmax(y), EQUAL(argmax(y, -1), self.labels)
        elif loss == "binary_crossentropy":
            self.loss = losses.sigmoid_cross_entropy(self.labels, y)
            self.prediction, hits = SIGMOID(y), EQUAL(cast(y > 0.0, float32), self.labels)
        else:
            self.loss, hits = losses.mean_squared_error(self.labels, y), None
            self.prediction = y
        self.accuracy = None if hits is None else reduce_mean(cast(hits, float32))
        total = losses.get_total_loss()
        summaries.scalar("loss", total)
        if isinstance(optimizer, str):
            if optimizer not in OPTIMIZERS:
                raise InvalidArgumentError(
                    f"Model: the optimizer {optimizer!r}; needed one of {', '.join(sorted(OPTIMIZERS))}"
                )
            optimizer = OPTIMIZERS[optimizer](learning_rate)
        with self.graph.control_dependencies(self.graph.get_collection(GraphKeys.UPDATE_OPS)):
            self.train_op = optimizer.minimize(total)
        self._summary = summaries.merge_all()

    def _fed(self, x: TensorLike, y: TensorLike | None = None) -> dict[Any, Any]:
        feeds = {self.inputs: x, **self._feeds}
        if y is not None:
            y = np.asarray(y)
            one_hot = self.labels.dtype is int64 and y.ndim == len(self.outputs.shape)
            feeds[self.labels] = y.argmax(-1) if one_hot else y
        return feeds

    def fit(
        self,
        x: TensorLike,
        y: TensorLike,
        n_epoch: int = 1,
        batch_size: int = 64,
        validation_set: tuple[TensorLike, TensorLike] | None = None,
        shuffle: bool = True,
        seed: int | None = None,
    ) -> list[dict[str, float]]:
        """Trains on the examples `x` with the labels `y`, `n_epoch` times over.

        validation_set: a pair of examples and labels that are evaluated after each epoch. shuffle, seed: the order of
        the examples. Returns a dict for each epoch with the mean "loss", and the values of the evaluation. Raises
        `InvalidArgumentError` when the numbers of examples and labels differ or are zero.
        """
        x, y = np.asarray(x), np.asarray(y)
        if len(x) != len(y) or not len(x):
            raise InvalidArgumentError(f"fit: {len(x)} inputs and {len(y)} labels; needed equally many, at least one")
        rng = np.random.default_rng(seed)
        history = []
        for _ in range(n_epoch):
            order = rng.permutation(len(x)) if shuffle else np.arange(len(x))
            batch_losses = [self._step(x[at], y[at]) for at in _batches(order, batch_size)]
            report = {"loss": float(np.mean(batch_losses))}
            if validation_set is not None:
                validation = self.evaluate(validation_set[0], validation_set[1], batch_size)
                report |= {f"validation_{k}": v for k, v in validation.items()}
            history.append(report)
        return history

    def _step(self, x: np.ndarray, y: np.ndarray) -> float:
        fetches = [self.loss, self.train_op]
        if self._writer is not None:
            fetches.append(self._summary)
        loss, _, *text = self.session.run(fetches, self._fed(x, y))
        self.steps += 1
        if self._writer is not None:
            self._writer.add_summary(text[0], self.steps)
        return float(loss)

    def evaluate(self, x: TensorLike, y: TensorLike, batch_size: int = 256) -> dict[str, float]:
        """Returns the mean loss on the examples `x` with the labels `y` (and a classifier's accuracy) as a dict."""
        x, y = np.asarray(x), np.asarray(y)
        fetches = {"loss": self.loss} | ({} if self.accuracy is None else {"accuracy": self.accuracy})
        sums = dict.fromkeys(fetches, 0.0)
        for at in _batches(np.arange(len(x)), batch_size):
            for k, v in self.session.run(fetches, self._fed(x[at], y[at])).items():
                sums[k] += float(v) * len(at)
        return {k: v / max(len(x), 1) for k, v in sums.items()}

    def predict(self, x: TensorLike, batch_size: int = 256) -> np.ndarray:
        """Returns the probabilities of a classifier for the examples `x`, or else the outputs."""
        x = np.asarray(x)
        parts = [self.session.run(self.prediction, self._fed(x[at])) for at in _batches(np.arange(len(x)), batch_size)]
        return np.concatenate(parts)

    def predict_label(self, x: TensorLike) -> np.ndarray:
        """Returns the most likely class of each example of `x`, an array of ints."""
        return self.predict(x).argmax(-1)

    def save(self, path: str) -> str:
        """Writes a checkpoint with the prefix `path`, and returns its prefix."""
        return str(self._saver.save(self.session, path))

    def load(self, path: str) -> None:
        """Restores the checkpoint with the prefix `path` that `save` wrote."""
        self._saver.restore(self.session, path)

    def close(self) -> None:
        """Closes the session and the event file."""
        if self._writer is not None:
            self._writer.close()
        self.session.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _batches(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for k in range(0, len(order), size):
        yield order[k : k + size]
