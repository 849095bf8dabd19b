"""K-means clustering (`tf.contrib.factorization`): Lloyd's iterations and mini-batch updates, as graph.

Invariant: a step assigns each example of the batch to its nearest centre, then moves the centres to the means of what
they have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.losses_metrics import metrics
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY
from tfnb.ops.array.where_partition import where
from tfnb.ops.control_flow.python_function import py_func
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import DIV_NO_NAN, MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.reduce_functions import argmin, reduce_min, reduce_sum
from tfnb.ops.math.unary import SQUARE
from tfnb.ops.nn.bias_dropout_moments import l2_normalize
from tfnb.ops.state.variables import assign, assign_add
from tfnb.session.session import Session
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.saving.signatures import PredictOutput
from tfnb.types import bool_, float32, int32
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys, RunConfig
from tfnb.v1.feature_columns.layers import input_layer

__all__ = [
    "COSINE_DISTANCE",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "InitialCentres",
    "KMeans",
    "KMeansClustering",
    "StopWhenStill",
]

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"


def _first_centres(points: np.ndarray, count: int, how: str, cosine: bool, seed: int) -> np.ndarray:
    """Chooses `count` of the points: at random, or each with a probability that grows with its squared distance."""
    rng = np.random.default_rng(seed)
    if len(points) < count:
        raise InvalidArgumentError(
            f"KMeans: {len(points)} examples for {count} initial clusters; needed at least as many in the first batch"
        )
    if how == RANDOM_INIT:
        return points[rng.choice(len(points), count, replace=False)]
    chosen = [int(rng.integers(len(points)))]
    nearest = np.full(len(points), np.inf)
    for _ in range(count - 1):
        last = points[chosen[-1]]
        distance = 1.0 - points @ last if cosine else ((points - last) ** 2).sum(1)
        nearest = np.minimum(nearest, np.maximum(distance, 0.0))
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(len(points), 1.0 / len(points))
        chosen.append(int(rng.choice(len(points), p=weights)))
    return points[chosen]


class KMeans:
    """The graph of K-means over `inputs`, a matrix [examples, features] or a list of them.

    num_clusters: the number of centres. initial_clusters: "random", "kmeans_plus_plus", a matrix of centres, or a
    function (inputs, number) that returns one. distance_metric: "squared_euclidean" or "cosine". use_mini_batch:
    whether the counts of earlier batches weigh. mini_batch_steps_per_iteration: how many batches share the centres to
    which they are assigned; only 1 is accepted. random_seed: of the initialisation. Raises `InvalidArgumentError` for
    other values. kmeans_plus_plus_num_retries, kmc2_chain_length: hints for faster initialisations.
    """

    def __init__(
        self,
        inputs: TensorLike,
        num_clusters: int,
        initial_clusters: str | TensorLike | Callable[..., Any] = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise InvalidArgumentError(f"Unsupported distance metric passed to Kmeans {distance_metric}")
        if mini_batch_steps_per_iteration != 1:
            refuse_given(
                "KMeans", "centres move in each step", mini_batch_steps_per_iteration=mini_batch_steps_per_iteration
            )
        if min(kmeans_plus_plus_num_retries, kmc2_chain_length) < 0:
            raise InvalidArgumentError(
                "KMeans: kmeans_plus_plus_num_retries and kmc2_chain_length must not be negative"
            )
        self._inputs = [convert_to_tensor(x) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        self._n, self._initial, self._cosine = num_clusters, initial_clusters, distance_metric == COSINE_DISTANCE
        self._mini, self._seed = use_mini_batch, random_seed

    def _points(self, x: Tensor) -> Tensor:
        return l2_normalize(x, 1) if self._cosine else x

    def _distances(self, x: Tensor, centres: Tensor) -> Tensor:
        """Returns the distances [examples, centres]."""
        product = matmul(x, centres, transpose_b=True)
        if self._cosine:
            return 1.0 - product
        squares = (
            reduce_sum(SQUARE(x), 1, keepdims=True) - 2.0 * product + EXPAND_DIMS(reduce_sum(SQUARE(centres), 1), 0)
        )
        return MAXIMUM(squares, 0.0)

    def _start(self, points: Tensor) -> Tensor:
        """Returns the initial centres of the points."""
        if callable(self._initial):
            return convert_to_tensor(self._initial(points, self._n))
        if not isinstance(self._initial, str):
            return convert_to_tensor(self._initial, points.dtype)
        if self._initial not in (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT):
            raise InvalidArgumentError(
                f"Unsupported initialization algorithm {self._initial!r}; needed {RANDOM_INIT} or "
                f"{KMEANS_PLUS_PLUS_INIT}"
            )

        def choose(values: np.ndarray) -> np.ndarray:
            return _first_centres(values, self._n, str(self._initial), self._cosine, self._seed).astype(values.dtype)

        return py_func(choose, [points], points.dtype)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Returns (distances of all, nearest centres, their distances, whether there are centres, start, step).

        The first three are lists, one for each matrix of the inputs: [examples, centres], [examples] and [examples].
        The last two are operations; the start does nothing when it was done before.
        """
        first = self._points(self._inputs[0])
        size = first.shape.sizes[1] if first.shape.sizes else None
        if size is None:
            raise InvalidArgumentError("KMeans: the number of features of the inputs must be known")
        centres = get_variable("clusters", [self._n, size], first.dtype, Zeros(), trainable=False)
        counts = get_variable("counts", [self._n], first.dtype, Zeros(), trainable=False)
        done = get_variable("initialized", [], bool_, Zeros(), trainable=False)

        def begin() -> Operation:
            points = concat([self._points(x) for x in self._inputs], 0)
            with control_dependencies([assign(centres, self._points(self._start(points))).op]):
                return assign(done, True).op

        init = cond(convert_to_tensor(done), group, lambda: group(begin()))
        value = IDENTITY(centres)
        points = [self._points(x) for x in self._inputs]
        every = [self._distances(x, value) for x in points]
        nearest = [argmin(d, 1, output_type=int32) for d in every]
        scores = [reduce_min(d, 1) for d in every]
        step = self._update(concat(points, 0), concat(nearest, 0), centres, counts)
        return every, nearest, scores, IDENTITY(done), init, step

    def _update(self, points: Tensor, nearest: Tensor, centres: Variable, counts: Variable) -> Operation:
        seen = UNSORTED_SEGMENT_SUM(ones_like(points[:, 0]), nearest, self._n)
        total = UNSORTED_SEGMENT_SUM(points, nearest, self._n)
        before = IDENTITY(counts) if self._mini else zeros_like(seen)
        weight = EXPAND_DIMS(before + seen, 1)
        moved = DIV_NO_NAN(total + EXPAND_DIMS(before, 1) * IDENTITY(centres), weight)
        kept = where(LOGICAL_AND(weight > 0.0, ones_like(moved) < 2.0), moved, IDENTITY(centres))
        new = assign(centres, self._points(kept))
        with control_dependencies([new.op]):
            return group(assign(counts, before + seen))


