"""Answers to the exercises of 05_save_and_restore."""

import os

import numpy as np

import tfnb as tf
from tfnb.lessons.case import Kind


def half(session, path, weights, offsets):
    tf.train.Saver({"hidden/kernel": weights, "hidden/bias": offsets}).restore(session, path)


def the_latest(session, path, weights, offsets):
    half(session, tf.train.latest_checkpoint(os.path.dirname(path)), weights, offsets)


def through_numpy(session, path, weights, offsets):
    session.run(tf.assign(weights, tf.train.load_variable(path, "hidden/kernel")))
    session.run(tf.assign(offsets, tf.train.load_variable(path, "hidden/bias")))


def only_weights(session, path, weights, offsets):
    tf.train.Saver({"hidden/kernel": weights}).restore(session, path)


def by_their_names(session, path, weights, offsets):
    tf.train.Saver([weights, offsets]).restore(session, path)


def parameters(path, left_out=("Adam", "power", "global_step")):
    shapes = [shape for name, shape in tf.train.list_variables(path) if not any(word in name for word in left_out)]
    return int(sum(np.prod(shape) for shape in shapes))


def by_a_graph(path):
    tf.train.import_meta_graph(path + ".meta")
    return parameters(path)


def kept(saves, max_to_keep, keep_best):
    best = sorted(saves, key=lambda save: -save[1])[:keep_best]
    return sorted({step for step, _ in [*saves[-max_to_keep:], *best]})


def only_the_latest(saves, max_to_keep, keep_best):
    return [step for step, _ in saves[-max_to_keep:]]


def latest_and_best(saves, max_to_keep, keep_best):
    latest = saves[-max_to_keep:]
    return sorted(step for step, _ in [*latest, *sorted(saves, key=lambda save: -save[1])[:keep_best]])


def with_a_graph(saves, max_to_keep, keep_best):
    tf.train.Saver([tf.Variable(0.0)], max_to_keep=max_to_keep, keep_best=keep_best)
    return kept(saves, max_to_keep, keep_best)


ANSWERS = {
    "5.1": {
        Kind.RIGHT: half,
        Kind.SHAPE: "hidden/kernel",
        Kind.VALUE: only_weights,
        Kind.FORBIDDEN: through_numpy,
        Kind.ONCE: the_latest,
        Kind.RAISES: by_their_names,
    },
    "5.2": {
        Kind.RIGHT: parameters,
        Kind.SHAPE: tf.train.list_variables,
        Kind.VALUE: lambda path: parameters(path, ()),
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: lambda path: 24,
        Kind.RAISES: lambda path: parameters(path + "-7"),
    },
    "5.3": {
        Kind.RIGHT: kept,
        Kind.SHAPE: lambda saves, max_to_keep, keep_best: max_to_keep + keep_best,
        Kind.VALUE: only_the_latest,
        Kind.FORBIDDEN: with_a_graph,
        Kind.ONCE: latest_and_best,
        Kind.RAISES: lambda saves, max_to_keep, keep_best: sorted(saves, key=lambda save: save[2]),
    },
}
SECRETS = {
    "5.1": ('{"hidden/kernel": weights', "Saver({"),
    "5.2": ("24", "22"),
    "5.3": ("200, 400, 500", "200", "saves[-max_to_keep:]"),
}
