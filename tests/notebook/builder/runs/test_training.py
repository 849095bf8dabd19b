"""A training in a thread: it reports its loss and its end, and always ends."""

import math
import threading
import time

from tfnb.notebook.builder.runs.training import Training


def trained(step, steps=5, feeds=lambda k: {}, after=None):
    points, ended = [], []
    training = Training("train", steps, step, feeds, points.append, lambda: ended.append(True))
    training.start()
    if after is not None:
        after(training)
    training.join()
    assert not training.running and ended == [True]
    assert not [t for t in threading.enumerate() if t.name == "tfnb-builder-training"]
    return points


def test_it_runs_its_steps():
    seen = []
    points = trained(lambda feed: feed["x"] / 2, feeds=lambda k: seen.append(k) or {"x": k})
    assert seen == [0, 1, 2, 3, 4]
    assert points[0]["state"] == "running" and points[0]["step"] == 1
    assert (points[-1]["state"], points[-1]["step"], points[-1]["value"]) == ("done", 5, 2.0)


def test_it_stops():
    def after(training):
        time.sleep(0.05)
        training.stop("stopped by the test")

    points = trained(lambda feed: time.sleep(0.001), 10**9, after=after)
    assert (points[-1]["state"], points[-1]["message"]) == ("stopped", "stopped by the test")
    assert 1 <= points[-1]["step"] < 10**6


def test_an_error_is_reported_and_a_loss_that_is_no_number_too():
    def step(feed):
        if feed["k"] == 2:
            raise ValueError("no more data")
        return math.nan

    points = trained(step, feeds=lambda k: {"k": k})
    assert (points[-1]["state"], points[-1]["step"]) == ("failed", 2)
    assert points[-1]["message"] == "step 3: ValueError: no more data"
    assert points[0]["message"] == "the loss is nan" and points[0]["value"] == 0.0
