"""Errors: TensorFlow's attributes, constructors and codes; copies and pickles."""

from __future__ import annotations

import copy
import pickle

import pytest

import tfnb as tf
from tfnb import errors
from tfnb.train.hooks.basic_hooks import NanLossDuringTrainingError

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.OpError)]


def failed():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [], name="x")
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(tf.string_to_number(x, name="number"), {x: "nine"})
    return caught.value


def test_what_a_failed_step_says():
    e = failed()
    assert tf.OpError is tf.errors.OpError and isinstance(e, tf.OpError) and tf.VERSION.startswith("1.")
    assert (e.op.name, e.op.type) == ("number", "StringToNumber") and e.node_def.name == "number"
    assert e.error_code == tf.errors.INVALID_ARGUMENT == 3 and "nine" in e.message


@pytest.mark.parametrize("kind", CLASSES)
def test_both_ways_to_make_one(kind):
    definition = tf.NodeDef(name="n", op="NoOp")
    with tf.Graph().as_default():
        op = tf.no_op()
    ours, theirs = kind("text", op), kind(None, None, "text")
    assert ours.message == theirs.message == "text" and ours.op is op and theirs.op is None
    assert ours.args == theirs.args == ("text",)
    found = kind(node_def=definition, op=op, message="text")
    assert (found.node_def, found.op, found.message, found.error_code) == (definition, op, "text", kind.code)
    assert kind(None, op, message="text").op is op and kind(ValueError("text")).message == "text"
    with pytest.raises(TypeError):
        kind(None, None)


def test_the_base_class_takes_a_code():
    assert tf.OpError(None, None, "text", tf.errors.ABORTED).error_code == 10
    assert str(tf.errors.OutOfRangeError(None, None, "")) == ""


def test_codes_and_classes():
    for code in range(1, 17):
        assert errors.error_code_from_exception_type(errors.exception_type_from_error_code(code)) == code
    assert errors.exception_type_from_error_code(tf.errors.OUT_OF_RANGE) is tf.errors.OutOfRangeError
    assert errors.error_code_from_exception_type(errors.ShapeError) == tf.errors.INVALID_ARGUMENT


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies(again):
    e = failed()
    found = again(e)
    assert type(found) is type(e) and str(found) == str(e) and found.error_code == e.error_code
    assert (found.op.name, found.op.type) == ("number", "StringToNumber")
    for kind in [*CLASSES, NanLossDuringTrainingError]:
        assert again(kind("text")).message == "text"
    log = again(errors.KernelBuildError("text", None, log="a log", source_path="a path"))
    assert (log.log, log.source_path) == ("a log", "a path")


def test_an_error_of_a_program_s_function_arrives_as_it_is():
    def read():
        raise tf.errors.OutOfRangeError(None, None, "no more")

    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.py_func(read, [], tf.float32)
        with pytest.raises(tf.errors.OutOfRangeError, match="no more"):
            session.run(value)


def test_a_finalized_graph_is_a_runtime_error_too():
    graph = tf.Graph()
    graph.finalize()
    with graph.as_default(), pytest.raises(RuntimeError, match="finalized") as caught:
        tf.constant(1)
    assert isinstance(caught.value, errors.GraphError)
