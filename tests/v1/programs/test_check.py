"""`tfnb check` reads programs: what is missing, which arguments are not taken, what has no effect, what differs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tfnb.v1.programs.check import _ERA_DECIDES, _find, check
from tfnb.v1.programs.command_line import main
from tfnb.v1.programs.errors import ProgramSyntaxError
from tfnb.v1.programs.hook import tensorflow_of

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_programs_that_run_have_nothing_missing(path):
    report = check(path.read_text())
    assert report.missing == report.calls == [] and report.names >= 8


def test_missing_names_by_line():
    report = check("""
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.python.ops import rnn_cell as cells
from tensorflow.contrib import tpu
from tensorflow.contrib.nothing import at_all

x = tf.nn.reluu(tf.zeros([2]))
y = slim.no_such_layer(x)
y = slim.no_such_layer(y)
cell = cells.NoSuchCell(3)
keys = tf.GraphKeys.NO_SUCH_KEY
tf.app.flags.FLAGS.batch_size
""")
    assert report.missing == [
        "6: tf.contrib.nothing",
        "8: tf.nn.reluu (similar: tf.nn.relu, tf.nn.relu6, tf.nn.crelu)",
        "9, 10: tf.contrib.slim.no_such_layer",
        "11: tf.python.ops.rnn_cell.NoSuchCell",
        "12: tf.GraphKeys.NO_SUCH_KEY",
    ]


def test_what_a_program_can_do_without_is_not_missing():
    report = check("""
import tensorflow as tf
try:
    from tensorflow.contrib.tpu import one
except ImportError:
    one = None
if hasattr(tf, 'no_such'):
    tf.no_such()
z = tf.no_such_thing() if hasattr(tf, 'no_such_thing') else tf.zeros([1])
try:
    tf.gone()
finally:
    pass
""")
    assert [text.partition(" (")[0] for text in report.guarded] == [
        "4: tf.contrib.tpu.one",
        "8: tf.no_such",
        "9: tf.no_such_thing",
    ]
    assert report.missing == ["11: tf.gone"]


def test_names_are_followed_in_their_scope():
    report = check("""
import tensorflow as tf
import tensorflow
layers = tf.contrib.layers
slim = tf.contrib.slim

def model(layers, x):
    return layers.not_of_tensorflow(x), slim.gone_1(x), later.gone_2(x), (lambda tf: tf.not_either)(x)

class Net:
    def build(self):
        nn = tf.nn
        self.tf = nn.gone_3
        for slim in range(3):
            slim.not_a_module
        return self.tf.not_of_tensorflow

later = tensorflow.nn
layers.gone_4
later = object()
tf.nn = 3
""")
    assert [text.partition(" (")[0] for text in report.missing] == [
        "8: tf.contrib.slim.gone_1",
        "13: tf.nn.gone_3",
        "19: tf.contrib.layers.gone_4",
    ]


def test_calls_and_what_differs():
    report = check("""
import tensorflow as tf
a = tf.nn.relu(x, nmae='relu')
b = tf.nn.relu(x, 'relu', 3, *rest)
c = tf.reshape(x, [1], 'name', 4)
d = tf.nn.dynamic_rnn(cell, x, **options)
e = tf.matmul(x, x, a_is_sparse=True)
values, _ = tf.nn.top_k(x, 3)
loss = tf.nn.weighted_cross_entropy_with_logits(x, y, 2.0)
f = tf.log(x)
""")
    assert report.missing == []
    assert report.calls == ["3: tf.nn.relu: nmae=", "5: tf.reshape: 4 positional arguments"]
    assert report.without_effect == ["7: tf.matmul: a_is_sparse= (zeros are multiplied as other numbers are)"]
    assert "8: tf.nn.top_k: where NaN stands in the order is not defined" in report.differs
    assert report.differs[-1].startswith("9: tf.nn.weighted_cross_entropy_with_logits: 0.x gave the logits first")
    assert not any("log" in text.split(":")[1] for text in report.differs[:-1])


def test_calls_that_the_era_decides_are_told():
    """Calls that run in each era, with other values: an order of arguments that no type tells apart, another rule."""
    program = """
