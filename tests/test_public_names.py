"""The namespace is read from one table: nothing is loaded before it is used, and a look-up is short."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import tfnb as tf
from tfnb.v1.programs.hook import installation

ROOT = Path(__file__).resolve().parents[1]


def run_apart(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_loads_the_edge_alone():
    """No place, no operation, no session, and no library but NumPy and its types."""
    loaded = run_apart(
        "import sys, tfnb\nfor n, m in sys.modules.items(): print(n, getattr(m, '__file__', None))\n"
        "from tfnb.errors import OpError\nprint('index', '_places' in vars(tfnb._namespace))"
    )
    modules = dict(line.split(" ", 1) for line in loaded.splitlines())
    own = {name: file for name, file in modules.items() if name.startswith("tfnb")}
    assert len(own) <= 30 and not [name for name, file in own.items() if file == "None"]
    assert modules.pop("index") == "False"  # no table was read
    heavy = ("ops", "session", "codegen", "runtime", "devices", "passes", "notebook", "v1.contrib", "client.graph")
    assert not [name for name in own if name.startswith(tuple(f"tfnb.{package}" for package in heavy))]
    libraries = ("google.protobuf", "pyopencl", "distributed", "dask", "IPython", "scipy", "pandas", "PIL", "absl")
    assert not [name for name in modules if name.startswith(libraries)]


def test_an_exit_function_after_the_import_runs_before_those_of_tfnb():
    """It may run steps: what ends the process cancels steps, and Python calls last what is registered first."""
    out = run_apart("""
import atexit
import tfnb as tf
def last():
    from tfnb.system import process_end
    with tf.Session() as session:
        print(process_end.has_begun, session.run(tf.constant(2.0) + 1.0))
atexit.register(last)
""")
    assert out.split() == ["False", "3.0"]


def test_a_place_is_made_when_it_is_asked_for_in_any_way():
    run_apart("""
import sys
import tfnb as tf
assert "tfnb.nn" not in sys.modules
import tfnb.python.ops.rnn_cell_impl as inner
assert "tfnb.nn" not in sys.modules and sys.modules["tfnb.python.ops.rnn_cell_impl"] is inner
from tfnb.contrib import rnn
import tfnb.nn
assert rnn is tf.contrib.rnn is sys.modules["tfnb.contrib.rnn"] and tfnb.nn is tf.nn
assert inner.LSTMCell is tf.nn.rnn_cell.LSTMCell is rnn.LSTMCell
from tfnb.train import AdamOptimizer
assert AdamOptimizer is tf.train.AdamOptimizer
try:
    import tfnb.no_such_place
except ModuleNotFoundError as error:
    assert error.name == "tfnb.no_such_place"
else:
    raise AssertionError
""")


def test_a_graph_without_a_name_of_the_namespace():
    """What is below the namespace loads what it needs by itself: operators, conversions, sessions."""
    run_apart("""
import numpy as np
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
graph = GraphBuilder()
with graph.as_default():
    x = graph.to_tensor(np.float32([1.0, 2.0]))
    y = x * 2.0 + 1.0
    assert isinstance(y, Tensor) and graph.create_op("Neg", [y], name="n").outputs[0].name == "n:0"
from tfnb.session.api import Session
with Session(graph=graph):
    assert y.eval().tolist() == [3.0, 5.0]
""")


def test_threads_may_use_their_first_names_at_once():
    run_apart("""
import sys, threading
import tfnb as tf
sys.setswitchinterval(1e-5)
names = "constant train.AdamOptimizer Session nn.rnn_cell.LSTMCell nn.relu data.Dataset train.Saver gradients".split()
start, values = threading.Barrier(len(names)), {}
def use(name):
    start.wait()
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    values[name] = value
threads = [threading.Thread(target=use, args=[name]) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(values) == sorted(names), values.keys()
""")


def test_dir_has_the_names_that_are_not_loaded():
    out = run_apart("import tfnb as tf\nprint(*dir(tf))\nprint(*dir(tf.train))\nprint(*dir(tf.contrib))")
    root, train, contrib = (line.split() for line in out.splitlines())
    assert {"nn", "train", "contrib", "keras", "constant", "Session", "errors", "float32"} <= set(root)
    assert {"AdamOptimizer", "Saver", "DaskCluster", "Example", "queue_runner"} <= set(train)
    assert {"rnn", "slim", "layers", "crf"} <= set(contrib)
    assert not [name for name in root if name.startswith("_")]


@pytest.mark.parametrize(
    "module, name", [("rnn_cell_impl", "LSTMCell"), ("nn_ops", "softmax"), ("array_ops", "concat")]
)
def test_a_look_up_in_a_module_of_the_source_takes_few_calls(module, name):
    with installation():
        place = importlib.import_module(f"tensorflow.python.ops.{module}")
        expected = getattr(place, name)  # which loads the module where it is defined
        del vars(type(place))["__dict__"].__get__(place)[name]  # and forget the value
        calls = []
        sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None)
        try:
            value = getattr(place, name)
        finally:
            sys.setprofile(None)
    assert value is expected and 0 < len(calls) <= 12, calls


def test_the_tables_are_what_the_script_writes():
    spec = importlib.util.spec_from_file_location("public_names", ROOT / "scripts" / "public_names.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for path, text in script.tables().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "run python scripts/public_names.py"
    with pytest.raises(ValueError, match=r"nn.relu is defined in one.API and in two"):
        script._targets({"one": {"nn.relu": 1}, "two": {"nn.relu": 2}})


def test_every_name_of_the_tables_loads():
    missing = []
    for path in ("public_names.txt", "v1/names/public_names.txt"):
        for place, name, *_ in tf.client.namespace.entries((ROOT / "tfnb" / path).read_text(encoding="utf-8")):
            value = tf
            try:
                for part in filter(None, f"{place}.{name}".split(".")):
                    value = getattr(value, part)
            except AttributeError as error:
                missing.append(f"{place}.{name}: {error}")
    assert not missing
