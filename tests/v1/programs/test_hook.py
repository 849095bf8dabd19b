"""`import tensorflow` means tfnb while it is installed, and nothing else in the process changes."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfnb
from tfnb.errors import FailedPreconditionError, InvalidArgumentError
from tfnb.v1.names.views import VIEWS
from tfnb.v1.programs import hook


@pytest.fixture
def installed():
    yield tfnb.install()
    tfnb.uninstall()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another package of the name tensorflow, as one finds it where the real one is installed."""
    package = tmp_path / "tensorflow"
    package.mkdir()
    (package / "__init__.py").write_text("from tensorflow import inner\n__version__ = '2.99'\n")
    (package / "inner.py").write_text("def late():\n    import tensorflow.later\n    return tensorflow.later.VALUE\n")
    (package / "later.py").write_text("VALUE = 'loaded late'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [n for n in sys.modules if n.partition(".")[0] == "tensorflow"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def test_names_are_those_of_tfnb(installed):
    import tensorflow as tf
    import tensorflow.contrib.slim as slim
    from tensorflow.contrib import layers
    from tensorflow.contrib.rnn import BasicLSTMCell
    from tensorflow.examples.tutorials.mnist import input_data
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import rnn_cell, variable_scope

    assert tf is installed and tf.concat is tfnb.concat and tf.nn.relu is tfnb.nn.relu
    assert tf.contrib.slim is slim and slim.conv2d is tfnb.contrib.slim.conv2d and tf.contrib.layers is layers
    assert BasicLSTMCell is tfnb.nn.rnn_cell.BasicLSTMCell is rnn_cell.BasicLSTMCell
    assert ops.Graph is tfnb.Graph and variable_scope.get_variable is tfnb.get_variable
    assert input_data.read_data_sets is tfnb.examples.tutorials.mnist.input_data.read_data_sets
    assert tf.test.TestCase is tfnb.test.TestCase and tf.errors.OpError is tfnb.OpError
    assert tf.estimator.inputs.numpy_input_fn is tfnb.estimator.inputs.numpy_input_fn
    assert tf.Session is tfnb.Session and tf.app.flags is tf.app.flags and tf.test.mock.Mock


def test_versions_are_those_of_tensorflow(installed):
    import tensorflow.compat.v1 as tf

    assert installed.__version__ == installed.VERSION == tf.__version__ == "1.15.5"
    assert tf.Graph is tfnb.Graph and installed.GIT_VERSION == f"tfnb-{tfnb.__version__}"
    assert tfnb.install("0.12").__version__ == "0.12.1"
    with pytest.raises(InvalidArgumentError, match=r"era is '0\.5'; needed one of 0\.6, 0\.12, 1\.5, 1\.15"):
        tfnb.install("0.5")


@pytest.mark.parametrize(
    "module",
    [
        *(m for m in VIEWS if m not in hook._HIDDEN_MODULES),
        "core.framework.summary_pb2",
        "core.util.event_pb2",
        "python",
        "contrib",
    ],
)
def test_each_module_can_be_imported(installed, module):
    package, _, last = f"tensorflow.{module}".rpartition(".")
    assert getattr(importlib.import_module(package), last) is importlib.import_module(f"tensorflow.{module}")


def test_messages(installed):
    from tensorflow.core.example import example_pb2
    from tensorflow.core.framework import summary_pb2
    from tensorflow.core.protobuf import config_pb2

    assert summary_pb2.Summary is installed.Summary and config_pb2.ConfigProto is installed.ConfigProto
    assert example_pb2.Example is installed.train.Example


def test_a_star_import_gives_the_public_names(installed):
    names = {}
    exec("from tensorflow.contrib.slim import *\nfrom tensorflow.python.framework.errors import *", names)
    assert names["conv2d"] is tfnb.contrib.slim.conv2d and names["OutOfRangeError"] is tfnb.errors.OutOfRangeError
    for module in ("tensorflow", "tensorflow.compat.v1", "tensorflow.train", "tensorflow.python.training.adam"):
        names = {}
        exec(f"from {module} import *", names)
        assert "AdamOptimizer" in names or names["placeholder"] is tfnb.placeholder
        assert "datasets" not in names


def test_source_modules_of_tfnb_are_no_names_of_tensorflow(installed):
    for name in (
        "client",
        "ops",
        "session",
        "ir",
        "notebook",
        "old_programs",
        "train.saving",
        "python.ops.math_ops.ir",
    ):
        with pytest.raises(ImportError):
            importlib.import_module(f"tensorflow.{name}")
    assert not {"client", "ops", "ir", "types"} & set(dir(installed)) and "matmul" in dir(installed)


def test_missing_names_say_so(installed):
    import tensorflow as tf

    with pytest.raises(
        AttributeError, match=r"'tensorflow\.nn' has no attribute 'relu99': this program runs under tfnb"
    ):
        _ = tf.nn.relu99
    from tensorflow.contrib import tpu  # a program may import it and never use it

    with pytest.raises(AttributeError, match=r"TPUs are machines of Google.s cloud; the program with use_tpu=False"):
        _ = tpu.Topology
    assert not hasattr(tf, "no_such_name") and getattr(tf.contrib.tpu, "rewrite", None) is None


def test_a_list_of_names_may_hold_some_that_are_missing(installed):
    """`__import__` is called so to get the last module of a path; a statement has the error that says what is missing."""
    for names in (["relu"], ["no_such"], [""], ["*"]):
        assert __import__("tensorflow.python.ops.nn_ops", fromlist=names).__name__ == "tensorflow.python.ops.nn_ops"
    with pytest.raises(ModuleNotFoundError, match="runs under tfnb"):
        __import__("tensorflow.python.ops.no_such", fromlist=["dummy"])
    with pytest.raises(ModuleNotFoundError, match="runs under tfnb"):
        importlib.import_module("tensorflow.python.ops.nn_ops.no_such")
    with pytest.raises(ImportError, match="runs under tfnb"):
        from tensorflow.python.ops.nn_ops import no_such  # noqa: F401


def test_the_dictionary_of_a_module_has_all_its_names(installed):
    """As in programs that collect all cells: [x for x in tf.contrib.rnn.__dict__.values() if inspect.isclass(x)]."""
    import tensorflow as tf

    cells = [
        x
        for x in tf.contrib.rnn.__dict__.values()
        if inspect.isclass(x) and issubclass(x, tf.contrib.rnn.RNNCell)  # a name that is looked up meanwhile
    ]
    assert tfnb.contrib.rnn.GRUCell in cells and "AdamOptimizer" in vars(tf.train)


def test_names_are_located(installed):
    assert pydoc.locate("tensorflow.nn.relu") is tfnb.nn.relu
    assert pydoc.locate("tensorflow.contrib.rnn.LSTMCell") is tfnb.contrib.rnn.LSTMCell
    assert pydoc.locate("tensorflow.no_such.name") is None  # programs try one module after the other


def test_only_the_modules_of_tensorflow_change():
    import tensorboard.compat  # noqa: F401

    def state():
        modules = {n: id(m) for n, m in sys.modules.items() if not n.startswith("tfnb")}
        return modules, list(sys.meta_path), list(sys.path), list(sys.path_hooks)

    before = state()
    tf = tfnb.install()
    importlib.import_module("tensorflow.python.ops.array_ops")
    added = set(state()[0]) - set(before[0])
    assert {n.partition(".")[0] for n in added} == {"tensorflow"}
    tfnb.uninstall()
    tfnb.uninstall()  # once more is nothing
    assert state() == before and not hook.installed()
    assert tf.contrib.slim.fully_connected and tf.nn.rnn_cell.GRUCell  # what a program holds stays usable
    assert state()[0] == before[0]


def test_another_tensorflow_comes_back(elsewhere):
    import tensorflow as real

    ours = tfnb.install()
    import tensorflow as now

    assert now is ours and real.__version__ == "2.99"
    tfnb.uninstall()
    import tensorflow as again

    assert again is real and again.inner.late() == "loaded late"


def test_another_tensorflow_is_reachable(elsewhere, installed):
    with tfnb.real_tensorflow() as real:
        import tensorflow as inside

        assert inside is real and real.inner.late() == "loaded late"
    import tensorflow as outside

    assert outside is installed and "tensorflow.later" not in sys.modules
    with tfnb.real_tensorflow() as second:
        assert second is real
    tfnb.uninstall()
    assert sys.modules["tensorflow"] is real


def test_without_another_tensorflow_it_says_so(installed, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(FailedPreconditionError, match="install TensorFlow beside tfnb"), tfnb.real_tensorflow():
        pass
    assert sys.modules["tensorflow"] is installed


def test_tensorboard_does_not_take_it_for_tensorflow(tmp_path):
    program = """
import sys, tfnb
tf = tfnb.install()
from tensorflow.contrib.tensorboard.plugins import projector
config = projector.ProjectorConfig()
config.embeddings.add().tensor_name = "words"
writer = tf.summary.FileWriter(sys.argv[1])
projector.visualize_embeddings(writer, config)
writer.close()
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, cwd=Path(tfnb.__file__).parents[1])
    assert 'tensor_name: "words"' in (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")


def test_a_step_runs(installed):
    import tensorflow as tf

    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.placeholder(tf.float32, [2])
        assert np.allclose(sess.run(tf.mul(a, tf.constant(2.0)), {a: [1, 2]}), [2, 4])


def test_versions_have_their_early_names(installed):
    versions = importlib.import_module("tensorflow.python.framework.versions")
    assert versions.__git_version__ == versions.GIT_VERSION
    assert versions.__compiler_version__ == versions.COMPILER_VERSION


def test_a_program_that_imports_the_debugger_runs_until_it_uses_it():
    with hook.installation("1.15"):
        from tensorflow.python import debug as tf_debug
        from tensorflow.python.debug import LocalCLIDebugWrapperSession

        with pytest.raises(NotImplementedError, match="it; its debugger reads"):
            LocalCLIDebugWrapperSession(None)
        with pytest.raises(AttributeError, match="it; its debugger reads"):
            tf_debug.watch_graph(None)
