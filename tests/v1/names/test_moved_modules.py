"""Modules under the names that they had before they moved into tfnb/v1."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tfnb as tf
from tfnb.v1.names.moved_modules import MOVED

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.mark.parametrize("old", sorted(MOVED))
def test_the_module_of_an_old_name_is_that_of_the_new_one(old):
    module = import_module(f"tfnb.{old}")
    assert module is import_module(f"tfnb.{MOVED[old]}") is sys.modules[f"tfnb.{old}"]
    assert module.__spec__.name == module.__name__ == f"tfnb.{MOVED[old]}"


def test_modules_below_a_moved_package_and_unknown_ones():
    import tfnb.client.contrib.rnn_cells.fused as old

    from tfnb.v1.contrib.rnn_cells import fused

    assert old is fused
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        import_module("tfnb.client.contrib.nothing")


def test_a_pickle_from_before_the_move_loads_in_a_new_process():
    """The file was written by version 0.1 of tfnb when its modules were still in `client`, `train` and `tf_keras`."""
    program = (
        "import pickle, sys, tfnb as tf\n"
        "params, run, *rest = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert params.values() == {'rate': 0.5, 'layers': [3, 4], 'name': 'a'}, params\n"
        "assert type(run) is tf.estimator.RunConfig and run.save_summary_steps == 7\n"
        "assert rest[0] is tf.estimator.ModeKeys and rest[1] is tf.contrib.crf.crf_log_norm\n"
        "assert rest[2] is tf.keras.layers.Dense and type(rest[3]) is tf.keras.initializers.Zeros\n"
        "assert rest[4] is tf.contrib.learn.RunConfig and rest[5] is tf.contrib.distributions.Normal\n"
        "assert type(rest[6]) is tf.contrib.seq2seq.BasicDecoderOutput and rest[6].sample_id == 2\n"
        "assert rest[7] is tf.contrib.opt.AdaMaxOptimizer and rest[8] == tf.TensorSpec([2, 3], tf.float32)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(DATA / "pickled_by_0_1.pickle")], check=True)


def test_what_is_pickled_now_names_the_new_places():
    assert b"tfnb.v1.contrib.training.hparams" in pickle.dumps(tf.contrib.training.HParams(a=1))
