"""The type stubs say what is there: they are up to date, and tools that read them know the public names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = jedi.Project(str(ROOT))

# name -> the first words of what an editor shows of it
NAMES = {
    "tf.nn.relu": "relu(features: TensorLike, name: str | None=None) -> Tensor",
    "tf.nn.conv2d": "conv2d(input: TensorLike, filter: TensorLike | None=None, strides: ",
    "tf.nn.max_pool": "max_pool(value: ",
    "tf.nn.dynamic_rnn": "dynamic_rnn(cell: CellLike, inputs: TensorLike, ",
    "tf.nn.softmax_cross_entropy_with_logits": "softmax_cross_entropy_with_logits(",
    "tf.nn.rnn_cell.LSTMCell": "LSTMCell(num_units: int, ",
    "tf.matmul": "matmul(a: ",
    "tf.reduce_sum": "reduce_sum(input_tensor: ",
    "tf.concat": "concat(values: ",
    "tf.exp": "exp(",
    "tf.placeholder": "placeholder(dtype: DTypeLike, shape: ",
    "tf.constant": "constant(",
    "tf.Variable": "Variable(initial_value: ",
    "tf.get_variable": "get_variable(",
    "tf.variable_scope": "variable_scope(",
    "tf.gradients": "gradients(",
    "tf.while_loop": "while_loop(",
    "tf.cond": "cond(",
    "tf.Session": 'Session(target: str="", graph: ',
    "tf.train.AdamOptimizer": "AdamOptimizer(learning_rate: ",
    "tf.train.Saver": "Saver(var_list: ",
    "tf.train.exponential_decay": "exponential_decay(learning_rate: ",
    "tf.train.MonitoredTrainingSession": "MonitoredTrainingSession(master: ",
    "tf.layers.dense": "dense(inputs: ",
    "tf.layers.Conv2D": "Conv2D(",
    "tf.losses.mean_squared_error": "mean_squared_error(",
    "tf.metrics.accuracy": "accuracy(",
    "tf.data.Dataset.from_tensor_slices": "from_tensor_slices(",
    "tf.image.decode_png": "decode_png(contents: ",
    "tf.summary.scalar": "scalar(name: str, ",
    "tf.summary.FileWriter": "FileWriter(logdir: ",
    "tf.contrib.slim.conv2d": "conv2d(inputs: TensorLike, num_outputs: int, ",
    "tf.contrib.crf.crf_log_likelihood": "crf_log_likelihood(",
    "tf.keras.layers.Dense": "Dense(units: ",
    "tf.estimator.DNNClassifier": "DNNClassifier(hidden_units: ",
    "tf.feature_column.numeric_column": "numeric_column(",
    "tf.errors.OutOfRangeError": "OutOfRangeError(",
    "tf.test.TestCase": "TestCase(",
    "tf.view": "view(what: ",
    "tf.register_op": "register_op(",
}


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Processes of the tests must not share jedi's cache: one reads a file that another is writing."""
    before, jedi.settings.cache_directory = jedi.settings.cache_directory, str(tmp_path_factory.mktemp("jedi"))
    yield
    jedi.settings.cache_directory = before


def test_the_stubs_are_what_the_script_writes():
    # In a process of its own, in which no test has changed what a module shows.
    command = [sys.executable, str(ROOT / "scripts" / "stubs.py"), "--check"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_an_editor_completes_the_name_and_shows_what_it_is(name):
    place, _, last = name.rpartition(".")
    typed = f"{place}.{last[:-1]}"
    script = jedi.Script(f"import tfnb as tf\n{typed}\n", project=PROJECT)
    assert last in [c.name for c in script.complete(2, len(typed))]
    shown = jedi.Script(f"import tfnb as tf\n{name}\n", project=PROJECT).help(2, len(name))
    text = shown[0].docstring()
    assert text.startswith(NAMES[name]), text[:200]
    assert len(text.partition("\n\n")[2]) > 10  # its docstring


def test_a_type_checker_marks_a_wrong_keyword_and_a_misspelt_name(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tfnb as tf\n\n"
        "x = tf.placeholder(tf.float32, [None, 784])\n"
        "h = tf.layers.dense(x, 128, activation=tf.nn.relu)\n"
        'tf.nn.relu(h, nam="a")\n'
        "tf.nn.rellu(h)\n"
        "tf.train.AdamOptimizer(0.1, beta3=2)\n"
        "tf.contrib.crf.crf_log_norm(h, h)\n"
        "tf.nn.relu(x).get_shape().as_list()\n"
    )
    # In a process of its own: mypy changes when Python looks for garbage, for all tests that follow.
    command = [sys.executable, "-m", "mypy", str(program), "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run([*command, "--no-error-summary"], capture_output=True, text=True, check=False)
    out, status = done.stdout, done.returncode
    marked = sorted(line.partition(": ")[0].rpartition(":")[2] for line in out.splitlines() if ": error: " in line)
    assert (marked, status) == (["5", "6", "7", "8"], 1), out
    assert 'keyword argument "nam"' in out and 'maybe "relu"' in out and 'keyword argument "beta3"' in out
