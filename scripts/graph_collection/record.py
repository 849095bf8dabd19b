"""Records the graphs that other projects' tests run: `record.py OUT ROOT FILE...` under TensorFlow 1.15.5.

FILE is a module of tests below ROOT, the copy of a repository. Each step of a session whose results only feeds and
constants determine is kept in the folder OUT, as `there.py` keeps it: GraphDef, feeds and values; variables become
constants. It has the syntax of Python 3.7. Invariant: a kept graph holds no state, so that running it again gives the
same values.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import os
import pickle
import signal
import sys
import types
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import session as session_module
from tensorflow.python.framework import graph_util_impl, op_def_registry

SECONDS = 40
MOST_BYTES = 8_000_000
MOST_STEPS = 3  # of one test: what its loops repeat is one kind of graph
VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "ReadVariableOp")
OWN_STATE = ("TensorArray", "Stack", "Assert", "Print", "Placeholder")
TRIVIAL = ("Const", "Identity", "NoOp", "Placeholder", "PlaceholderWithDefault", *VARIABLES)
KEPT = (np.ndarray, np.generic, bytes)
ABSENT = ("onnxruntime", "onnxruntime_extensions", "tfjs_runner", "ngraph_bridge", "openvino_tensorflow")


class Anything(types.ModuleType):
    """A module that is not there: it has every name, may be called, and gives back what it is given."""

    __path__ = ()
    __all__ = ()
    __version__ = "99.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")

    def __call__(self, *values: Any, **options: Any) -> Any:
        return values[0] if len(values) == 1 else self


class Finder:
    """Finds the modules of ABSENT."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Returns how such a module is made; None for the others."""
        if name.partition(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, Finder, is_package=True)

    @staticmethod
    def create_module(spec: Any) -> Any:
        """Returns the module."""
        return Anything(spec.name)

    @staticmethod
    def exec_module(module: Any) -> None:
        """Does nothing."""


def stateless(definition: Any) -> bool:
    """Says whether no node, and no node of a function, reads or changes state or draws random numbers."""
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    functions = {f.signature.name for f in definition.library.function}
    registered = op_def_registry.get_registered_ops()
    for node in nodes:
        op = registered.get(node.op)
        if op is None and node.op not in functions:
            return False
        if op is not None and op.is_stateful and not node.op.startswith(OWN_STATE):
            return False
    return True


def worth(definition: Any) -> bool:
    """Says whether something is computed."""
    return any(node.op not in TRIVIAL for node in definition.node)


def portable(value: Any) -> Any:
    """Returns a value without dtypes that NumPy itself does not have: bfloat16 becomes float32."""
    named = getattr(getattr(value, "dtype", None), "name", "")
    return value.astype(np.float32) if named == "bfloat16" else value


class Recorder:
    """Keeps the steps of all sessions while `name` is a test's."""

    def __init__(self, out: str) -> None:
        self.out, self.name, self.steps, self.busy = out, "", 0, False
        self.seen: set[str] = set()
        self.plain = session_module.BaseSession._do_run
        session_module.BaseSession._do_run = lambda session, *given: self.run(session, *given)

    def run(self, session: Any, handle: Any, targets: Any, fetches: Any, feeds: Any, *rest: Any) -> Any:
        """Runs a step and keeps it."""
        values = self.plain(session, handle, targets, fetches, feeds, *rest)
        if self.name and not self.busy and handle is None and fetches and self.steps < MOST_STEPS:
            self.busy = True
            try:
                self.keep(session, fetches, feeds, values)
            except Exception as e:
                print(f"{self.name}: not kept: {str(e).splitlines()[:1]}", file=sys.stderr)
            finally:
                self.busy = False
        return values

    def keep(self, session: Any, fetches: Any, feeds: Any, values: Any) -> None:
        """Writes the part of the graph that the fetches need, with its feeds and values, unless it is there."""
        pairs = {t.name: portable(v) for t, v in zip(fetches, values) if isinstance(v, KEPT)}  # noqa: B905
        fed = {t.name: portable(np.asarray(v)) for t, v in feeds.items()}
        names = sorted({name.partition(":")[0] for name in pairs})
        if not names or any(n.partition(":")[0] in names for n in fed):
            return
        definition = graph_util_impl.extract_sub_graph(session.graph.as_graph_def(add_shapes=False), names)
        if any(node.op in VARIABLES for node in definition.node):
            if any(node.op.startswith(("Assign", "Scatter", "Apply", "ResourceApply")) for node in definition.node):
                return
            definition = graph_util_impl.convert_variables_to_constants(session, definition, names)
        if not stateless(definition) or not worth(definition):
            return
        for node in definition.node:
            node.device = ""
        content = definition.SerializeToString(deterministic=True)
        mark = hashlib.sha1(content + repr(sorted(pairs)).encode()).hexdigest()[:10]
        if mark in self.seen or len(content) + sum(v.nbytes for v in fed.values()) > MOST_BYTES:
            return
        self.seen.add(mark)
        self.steps += 1
        nodes = {node.name for node in definition.node}
        fed = {name: value for name, value in fed.items() if name.partition(":")[0] in nodes}
        with open(os.path.join(self.out, f"{self.name}.{mark}.values"), "wb") as file:
            pickle.dump({"graph": content, "feeds": fed, "values": pairs}, file, protocol=4)


def too_long(*_: Any) -> None:
    """Ends a test."""
    raise TimeoutError(f"no end within {SECONDS} s")


def only_tensorflow() -> None:
    """Lets the tests of tensorflow-onnx stop after TensorFlow's part of them."""
    try:
        base = importlib.import_module("backend_test_base").Tf2OnnxBackendTestBase
    except ImportError:
        return

    def run_test_case(self: Any, func: Any, feeds: Any, inputs: Any, outputs: Any, *rest: Any, **options: Any) -> None:
        placeholders = options.get("premade_placeholders", False)
        tf.reset_default_graph()
        self.freeze_and_run_tf(func, feeds, outputs, options.get("as_session", False), placeholders, False)

    base.run_test_case = run_test_case


class Naming:
    """The hooks of pytest that tell the recorder which test runs, and end it after SECONDS."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begins a test."""
        name = os.path.basename(str(item.fspath))[:-3] + "." + item.nodeid.partition("::")[2].replace("::", ".")
        self.recorder.name = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)[:120]
        self.recorder.steps = 0
        tf.reset_default_graph()
        signal.alarm(SECONDS)

    def pytest_runtest_teardown(self) -> None:
        """Ends a test."""
        signal.alarm(0)
        self.recorder.name = ""


def main(out: str, root: str, *files: str) -> None:
    """Runs the tests of the files, one after the other."""
    tf.__version__ = "1.15"  # of which tests say that it is the last one for them
    sys.meta_path.insert(0, Finder)
    sys.path[:0] = [root, *{os.path.dirname(file) for file in files}]
    recorder = Recorder(out)
    signal.signal(signal.SIGALRM, too_long)
    only_tensorflow()
    options = [
        "-c",
        os.devnull,
        "-q",
        "--assert=plain",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
    ]
    pytest.main([*options, *files], plugins=[Naming(recorder)])
    print(f"{len(recorder.seen)} graphs", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
