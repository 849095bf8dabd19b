"""Answers to the exercises of 15_old_programs."""

import contextlib
import re

import tfnb as tf
from tfnb.lessons.case import Kind

ERAS = ("1.15", "1.5", "0.12", "0.6")


def runs(text, era, graph):
    tf.install(era)
    try:
        with graph:
            exec(text, {})
        return True
    except Exception:
        return False
    finally:
        tf.uninstall()


def era_of(text):
    return next(era for era in ERAS if runs(text, era, tf.Graph().as_default()))


def first_era(text):
    return next(era for era in reversed(ERAS) if runs(text, era, tf.Graph().as_default()))


def leaves_nodes(text):
    return next(era for era in ERAS if runs(text, era, contextlib.nullcontext()))


def leaves_a_module(text):
    era = era_of(text)
    tf.install(era)
    return era


def without_care(text):
    with tf.Graph().as_default():
        tf.install("1.15")
        exec(text, {})
    return "1.15"


def losses_of(scores, marks):
    a, b = tf.split(scores, 2, axis=1)
    loss = tf.nn.weighted_cross_entropy_with_logits
    return tf.stack([loss(targets=marks, logits=part, pos_weight=4.0) for part in (a, b, (a + b) * 0.5)])


def by_position(scores, marks):
    a, b = tf.split(scores, 2, axis=1)
    return tf.stack([tf.nn.weighted_cross_entropy_with_logits(part, marks, 4.0) for part in (a, b, (a + b) * 0.5)])


def half_ported(scores, marks):
    a, b = tf.split(1, 2, scores)
    mean = tf.mul(tf.add(a, b), 0.5)
    return tf.pack([tf.nn.weighted_cross_entropy_with_logits(marks, part, 4.0) for part in (a, b, mean)])


def renamed(name):
    if "RNN/" not in name:
        return name
    parts = name.replace("/Linear/Matrix", "/kernel").replace("/Linear/Bias", "/bias")
    for part in ("MultiRNNCell", "BasicLSTMCell", "GRUCell", "RNN", "Gates", "Candidate"):
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", part).lower()
        parts = re.sub(rf"(?<![A-Za-z]){part}/", f"{snake}/", parts)
    return re.sub(r"/Cell(\d)", r"/cell_\1", parts)


def by_a_graph(name):
    with tf.variable_scope("net"):
        tf.get_variable("w", [1])
    return renamed(name)


ANSWERS = {
    "15.1": {
        Kind.RIGHT: era_of,
        Kind.SHAPE: lambda text: float(era_of(text)),
        Kind.VALUE: first_era,
        Kind.FORBIDDEN: leaves_nodes,
        Kind.ONCE: lambda text: "0.12",
        Kind.RAISES: without_care,
    },
    "15.2": {
        Kind.RIGHT: losses_of,
        Kind.SHAPE: lambda scores, marks: losses_of(scores, marks)[0],
        Kind.VALUE: by_position,
        Kind.FORBIDDEN: half_ported,
        Kind.ONCE: lambda scores, marks: losses_of(tf.reshape(scores, [3, 4]), marks),
        Kind.RAISES: lambda scores, marks: losses_of(tf.split(scores, 2, axis=0)[0], marks),
    },
    "15.3": {
        Kind.RIGHT: renamed,
        Kind.SHAPE: lambda name: [renamed(name)],
        Kind.VALUE: lambda name: renamed(name.lower()),
        Kind.FORBIDDEN: by_a_graph,
        Kind.ONCE: lambda name: name.replace("RNN/BasicLSTMCell/Linear/Matrix", "rnn/basic_lstm_cell/kernel"),
        Kind.RAISES: lambda name: name.split("/")[9],
    },
}
SECRETS = {
    "15.1": ("exec(text, {})", "tf.Graph().as_default()"),
    "15.2": ("targets=marks", "tf.stack"),
    "15.3": ("basic_lstm_cell", "multi_rnn_cell", "kernel", "cell_0"),
}
