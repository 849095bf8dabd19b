"""Sampled losses against real TensorFlow, with the same sampled classes on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pairs import compare

from tfnb.client.losses_metrics.sampled_losses import nce_loss, sampled_softmax_loss

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
LABELS = np.array([[0, 2], [3, 1], [4, 2]], np.int64)
SAMPLED = np.array([5, 2, 0], np.int64)


@pytest.mark.parametrize("name", ["nce_loss", "sampled_softmax_loss"])
@pytest.mark.parametrize("remove", [False, True])
def test_same_samples(name: str, remove: bool) -> None:
    rng = np.random.default_rng(1)
    counts = rng.random((3, 2)).astype(np.float32), rng.random(3).astype(np.float32)

    def arguments(w: Any, b: Any, x: Any) -> dict[str, Any]:
        return {
            "weights": w,
            "biases": b,
            "labels": LABELS,
            "inputs": x,
            "num_sampled": 3,
            "num_classes": 6,
            "num_true": 2,
            "remove_accidental_hits": remove,
        }

    def ours(tf: Any, w: Any, b: Any, x: Any) -> Any:
        call = nce_loss if name == "nce_loss" else sampled_softmax_loss
        return call(**arguments(w, b, x), sampled_values=(SAMPLED, *counts))

    def theirs(tf: Any, w: Any, b: Any, x: Any) -> Any:
        values = (tf.constant(SAMPLED), *(tf.cast(c, w.dtype) for c in counts))
        return getattr(tf.nn, name)(**arguments(w, b, x), sampled_values=values)

    compare(
        ours,
        rng.standard_normal((6, 4)),
        rng.standard_normal(6),
        rng.standard_normal((3, 4)),
        order=1,
        theirs=theirs,
    )