class InitialCentres(SessionRunHook):
    """Initialises the centres before the first step."""

    def __init__(self, op: Operation | Tensor) -> None:
        self._op = op

    def after_create_session(self, session: Session, coord: object) -> None:
        """Runs the initialisation in `session`; `coord` is not used."""
        session.run(self._op)


class StopWhenStill(SessionRunHook):
    """Ends the training when the loss changes by less than a share of it."""

    def __init__(self, loss: Tensor, tolerance: float) -> None:
        self._loss, self._tolerance = loss, tolerance
        self._last: float | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stops, if the loss hardly changed."""
        now = float(run_values.results)
        if self._last is not None and abs(self._last - now) < self._tolerance * abs(self._last):
            run_context.request_stop()
        self._last = now


class KMeansClustering(Estimator):
    """An estimator of K-means; see `KMeans` for the arguments that both have.

    relative_tolerance: the training ends when the loss changes by less than this share. feature_columns: make a matrix
    of a dict of features; by default its values are put side by side. An input function gives features, no labels.
    """

    SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = RANDOM_INIT, KMEANS_PLUS_PLUS_INIT
    SCORE, ALL_DISTANCES, CLUSTER_INDEX, ALL_SCORES = "score", "all_distances", "cluster_index", "all_scores"
    CLUSTER_CENTERS_VAR_NAME = "clusters"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: str | TensorLike | Callable[..., Any] = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: RunConfig | None = None,
        feature_columns: Iterable[Any] | None = None,
        seed: int | None = None,
    ) -> None:
        def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
            if labels is not None:
                raise InvalidArgumentError("KMeans: the input function gives labels; clustering has none")
            matrix = _matrix(features, feature_columns)
            graph = KMeans(
                matrix,
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                seed or random_seed,
                kmeans_plus_plus_num_retries,
            )
            every, nearest, scores, _, init, step = graph.training_graph()
            loss = reduce_sum(scores[0])
            predictions = {self.ALL_DISTANCES: every[0], self.CLUSTER_INDEX: nearest[0]}
            if mode == ModeKeys.PREDICT:
                outputs = {
                    "serving_default": PredictOutput(predictions),
                    self.ALL_SCORES: PredictOutput(every[0]),
                    self.CLUSTER_INDEX: PredictOutput(nearest[0]),
                }
                return EstimatorSpec(mode, predictions, export_outputs=outputs)
            with control_dependencies([step]):
                train = assign_add(get_global_step(), 1)
            hooks: list[Any] = [InitialCentres(init)]
            if relative_tolerance is not None:
                hooks.append(StopWhenStill(loss, relative_tolerance))
            return EstimatorSpec(mode, predictions, loss, train, {self.SCORE: metrics.mean(loss)}, training_hooks=hooks)

        super().__init__(model_fn, model_dir, config)

    def cluster_centers(self) -> np.ndarray:
        """Returns the centres: [clusters, features]."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)

    def score(self, input_fn: Callable[[], Any]) -> float:
        """Returns the sum of the distances of all examples of a batch to their centres, the mean over batches."""
        return float(self.evaluate(input_fn)[self.SCORE])

    def transform(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Yields the distances of each example of `input_fn` to all centres, as arrays."""
        for row in self.predict(input_fn, [self.ALL_DISTANCES]):
            yield row[self.ALL_DISTANCES]

    def predict_cluster_index(self, input_fn: Callable[[], Any]) -> Iterator[np.int32]:
        """Yields the number of the nearest centre of each example."""
        for row in self.predict(input_fn, [self.CLUSTER_INDEX]):
            yield row[self.CLUSTER_INDEX]


def _matrix(features: Any, columns: Iterable[Any] | None) -> Tensor:
    if columns is not None:
        return input_layer(features, columns)
    if not isinstance(features, Mapping):
        return cast(features, float32)
    parts = [cast(features[k], float32) for k in sorted(features)]
    return concat([EXPAND_DIMS(p, 1) if p.shape.ndims == 1 else p for p in parts], 1)
