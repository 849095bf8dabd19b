"""Answers to the exercises of 06_viewer."""

import tfnb as tf
from tfnb.lessons.case import Kind


def summaries(losses, weights):
    loss = tf.summary.scalar("train/loss", tf.reduce_mean(losses))
    return tf.summary.merge([loss, tf.summary.histogram("hidden/weights", weights)])


def other_tags(losses, weights):
    with tf.name_scope("train"):
        loss = tf.summary.scalar("train/loss", tf.reduce_mean(losses))
    return tf.summary.merge([loss, tf.summary.histogram("hidden/weights", weights)])


def by_python(losses, weights):
    def made(losses, weights):
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(summaries(tf.constant(losses), tf.constant(weights)))

    return tf.py_func(made, [losses, weights], tf.string)


def of_four(losses, weights):
    loss = tf.summary.scalar("train/loss", tf.reduce_sum(losses) / 4)
    return tf.summary.merge([loss, tf.summary.histogram("hidden/weights", weights)])


def smoothed(values, weight):
    mean = total = 0.0
    out = []
    for value in values:
        mean, total = weight * mean + (1 - weight) * value, weight * total + (1 - weight)
        out.append(mean / total)
    return out


def from_zero(values, weight):
    mean, out = 0.0, []
    for value in values:
        mean = weight * mean + (1 - weight) * value
        out.append(mean)
    return out


def by_a_graph(values, weight):
    tf.constant(values)
    return smoothed(values, weight)


def last_losses(folder):
    events = tf.read_events(folder)
    return {run: events.series(run, "train/loss")["value"][-1] for run in ("slow", "quick", "steady")}


def best(folder):
    losses = last_losses(folder)
    return min(losses, key=losses.get)


def least(folder):
    events = tf.read_events(folder)
    return min(("slow", "quick", "steady"), key=lambda run: events.series(run, "train/loss")["value"].min())


def best_by_a_graph(folder):
    tf.constant(0.0)
    return best(folder)


ANSWERS = {
    "6.1": {
        Kind.RIGHT: summaries,
        Kind.SHAPE: lambda losses, weights: [tf.summary.scalar("train/loss", losses[0]), weights],
        Kind.VALUE: other_tags,
        Kind.FORBIDDEN: by_python,
        Kind.ONCE: of_four,
        Kind.RAISES: lambda losses, weights: tf.summary.scalar("train/loss", losses),
    },
    "6.2": {
        Kind.RIGHT: smoothed,
        Kind.SHAPE: lambda values, weight: smoothed(values, weight)[-1],
        Kind.VALUE: from_zero,
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: lambda values, weight: smoothed(values, 0.6),
        Kind.RAISES: lambda values, weight: weight * values,
    },
    "6.3": {
        Kind.RIGHT: best,
        Kind.SHAPE: lambda folder: min(last_losses(folder).values()),
        Kind.VALUE: least,
        Kind.FORBIDDEN: best_by_a_graph,
        Kind.ONCE: lambda folder: "steady",
        Kind.RAISES: lambda folder: tf.read_events(folder).series("fast", "train/loss"),
    },
}
SECRETS = {
    "6.1": ("merge([", 'scalar("train/loss", tf.reduce_mean'),
    "6.2": ("mean / total", "2.75", "weight * mean"),
    "6.3": ("steady", "1.5", "[-1]"),
}
