"""`tf.contrib.learn.KMeansClustering`: K-means as an estimator of contrib.learn, with `fit`, `score` and `clusters`.

`tf.contrib.factorization.KMeansClustering` is a core estimator of the same clustering (`clustering.py`). Invariant:
both train the graph of `KMeans`, so from equal centres they reach equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.losses_metrics import metrics
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.state.variables import assign_add
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.v1.estimators.spec import RunConfig
from tfnb.v1.learn import clustering
from tfnb.v1.learn.estimator import Estimator
from tfnb.v1.learn.model_fn import ModelFnOps

__all__ = ["KMeansClustering"]

Input = Callable[[], Any]


class KMeansClustering(Estimator):
    """An estimator of contrib.learn that clusters; see `tf.contrib.factorization.KMeans` for the arguments.

    relative_tolerance: the training ends when the loss changes by less than this share. An input function gives a
    matrix, or a dict of matrices that are put side by side, and no labels.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = clustering.RANDOM_INIT, clustering.KMEANS_PLUS_PLUS_INIT
    SCORES, CLUSTER_IDX, CLUSTERS, ALL_SCORES = "scores", "cluster_idx", "clusters", "all_scores"
    LOSS_OP_NAME = "kmeans_loss"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: str | TensorLike | Callable[..., Any] = clustering.RANDOM_INIT,
        distance_metric: str = clustering.SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: RunConfig | None = None,
    ) -> None:
        def model_fn(features: Any, labels: object, mode: str) -> ModelFnOps:
            if labels is not None:
                raise InvalidArgumentError("KMeansClustering: the input function gives labels; clustering has none")
            matrix = concat([features[k] for k in sorted(features)], 1) if isinstance(features, Mapping) else features
            every, nearest, scores, _, init, step = clustering.KMeans(
                matrix,
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                random_seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = reduce_sum(scores[0], name=self.LOSS_OP_NAME)
            with control_dependencies([step]):
                train = assign_add(get_global_step(), 1)
            hooks: list[SessionRunHook] = [clustering.InitialCentres(init)]
            if relative_tolerance is not None:
                hooks.append(clustering.StopWhenStill(loss, relative_tolerance))
            predictions = {self.ALL_SCORES: every[0], self.CLUSTER_IDX: nearest[0]}
            return ModelFnOps(
                mode, predictions, loss, train, eval_metric_ops={self.SCORES: metrics.mean(loss)}, training_hooks=hooks
            )

        super().__init__(model_fn, model_dir, config)

    def clusters(self) -> np.ndarray:
        """Returns the centres: [clusters, features]."""
        return self.get_variable_value(self.CLUSTERS)

    def score(self, input_fn: Input | None = None, steps: int | None = None) -> float:
        """Returns the sum of the distances of all examples to their centres."""
        return float(np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES]))

    def transform(self, input_fn: Input | None = None, as_iterable: bool = False) -> Any:
        """Returns the distances of each example to all centres, as one array or row by row."""
        results = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        return results if as_iterable else results[self.ALL_SCORES]

    def predict_cluster_idx(self, input_fn: Input | None = None) -> Iterator[Any]:
        """Yields the number of the nearest centre of each example."""
        for result in self.predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield result[self.CLUSTER_IDX]