import tensorflow as tf
a = tf.nn.log_poisson_loss(x, y)
b = tf.nn.log_poisson_loss(targets=y, log_input=x)
c = tf.losses.mean_pairwise_squared_error(labels=y, predictions=x)
d = tf.metrics.mean_per_class_accuracy(y, x, 3)
e = tf.image.adjust_gamma(x, 0.5)
"""
    told = [text for text in check(program).differs if text.endswith("; say --era")]
    assert [text.partition(":")[0] for text in told] == ["3", "5", "6", "7"]
    assert told[0] == (
        "3: tf.nn.log_poisson_loss: 0.x gave the logarithm of the prediction first, 1.x the targets; say --era"
    )
    assert not any("era" in text for text in check(program, "0.12").differs)


@pytest.mark.parametrize("era", [None, "0.12"])
def test_positions_that_moved_are_told(era):
    program = """
import tensorflow as tf
a = tf.contrib.rnn.LSTMBlockCell(3, 1.0, True)
b = tf.contrib.rnn.LSTMBlockCell(3, 1.0, use_peephole=True)
c = tf.train.SyncReplicasOptimizer(opt, 2, None, None, 0, 4)
d = tf.train.SyncReplicasOptimizer(opt, 2, total_num_replicas=4)
"""
    told = check(program, era).differs
    assert [text.partition(":")[0] for text in told if text.endswith("; give it by its name")] == ["3", "5"]


# Of what the eras replace: what refuses calls that later versions take, finds an older order of arguments by types, or
# names variables otherwise, so that no program runs on with other values.
SILENT = (
    "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_negative "
    "assert_non_negative assert_non_positive assert_positive matrix_determinant concat lbeta ones_initializer "
    "reduce_join segment_max segment_mean segment_min segment_prod segment_sum sequence_mask sparse_segment_mean "
    "sparse_segment_sqrt_n sparse_segment_sum split string_split unsorted_segment_sum zeros_initializer gfile.GFile "
    "image.crop_to_bounding_box image.pad_to_bounding_box image.resize_image_with_crop_or_pad nn.in_top_k "
    "nn.bidirectional_dynamic_rnn nn.dynamic_rnn nn.raw_rnn nn.separable_conv2d nn.static_bidirectional_rnn "
    "nn.static_rnn nn.static_state_saving_rnn"
).split()


def test_whatever_has_other_values_in_an_era_is_told_or_cannot_run_on():
    now = tensorflow_of(None)
    decided = [path for path in _ERA_DECIDES if "differs" in str(check(f"import tensorflow as tf\ntf.{path}(a, b)"))]
    for era in ("0.12", "1.5"):
        then = tensorflow_of(era)
        listed = {id(_find(now, path)[0]) for path in [*decided, *SILENT]}
        for place in ("", *(name for name in dir(now) if name not in ("python", "core", "contrib", "compat", "keras"))):
            module, early = _find(now, place)[0], _find(then, place)[0]
            for name in dir(module) if isinstance(module, ModuleType) else ():
                value = getattr(module, name, None)
                changed = callable(value) and value is not getattr(early, name, None)
                assert not changed or id(value) in listed, f"{place}.{name} in {era}"


def test_a_program_of_python_2():
    with pytest.raises(ProgramSyntaxError, match=r"program\.py:2: print 'loss', x\nif this is a program of Python 2"):
        check("import tensorflow as tf\nprint 'loss', x\n", name="program.py")


def test_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "one.py").write_text("import tensorflow as tf\ntf.gone\n")
    (tmp_path / "two.py").write_text("print 'hello'\n")
    (tmp_path / "three.py").write_text("import os\n")
    (tmp_path / "fine.py").write_text("raise SystemExit\nimport tensorflow as tf\ntf.zeros([1])\n")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "."]) == 1
    assert main(["check", "--era", "0.12", "fine.py", "three.py"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "fine.py: 1 names of TensorFlow, 0 missing",
        "one.py: 1 names of TensorFlow, 1 missing",
        "missing:",
        "  2: tf.gone",
    ]
    assert lines[4].startswith("two.py: Missing parentheses") and lines[6:] == lines[:1]
    assert "tensorflow" not in sys.modules
