"""`tf.keras.Model`: compiling, and training, evaluating and predicting with arrays, generators and data sets.

Invariant: every step is one run of the graph in the session of Keras; `fit` is a loop of `train_on_batch`'s steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import GraphLike
from tfnb.v1.keras.backend.settings import symbolic_learning_phase
from tfnb.v1.keras.backend.values import get_session
from tfnb.v1.keras.callbacks.base import History, callback_list
from tfnb.v1.keras.engine import loops
from tfnb.v1.keras.engine.calls import calling
from tfnb.v1.keras.engine.data import Batch, arrays, batch_of, dataset_batches, is_dataset, length, split, weights_of
from tfnb.v1.keras.engine.functional import built
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.saving import SavedByKeras
from tfnb.v1.keras.engine.structure import flat
from tfnb.v1.keras.engine.targets import Training
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import deserialize
from tfnb.v1.keras.optimizers import lookup as optimizers

__all__ = ["Model"]


class Model(SavedByKeras, Network):
    """A network with a loss, an optimizer and metrics.

    `Model(inputs, outputs)` takes the layers between tensors; a subclass defines `call` instead, and its weights are
    created by the first data.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._start_training()

    def _start_training(self) -> None:
        state = self.__dict__
        state.update(optimizer=None, loss=None, stop_training=False, history=None, _options=None, _training=None)
        state.update(_train_op=None, _targets_built=None)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the model of a configuration."""
        inputs, outputs = built(config, lambda entry: deserialize(entry, custom_objects))
        return cls(inputs=inputs, outputs=outputs, name=config.get("name"))

    # compiling

    def compile(
        self,
        optimizer: object = "rmsprop",
        loss: object = None,
        metrics: object = None,
        loss_weights: object = None,
        sample_weight_mode: object = None,
        weighted_metrics: object = None,
        target_tensors: object = None,
        distribute: object = None,
        **kwargs: Any,
    ) -> None:
        """Sets the optimizer, the loss and the metrics, of all outputs or by output.

        Raises `InvalidArgumentError` for unknown names, and for options of other ways of running graphs.
        """
        if distribute is not None or any(v is not None for k, v in kwargs.items() if k != "run_eagerly"):
            raise InvalidArgumentError(f"compile: unknown options {sorted(kwargs) or ['distribute']}")
        if kwargs.get("run_eagerly"):
            raise InvalidArgumentError("compile: run_eagerly is not in tfnb; operations run in sessions")
        self.optimizer = optimizers.get(optimizer)
        self.loss = loss
        self._options = {
            "loss": loss,
            "metrics": metrics,
            "loss_weights": loss_weights,
            "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics,
            "target_tensors": target_tensors,
        }
        self._training: Training | None = None
        self._train_op: list[Any] | None = None
        if self.inputs:
            self._build_training()

    def _build_training(self) -> None:
        with self._graph().as_default():
            self._training = Training(self, self._options)
        self._collected = list(self.trainable_weights)

    def _graph(self) -> GraphLike:
        return self.inputs[0].graph if self.inputs else get_default_graph()

    def _compiled(self) -> Training:
        if self._options is None:
            raise RuntimeError(
                "You must compile a model before training/testing. Use `model.compile(optimizer, loss)`."
            )
        if self._training is None:
            self._build_training()
        assert self._training is not None
        return self._training

    @property
    def metrics_names(self) -> list[str]:
        """The names of what a training step returns: the loss, and the metrics."""
        return list(self._compiled().names)

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the compiled model."""
        return list(self._training.metrics) if self._training is not None else []

    @property
    def total_loss(self) -> Any:
        """The loss that training makes smaller, a scalar tensor."""
        return self._compiled().total_loss

    @property
    def targets(self) -> list[Any]:
        """The placeholders of the labels."""
        return [t for t in self._compiled().targets if t is not None]

    @property
    def sample_weights(self) -> list[Any]:
        """The placeholders of the weights of samples."""
        return [t for t in self._compiled().sample_weights if t is not None]

    def reset_metrics(self) -> None:
        """Sets the states of the metrics to zero."""
        for metric in self.metrics:
            metric.reset_states()

    def _fix_inputs(self, inputs: Any) -> None:
        """Creates placeholders, and so the weights, of a model that is defined by `call`.

        inputs: a list of arrays, or a dictionary, with which `call` is called then; its vectors are columns.
        """
        by_name = isinstance(inputs, Mapping)
        given = dict(sorted(inputs.items())) if by_name else {f"input_{i + 1}": v for i, v in enumerate(inputs)}
        made = {}
        for name, value in given.items():
            array = np.asarray(value)
            kind = array.dtype.kind
            dtype = tf.float32 if kind == "f" else tf.string if kind in "OSU" else tf.as_dtype(array.dtype)
            inner = [1] if by_name and array.ndim == 1 else array.shape[1:]
            made[name] = tf.placeholder(dtype, shape=[None, *inner], name=name)
        self._take_inputs(list(made.values()), list(made), made if by_name else None)

    def _take_inputs(self, made: list[Any], names: list[str], structure: Any = None) -> None:
        with calling(None, symbolic_learning_phase()):
            outputs = flat(self(structure or (made[0] if len(made) == 1 else made)))
        self._fed_inputs, self.input_names = made, names
        self._fed_outputs = outputs
        self.output_names = [f"output_{i + 1}" for i in range(len(outputs))]

    def build(self, input_shape: Any = None) -> None:
        """Creates the weights of a model that is defined by `call`, for inputs of a shape with the batch."""
        if self.built or self._is_graph or getattr(self, "_fed_inputs", None) or input_shape is None:
            self.built = True
            return
        several = isinstance(input_shape, list)
        shapes = input_shape if several else [input_shape]
        if get_default_graph() is not None and any(hasattr(s, "as_list") for s in shapes):
            self.built = True  # called on tensors
            return
        made = [tf.placeholder(tf.float32, shape=list(s), name=f"input_{i + 1}") for i, s in enumerate(shapes)]
        self._take_inputs(made, [f"input_{i + 1}" for i in range(len(made))])

    # data

    def _input_arrays(self, x: object) -> list[Any]:
        if not self.inputs:
            self._fix_inputs(x if isinstance(x, Mapping) else list(x) if isinstance(x, (list, tuple)) else [x])
        if x is None:
            return []
        return arrays(x, self.input_names, self.inputs, "input")

    def _labelled(self, inputs: list[Any], y: object, sample_weight: object, class_weight: object) -> Batch:
        training = self._compiled()
        names = [n for n, t in zip(self.output_names, training.targets, strict=True) if t is not None]
        tensors = [t for t in training.targets if t is not None]
        targets = arrays(y, names, tensors, "target") if y is not None and names else []
        if names and not targets and training.fed_targets == training.targets:
            raise InvalidArgumentError(f"the model needs targets of {names}, got None")
        return Batch(inputs, targets, weights_of(sample_weight, class_weight, targets, names))

    def _batch(self, x: object, y: object, sample_weight: object = None, class_weight: object = None) -> Batch:
        batch = self._labelled(self._input_arrays(x), y, sample_weight, class_weight)
        length([*batch.inputs, *batch.targets, *batch.weights])
        return batch

    # steps

    def _feeds(self, batch: Batch, training: bool) -> dict[Any, Any]:
        feeds = {t: v for t, v in zip(self.inputs, batch.inputs, strict=False) if v is not None}
        if batch.targets:
            tensors = [t for t in self._compiled().targets if t is not None]
            feeds.update(zip(tensors, batch.targets, strict=True))
        if batch.weights:
            tensors = [t for t in self._compiled().sample_weights if t is not None]
            feeds.update({t: v for t, v in zip(tensors, batch.weights, strict=True) if v is not None})
        phase = self._graph().client_state.get("keras learning phase")
        if training and phase is not None:
            feeds[phase] = True
        return feeds

    def _make_train_op(self) -> list[Any]:
        if self._train_op is None:
            training = self._compiled()
            if self._collected and {id(w) for w in self._collected} != {id(w) for w in self.trainable_weights}:
                print(
                    "UserWarning: Discrepancy between trainable weights and collected trainable weights, did you set "
                    "`model.trainable` without calling `model.compile` after ?"
                )
            graph = self._graph()
            with graph.as_default(), graph.name_scope("training"):
                updates = self.optimizer.get_updates(loss=training.total_loss, params=self._collected)
                self._train_op = [*updates, *training.updates()]
        return self._train_op

    def _run_training(self, batch: Batch) -> list[Any]:
        training, operations = self._compiled(), self._make_train_op()
        return self._run([training.values, operations], self._feeds(batch, True))[0]

    def _run_test(self, batch: Batch) -> list[Any]:
        training = self._compiled()
        fetches = [training.values, [getattr(u, "op", u) for u in self.state_updates]]
        return self._run(fetches, self._feeds(batch, False))[0]

    def _run_prediction(self, batch: Batch) -> list[Any]:
        fetches = [self.outputs, [getattr(u, "op", u) for u in self.state_updates]]
        return self._run(fetches, self._feeds(batch, False))[0]

    def _run(self, fetches: object, feeds: dict[Any, Any]) -> Any:
        with self._graph().as_default():
            return get_session().run(fetches, feed_dict=feeds)

    def train_on_batch(
        self,
        x: object,
        y: object = None,
        sample_weight: object = None,
        class_weight: object = None,
        reset_metrics: bool = True,
    ) -> Any:
        """Trains with one batch, and returns the loss, or the list of loss and metrics."""
        values = self._run_training(self._batch(x, y, sample_weight, class_weight))
        return self._returned(values, reset_metrics)

    def test_on_batch(
        self, x: object, y: object = None, sample_weight: object = None, reset_metrics: bool = True
    ) -> Any:
        """Returns the loss, or the list of loss and metrics, of one batch."""
        return self._returned(self._run_test(self._batch(x, y, sample_weight)), reset_metrics)

    def _returned(self, values: Sequence[Any], reset_metrics: bool) -> Any:
        if reset_metrics:
            self.reset_metrics()
        return values[0] if len(values) == 1 else list(values)

    def predict_on_batch(self, x: object) -> Any:
        """Returns the outputs for one batch."""
        values = self._run_prediction(Batch(self._input_arrays(x), [], []))
        return values[0] if len(values) == 1 else values

    # loops

    def fit(
        self,
        x: object = None,
        y: object = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: object = None,
        validation_split: float = 0.0,
        validation_data: object = None,
        shuffle: bool | str = True,
        class_weight: object = None,
        sample_weight: object = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: int | Sequence[int] = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> History:
        """Trains for `epochs` times the data, and returns the `History` of the loss and the metrics.

        x, y: arrays, lists of them, or dictionaries by name; or x is a generator, a `Sequence` or a data set.
        validation_data: (x, y), (x, y, weights), a generator or a data set, evaluated after an epoch.
        Raises `InvalidArgumentError` for data that does not fit the model.
        """
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {sorted(kwargs)}")
        held_out, samples = None, None
        if _is_arrays(x):
            data = self._batch(x, y, sample_weight, class_weight)
            if validation_split and validation_data is None:
                data, held_out = split(data, validation_split)
            size = batch_size or 32
            samples = length(data.inputs)
            batches = self._array_source(data, size, shuffle, steps_per_epoch)
        else:
            self._build_from(x)
            batches, steps_per_epoch = self._source(x, steps_per_epoch, class_weight, shuffle)
        validate = self._validation(validation_data, held_out, batch_size or 32, validation_steps)
        self._make_train_op()
        params = {"epochs": epochs, "verbose": verbose, "do_validation": validate is not None, "samples": samples}
        params |= {"steps": steps_per_epoch, "batch_size": batch_size or (32 if samples else None)}
        watching, history = callback_list(self, callbacks, params, verbose)
        self.stop_training = False
        steps = steps_per_epoch
        loops.fitted(self, batches, watching, range(initial_epoch, epochs), steps, validate, validation_freq)
        self.history = history
        return history

    def _build_from(self, x: Any) -> None:
        if not self.inputs:
            item = next(dataset_batches(x)) if is_dataset(x) else x[0] if hasattr(x, "__getitem__") else None
            if item is None:
                raise InvalidArgumentError("a model that is defined by `call` needs `build(input_shape)` before this")
            self._input_arrays(item[0])

    def _array_source(
        self, data: Batch, size: int, shuffle: bool | str, steps: int | None
    ) -> Callable[[], Iterator[Batch]]:
        if not data.inputs:  # the graph has its own data
            return lambda: (Batch([], [], []) for _ in range(steps or 1))
        return lambda: loops.array_batches(data, size, shuffle)

    def _source(
        self, x: Any, steps: int | None, class_weight: object = None, shuffle: bool | str = False, labels: bool = True
    ) -> tuple[Callable[[], Iterator[Batch]], int | None]:
        def taken(items: Iterable[Any]) -> Iterator[Batch]:
            return (batch_of(self, item, labels, class_weight) for item in items)

        if is_dataset(x):
            return (lambda: taken(dataset_batches(x))), steps
        if hasattr(x, "__getitem__") and hasattr(x, "__len__"):
            count = len(x) if steps is None else min(steps, len(x))

            def in_order() -> Iterator[Any]:
                order = np.arange(len(x))
                if shuffle:
                    np.random.shuffle(order)
                for i in order[:count]:
                    yield x[int(i)]
                if hasattr(x, "on_epoch_end"):
                    x.on_epoch_end()

            return (lambda: taken(in_order())), None
        if steps is None:
            raise InvalidArgumentError("a generator needs the number of steps (steps_per_epoch, steps)")
        return (lambda: taken(x)), steps

    def _validation(
        self, given: Any, held_out: Batch | None, batch_size: int, steps: int | None
    ) -> Callable[[], Sequence[float]] | None:
        if held_out is None and given is None:
            return None
        if held_out is None and isinstance(given, (tuple, list)) and not is_dataset(given):
            held_out = self._batch(given[0], given[1], *(given[2:3]))
        if held_out is not None:
            data = held_out
            return lambda: loops.evaluated(self, islice(loops.array_batches(data, batch_size, False), steps))
        source, steps = self._source(given, steps)
        return lambda: loops.evaluated(self, islice(source(), steps))

    def evaluate(
        self,
        x: object = None,
        y: object = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: object = None,
        steps: int | None = None,
        callbacks: object = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Returns the loss, or the list of loss and metrics, over the data."""
        if _is_arrays(x):
            source = self._array_source(self._batch(x, y, sample_weight), batch_size or 32, False, steps)
        else:
            source, steps = self._source(x, steps)
        watching, _ = callback_list(self, callbacks, {"verbose": verbose, "steps": steps}, 0)
        watching.on_test_begin({})
        values = loops.evaluated(self, islice(source(), steps), watching)
        watching.on_test_end({})
        if verbose:
            print(" - ".join(f"{n}: {v:.4f}" for n, v in zip(self.metrics_names, values, strict=True)))
        return values[0] if len(values) == 1 else values

    def predict(
        self,
        x: object,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: object = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Returns the outputs for the data, an array or a list of arrays."""
        if _is_arrays(x):
            source = self._array_source(Batch(self._input_arrays(x), [], []), batch_size or 32, False, steps)
        else:
            source, steps = self._source(x, steps, labels=False)
        watching, _ = callback_list(self, callbacks, {"verbose": verbose, "steps": steps}, 0)
        watching.on_predict_begin({})
        result = loops.predicted(self, islice(source(), steps), watching)
        watching.on_predict_end({})
        return result

    # names of earlier versions

    def fit_generator(
        self,
        generator: object,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: object = None,
        validation_data: object = None,
        validation_steps: int | None = None,
        validation_freq: int = 1,
        class_weight: object = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> History:
        """Trains with the batches of a generator; see `fit`."""
        return self.fit(
            generator,
            None,
            None,
            epochs,
            verbose,
            callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
        )

    def evaluate_generator(
        self, generator: object, steps: int | None = None, callbacks: object = None, verbose: int = 0, **kwargs: Any
    ) -> Any:
        """Returns the loss and the metrics over the batches of a generator; see `evaluate`."""
        return self.evaluate(generator, None, None, verbose, None, steps, callbacks, **kwargs)

    def predict_generator(
        self, generator: object, steps: int | None = None, callbacks: object = None, verbose: int = 0, **kwargs: Any
    ) -> Any:
        """Returns the outputs for the batches of a generator; see `predict`."""
        return self.predict(generator, None, verbose, steps, callbacks, **kwargs)


def _is_arrays(x: object) -> bool:
    """Returns whether the data is arrays (or None, when the graph reads its own), not something to iterate over."""
    if x is None or isinstance(x, (np.ndarray, list, dict)):
        return True
    if isinstance(x, tuple):
        return all(isinstance(v, (np.ndarray, list)) for v in x)
    return (
        not is_dataset(x)
        and not hasattr(x, "__next__")
        and not (hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "shape"))
    )
