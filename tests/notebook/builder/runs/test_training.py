"""A training in a thread: it reports its loss and its end, and always ends."""

import math
import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.builder.runs.feeds import MissingFeeds, WrongFeed, checked_feed
from tfnb.notebook.builder.runs.training import Training, duration


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


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([1.0, 2.0, 3.0], ""),
        ([1.0, math.nan, math.nan], "NaN since step 2"),
        ([math.inf, 1.0, math.nan], "inf at step 1"),
        ([1.0, 1.0, -math.inf], "-inf since step 3"),
    ],
)
def test_it_says_where_the_loss_broke_off(losses, words):
    points = trained(lambda feed: losses[feed["k"]], len(losses), lambda k: {"k": k})
    assert points[-1]["broken"] == words
    assert points[-1]["is_finite"] == math.isfinite(losses[-1])


def test_it_says_how_far_it_is_how_fast_and_how_long_it_will_take():
    points = trained(lambda feed: time.sleep(0.005) or 1.0, 120)
    running = [p["progress"] for p in points if p["state"] == "running"]
    assert running[0] == "1 of 120" or " of 120 · " in running[0]
    assert all(" of 120" in text for text in running)
    assert "/s · " in running[-1] and running[-1].endswith(" left")
    assert points[-1]["progress"] == "120 of 120"


def test_durations_for_readers():
    assert [duration(s) for s in (0.2, 80.4, 720, 12_600)] == ["0 s", "80 s", "12 min", "3.5 h"]


def test_a_wrong_feed_of_the_first_step_is_asked_for_again():
    def feeds(step):
        raise WrongFeed("x", "it has the shape [3]")

    (end,) = trained(lambda feed: 1.0, feeds=feeds)
    assert (end["state"], end["needs"]) == ("failed", ["x"]) and "feed of x" in end["message"]


def test_what_can_be_fed_to_a_placeholder():
    with tf.Graph().as_default():
        x, words = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.string, [])
    for value in (np.zeros([2, 4]), [[1, 2, 3, 4]], [[True] * 4]):
        assert checked_feed("x", "...", value, x) is value
    assert checked_feed("w", "'a'", "a", words) == "a"
    unknown = object()
    assert checked_feed("x", "...", unknown, x) is unknown
    for value in (np.zeros(4), 1.0, [[1.0, 2.0]], [[1.0], [1.0, 2.0]], [["a"] * 4]):
        with pytest.raises(MissingFeeds, match=r"the feed of x: np\.thing") as caught:
            checked_feed("x", "np.thing", value, x)
        assert caught.value.needs == ["x"]
    with pytest.raises(WrongFeed, match="float64, and w needs string"):
        checked_feed("w", "1.0", 1.0, words)
