"""The optimizers of Keras take the steps that TensorFlow 1.15.5 takes, with its variables and their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.v1.keras.optimizer_steps import CASES, Custom, taken

WANTED = json.loads((Path(__file__).parent / "optimizer_steps.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.opencl


def _compare(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found["weights"]) == list(wanted["weights"])
    for name, value in wanted["weights"].items():
        np.testing.assert_allclose(found["weights"][name], value, rtol=2e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(found["values"], wanted["values"], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True], ids=["whole", "rows"])
@pytest.mark.parametrize("case", CASES)
def test_steps_of_an_optimizer(case: str, sparse: bool) -> None:
    name, arguments = CASES[case]
    with tf.Graph().as_default():
        found = taken(tf, getattr(tf.keras.optimizers, name)(**arguments), sparse)
    _compare(found, WANTED[case + (" rows" if sparse else "")])


@pytest.mark.parametrize("sparse", [False, True], ids=["whole", "rows"])
def test_steps_of_an_optimizer_that_a_user_wrote(sparse: bool) -> None:
    with tf.Graph().as_default():
        found = taken(tf, Custom(tf)(), sparse)
    _compare(found, WANTED["custom rows" if sparse else "custom"])
