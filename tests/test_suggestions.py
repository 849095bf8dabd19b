"""What the messages of wrong names propose: one error, not chained, with the near name or the line to write."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from inspect import signature

import numpy as np
import pytest

import tfnb as tf
from tfnb.suggestions import bound_arguments, did_you_mean, nearest


def dotted(path: str) -> object:
    value: object = tf
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nn.sofmax", "did you mean softmax"),
        ("train.AdamOptimiser", "did you mean AdamOptimizer"),
        ("reduce_summ", "did you mean reduce_sum"),
        ("contrib.layers.fully_conected", "did you mean fully_connected"),
        ("keras.layers.Dens", "did you mean Dense"),
        ("data.DataSet", "did you mean Dataset"),
        ("nn.rnn_cell.LSTMcell", "did you mean LSTMCell"),
        ("decode_png", r"it is tf\.image\.decode_png"),
        ("AdamOptimizer", r"it is tf\.train\.AdamOptimizer"),
        ("conv2d", r"it is tf\.nn\.conv2d"),
        ("nn.placeholder", r"it is tf\.placeholder"),
        ("function", "call f"),
        ("GradientTape", r"tf\.gradients"),
        ("random.set_seed", r"tf\.set_random_seed"),
        ("optimizers.Adam", r"tf\.train\.AdamOptimizer"),
        ("losses.MeanSquaredError", r"tf\.losses\.mean_squared_error"),
        ("config.list_physical_devices", r"tf\.list_devices"),
    ],
)
def test_a_wrong_name_is_one_error_with_the_right_one(path: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words) as caught:
        dotted(path)
    error = caught.value
    assert error.__context__ is None and error.__cause__ is None
    shown = "".join(traceback.format_exception_only(error)).lower()
    assert shown.count("did you mean") == ("did you mean" in words)  # Python adds no proposal of its own
    assert len(str(error).splitlines()) == 1


def test_a_name_that_is_near_to_nothing_has_no_proposal() -> None:
    with pytest.raises(AttributeError, match=r"^module 'tfnb.nn' has no attribute 'zzqqxx'$"):
        dotted("nn.zzqqxx")
    assert not hasattr(tf.nn, "zzqqxx") and not hasattr(tf, "__no_such_thing__")


def keywords(call: Callable[[], object]) -> str:
    with pytest.raises((TypeError, tf.OpError)) as caught:
        call()
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_a_private_name_has_no_proposal() -> None:
    """Tools ask for such names, and often; to look for near ones took a thousand times as long as the answer."""
    with pytest.raises(AttributeError, match=r"^module 'tfnb.nn' has no attribute '_relu'$"):
        tf.nn._relu  # noqa: B018


def test_a_wrong_keyword_names_the_function_and_the_near_keyword() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([1, 3])
        text = keywords(lambda: tf.layers.dense(x, 10, activaton=None))
        assert "dense() got an unexpected keyword argument 'activaton'; did you mean activation?" in text
        text = keywords(lambda: tf.nn.relu(x, nam="r"))
        assert "relu() got an unexpected keyword argument 'nam'; did you mean name?" in text
        text = keywords(lambda: tf.contrib.layers.conv2d(x, 3, 2, pading="SAME"))
        assert "convolution2d" in text and "did you mean padding?" in text
        text = keywords(lambda: tf.keras.layers.Dense(3, activaton="relu"))
        assert "Dense" in text and "did you mean activation?" in text


def test_a_tensor_is_no_number_and_no_array() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.5, name="x")
        y = tf.Variable(1.0, name="v") + 1.0
        for convert in (float, int, lambda t: t.numpy()):
            with pytest.raises((TypeError, AttributeError), match=r"x:0.*before a session runs it.*session\.run"):
                convert(x)
        for v in tf.Variable(1.0, name="v"), tf.get_variable("w", [], use_resource=True):
            with pytest.raises(AttributeError, match=rf"a session holds the value of {v.name}.*session\.run"):
                v.numpy()
            assert not hasattr(v, "numpy") and not hasattr(v, "no_such_thing")
        with pytest.raises(AttributeError, match=r"add:0 cannot be assigned to; a variable can: session\.run"):
            y.assign(3.0)
        assert not hasattr(x, "numpy") and not hasattr(y, "assign") and not hasattr(x, "no_such_thing")


def test_a_wrong_name_of_a_feed_or_a_fetch_is_answered_with_those_that_are_there() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], name="inputs")
        total = tf.reduce_sum(x, name="total")
        with pytest.raises(tf.OpError, match=r"cannot feed 'x'.*placeholders of the graph are 'inputs:0'"):
            sess.run(total, {"x": np.ones([2, 3])})
        with pytest.raises(tf.OpError, match=r"did you mean inputs\?"):
            sess.run(total, {"input:0": np.ones([2, 3])})
        with pytest.raises((ValueError, KeyError), match=r"did you mean total\?"):
            sess.run("totl:0", {x: np.ones([2, 3])})


def test_near_names() -> None:
    assert nearest("adam_optimizer", ["SGDOptimizer", "AdamOptimizer", "relu"])[0] == "AdamOptimizer"
    assert nearest("relu", ["relu"]) == [] and did_you_mean("q", ["relu"]) == ""
    assert did_you_mean("sofmax", ["softmax", "tanh"]) == "; did you mean softmax?"
    assert did_you_mean("conv", ["conv1d", "conv2d", "conv3d", "conv4d"]).startswith("; did you mean conv1d, conv2d or")


def test_arguments_that_fit_are_bound() -> None:
    form = signature(lambda a, *, b=1: a)
    assert bound_arguments(form, "f", [2], {"b": 3}) == {"a": 2, "b": 3}
    with pytest.raises(TypeError, match=r"f\(\) missing a required argument: 'a'"):
        bound_arguments(form, "f", [], {})


def test_labels_of_the_other_kind_are_sent_to_the_other_function() -> None:
    with tf.Graph().as_default():
        logits, numbers = tf.zeros([2, 10]), tf.constant([1, 2])
        with pytest.raises(ValueError, match="sparse_softmax_cross_entropy_with_logits"):
            tf.nn.softmax_cross_entropy_with_logits(labels=numbers, logits=logits)
        with pytest.raises(ValueError, match="one-hot labels are those of softmax_cross_entropy_with_logits"):
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.one_hot(numbers, 10, dtype=tf.int64), logits=logits
            )


@pytest.mark.opencl
def test_an_error_in_a_part_of_an_operation_names_the_operation() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        logits, labels = tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.int64, [None])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="loss")
        with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 11") as caught:
            sess.run(tf.reduce_mean(loss), {logits: np.zeros([2, 10]), labels: [3, 11]})
    shown = str(caught.value)
    assert "[node loss/SparseSoftmaxCrossEntropyWithLogits]" in shown and "#" not in shown and "LabelTerm" not in shown
