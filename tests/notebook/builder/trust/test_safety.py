"""Ordinary graph code is drawn while it is typed, though nobody has run it; user data and the library stay as they are."""

import importlib
import sys

import numpy as np
import pytest
from builder_gestures import Editor

from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.trust.listed_functions import listed
from tfnb.notebook.builder.trust.pure_functions import is_pure

HEAD = "import numpy as np\nimport tfnb as tf\nx = tf.placeholder(tf.float32, [None, 4])\n"


@pytest.mark.parametrize(
    "line",
    [
        "w = tf.Variable(np.random.randn(4, 2).astype(np.float32) / np.sqrt(4))",
        "w = tf.constant(np.linspace(0, 1, 8).reshape([4, -1]), dtype=tf.float32)",
        "w = tf.get_variable('w', [4, 2], initializer=tf.glorot_uniform_initializer(), regularizer=None)",
        "w = tf.layers.dense(x, 2, activation=tf.nn.relu, kernel_initializer=tf.zeros_initializer())",
        "w = tf.transpose(x, perm=list(range(2)))[:, :len([1, 2])]",
        "w = tf.reshape(x, [-1, int(x.get_shape()[1]) // 2])",
        "w = tf.nn.rnn_cell.BasicLSTMCell(2).zero_state(tf.shape(x)[0], tf.float32).h",
        "w = tf.map_fn(lambda row: tf.reduce_sum(row) * np.ones(2, np.float32), x)",
        "w = tf.data.Dataset.from_tensor_slices(np.zeros([3, 2])).batch(2).make_one_shot_iterator().get_next()",
        "w = tf.distributions.Normal(loc=0.0, scale=1.0).sample([4, 2])",
        "w = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])",
        "w = tf.add_n([tf.nn.l2_loss(v) for v in [x]])",
        "w = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)",
        "w = tf.raw_ops.Relu(features=x)",
        "w = tf.contrib.layers.fully_connected(x, 2, normalizer_fn=tf.contrib.layers.batch_norm)",
        "w = tf.cond(tf.reduce_any(x > 0.0), lambda: x, lambda: -x)",
    ],
)
def test_a_line_of_ordinary_graph_code_is_built(line):
    document = Document(HEAD + line, is_trusted="for" in line)
    outcome = document.built.outcomes[-1]
    assert outcome.state == "built", (outcome.reason, outcome.error)


@pytest.mark.parametrize("is_trusted", [False, True])
def test_what_statements_do_to_the_notebooks_data_they_do_to_their_own(is_trusted):
    numbers, table, big = [1, 2], {"a": [1]}, np.zeros([300, 300])
    text = "numbers.append(3)\ntable.update(b=2)\ntable['a'].append(2)\nbig[0, 0] = 1.0\ny = tf.constant(numbers)\n"
    e = Editor(HEAD + text, known={"numbers": numbers, "table": table, "big": big}, is_trusted=is_trusted)
    assert e.shape("y") == [3]
    e.document.rebuild()
    assert (numbers, table, big[0, 0]) == ([1, 2], {"a": [1]}, 0.0) and e.shape("y") == [3]


@pytest.mark.parametrize("is_trusted", [False, True])
def test_an_import_binds_what_is_loaded_and_loads_nothing(is_trusted, tmp_path, monkeypatch):
    for name in ("tensorflow", "helper_of_a_stranger"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for line in (
        "import helper_of_a_stranger",
        "import tensorflow",
        "import tensorflow as t",
        "from helper_of_a_stranger import *",
        "from tensorflow import nn",
        "import os, helper_of_a_stranger",
        "from . import helper_of_a_stranger",
        "def f():\n    import helper_of_a_stranger",
    ):
        assert Document(HEAD + line, is_trusted=is_trusted).built.outcomes[-1].state == "not run", line
    assert not (tmp_path / "ran").exists() and "helper_of_a_stranger" not in sys.modules
    for line in ("import numpy as n", "from numpy import linalg", "import tfnb.nn as nn", "from math import pi"):
        assert Document(HEAD + line, is_trusted=is_trusted).built.outcomes[-1].state == "built", line


def test_listed_modules_are_there_and_no_function_is_listed_that_does_more():
    table = set(listed())
    for module in {module for module, _ in table}:
        importlib.import_module(module)
    assert len(table) > 1_000
    names = {name for _, name in listed()}
    more = "Session Server FileWriter eval_spec Import External LazyLoader py_func from_generator load_op_library run"
    assert not names & set(more.split())
    assert not any(
        is_pure(f) for f in (np.load, np.save, np.testing.runstring, np.info, np.ctypeslib, open, eval, print)
    )


def test_an_error_that_ends_programs_is_not_raised():
    for line in ("raise SystemExit", "raise KeyboardInterrupt", "exit()", "quit()"):
        assert Document(HEAD + line, is_trusted=True).built.outcomes[-1].state == "not run"
