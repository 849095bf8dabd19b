"""Programs in the style of 2016 build, run and learn. That they agree with TensorFlow: tests/oracle/test_programs.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf

SPEC = importlib.util.spec_from_file_location("loading", Path(__file__).parent / "loading.py")
loading = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(loading)
STEPS = 10


def test_there_are_many():
    assert len(loading.NAMES) >= 25


@pytest.mark.opencl
@pytest.mark.parametrize("name", loading.NAMES)
def test_its_loss_falls(name):
    program = loading.load(name)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        loss, train, feeds = program.build(tf, loading.Data(), program.RATE)
        session.run(tf.global_variables_initializer())
        first = [session.run([loss, train], feeds(step))[0] for step in range(STEPS)]
        again = [session.run([loss, train], feeds(step))[0] for step in range(STEPS)]
    assert np.all(np.isfinite(first + again))
    assert np.mean(again) < np.mean(first), (first, again)
