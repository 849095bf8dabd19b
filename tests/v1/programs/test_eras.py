"""With an era, arguments, states and names of variables are those of its TensorFlow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfnb
from tfnb.v1.programs import hook
from tfnb.v1.programs.hook import tensorflow_of

ROOT = Path(__file__).resolve().parents[3]
CHECKPOINT = ROOT / "tests" / "data" / "checkpoints" / "lstm_012"
# What TensorFlow 0.12.1 prints for programs/lstm_012.py, which has written the checkpoint there, too.
EXPECTED = """\
model/BiRNN/BW/BasicRNNCell/Linear/Bias [3]
model/BiRNN/BW/BasicRNNCell/Linear/Matrix [7, 3]
model/BiRNN/FW/GRUCell/Candidate/Linear/Bias [3]
model/BiRNN/FW/GRUCell/Candidate/Linear/Matrix [7, 3]
model/BiRNN/FW/GRUCell/Gates/Linear/Bias [6]
model/BiRNN/FW/GRUCell/Gates/Linear/Matrix [7, 6]
model/RNN/MultiRNNCell/Cell0/BasicLSTMCell/Linear/Bias [20]
model/RNN/MultiRNNCell/Cell0/BasicLSTMCell/Linear/Matrix [9, 20]
model/RNN/MultiRNNCell/Cell1/BasicLSTMCell/Linear/Bias [20]
model/RNN/MultiRNNCell/Cell1/BasicLSTMCell/Linear/Matrix [10, 20]
model/dynamic/RNN/LSTMCell/B [20]
model/dynamic/RNN/LSTMCell/W_0 [7, 20]
model/dynamic/RNN/LSTMCell/W_F_diag [5]
model/dynamic/RNN/LSTMCell/W_I_diag [5]
model/dynamic/RNN/LSTMCell/W_O_diag [5]
model/dynamic/RNN/LSTMCell/W_P_0 [5, 3]
total 50.2244
"""


@pytest.mark.opencl
def test_a_checkpoint_of_the_time_loads(tmp_path):
    program = Path(__file__).parent / "programs" / "lstm_012.py"
    command = [sys.executable, "-m", "tfnb", "--era", "0.12", str(program), str(CHECKPOINT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TFNB_QUIET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.stdout == EXPECTED, done.stderr


@pytest.fixture
def graph():
    with tfnb.Graph().as_default() as graph:
        yield graph


@pytest.mark.usefixtures("graph")
def test_orders_of_arguments():
    early, late = tensorflow_of("0.12"), tensorflow_of("1.15")
    x = np.arange(6, dtype="f").reshape(2, 3)
    with tfnb.Session() as session:
        assert np.array_equal(session.run(early.concat(0, tfnb.constant(x))), x)
        assert np.array_equal(session.run(early.concat(1, [x, x])), session.run(late.concat([x, x], 1)))
        assert np.array_equal(session.run(early.split(1, 3, x)), session.run(late.split(x, 3, 1)))
        for name, rest in (("weighted_cross_entropy_with_logits", [2.0]), ("log_poisson_loss", [True])):
            then, now = getattr(early.nn, name), getattr(late.nn, name)
            assert np.array_equal(session.run(then(x, x + 1, *rest)), session.run(now(x + 1, x, *rest)))
        with pytest.raises(tfnb.errors.InvalidArgumentError, match=r"use tf\.pack instead"):  # 0.12 has no tf.stack
            early.concat(0, [tfnb.constant(1), tfnb.constant(2)])
    assert early.python.ops.array_ops.concat is early.concat is not tfnb.concat is late.concat


@pytest.mark.usefixtures("graph")
def test_the_state_of_cells():
    """Up to 0.10 it is one tensor, unless the program says otherwise."""
    first, early = tensorflow_of("0.6").nn.rnn_cell, tensorflow_of("0.12").nn.rnn_cell
    assert first.BasicLSTMCell(4).state_size == first.LSTMCell(4).state_size == 8
    assert first.MultiRNNCell([first.BasicLSTMCell(4)] * 2).state_size == 16
    assert first.BasicLSTMCell(4, 1.0, None, True).state_size == early.BasicLSTMCell(4).state_size == (4, 4)
    assert isinstance(first.LSTMCell(4), tfnb.nn.rnn_cell.RNNCell)
    cell = early.LSTMCell(5, num_proj=4, num_unit_shards=2, num_proj_shards=3)
    cell(tfnb.ones([2, 3]), cell.zero_state(2, tfnb.float32), scope="cut")
    shapes = {v.op.name: v.shape.as_list() for v in tfnb.global_variables() if v.op.name.startswith("cut/W")}
    rows = {"cut/W_0": 4, "cut/W_1": 3, "cut/W_P_0": 2, "cut/W_P_1": 2, "cut/W_P_2": 1}
    assert {name: shape[0] for name, shape in shapes.items()} == rows
    many = early.LSTMCell(2, num_proj=4, num_proj_shards=4)
    with pytest.raises(tfnb.errors.InvalidArgumentError, match="Too many shards"):
        many(tfnb.ones([2, 3]), many.zero_state(2, tfnb.float32), scope="too_many")


def test_cells_of_a_scope_share_variables(graph):
    """0.x does not make the scope of a second cell unique."""
    cells = tensorflow_of("0.6").nn.rnn_cell
    with tfnb.variable_scope("a"):
        cells.GRUCell(2)(np.zeros([1, 2], "f"), np.zeros([1, 2], "f"))
        tfnb.get_variable_scope().reuse_variables()
        cells.GRUCell(2)(np.zeros([1, 2], "f"), np.zeros([1, 2], "f"))
    assert len(tfnb.global_variables()) == 4
    assert tfnb.global_variables()[0].op.name == "a/GRUCell/Gates/Linear/Matrix"


@pytest.mark.usefixtures("graph")
def test_the_linear_map_has_the_names_of_the_era():
    early = tensorflow_of("0.12")
    x = tfnb.zeros([2, 3])
    early.python.ops.rnn_cell._linear([x, x], 4, True, 1.0)
    early.python.ops.rnn_cell._linear(x, 4, False, scope="map")
    assert [v.name for v in tfnb.global_variables()] == ["Linear/Matrix:0", "Linear/Bias:0", "map/Matrix:0"]


@pytest.mark.parametrize(("era", "second"), [("0.6", "W"), ("0.12", "W"), ("1.5", "W"), ("1.15", "W_1"), (None, "W_1")])
def test_names_that_differ_in_the_case_of_letters(era, second):
    with hook.installation(era) as tf, tf.Graph().as_default() as graph:
        assert [tf.no_op(name="w").name, tf.no_op(name="W").name] == ["w", second]
    with graph.as_default():  # a graph keeps the rule that it was created with
        assert tfnb.no_op(name="V").name == "V"
        assert tfnb.no_op(name="v").name == {"W": "v", "W_1": "v_1"}[second]
    with tfnb.Graph().as_default():
        assert [tfnb.no_op(name="w").name, tfnb.no_op(name="W").name] == ["w", "W_1"]
