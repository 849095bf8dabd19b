"""Makes `import tensorflow` mean tfnb for one file of TensorFlow's tests, with what those tests need beside its API.

TensorFlow's test files use helpers that are no part of its API (`test_util`, `googletest`), and import private names at
their heads. The helpers are here; a private name becomes a placeholder, whose use fails with a text that begins with
`PRIVATE`. Where only the class or the text of an expected error differs, that is noted in `events` and the test goes
on, so that what is worse comes to light. Invariant: no operator and no public function is replaced, except
`tf.test.TestCase` and the check of gradients, which this module completes.
"""

import collections
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import types
import unittest
import unittest.case
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tfnb
from tfnb.ir import default
from tfnb.ops import CATALOG
from tfnb.train import testing
from tfnb.v1.programs import hook
from tfnb.v1.programs.missing import MissingNameError
from tfnb.v1.programs.python_names import give_back

PRIVATE = "PRIVATE: tensorflow.{} is no public name"
SEED = 87654321
PLACE = os.getcwd()  # a test may go to another folder
# Errors that show a fault of tfnb, and not that it refuses something in another way.
FAULTS = (AttributeError, AssertionError, NameError)


class Loading:
    """Whether the test file is being read, the names for which it has got placeholders, its era, and its tree."""

    def __init__(self) -> None:
        self.is_on, self.era, self.tree = False, "", ""
        self.placeholders: list[str] = []


LOADING = Loading()
EVENTS: list[tuple[str, str]] = []  # of the test that runs: ("class" or "text", what differs)


class Placeholder:
    """Stands for a private name that a test file uses at its head; every later use fails."""

    def __init__(self, name: Any, *more: Any) -> None:
        if more:  # a test calls the constructor of a private class
            self._fail()
        self._name = name

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise AttributeError(PRIVATE.format(vars(self).get("_name", "a constructor")))

    __iter__ = __enter__ = __exit__ = __len__ = __contains__ = __getitem__ = __setitem__ = __float__ = __index__ = _fail
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __neg__ = __lt__ = __gt__ = _fail
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rpow__ = _fail

    def __call__(self, *_: Any, **__: Any) -> Any:
        """A decorator at the head of a file gives a placeholder."""
        return Placeholder(self._name) if LOADING.is_on else self._fail()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """A class that a test derives from a private one cannot be made objects of."""
        return (type("Private", (), {"__init__": self._fail}),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        below = f"{self._name}.{name}"
        if LOADING.is_on:
            return Placeholder(below)
        raise AttributeError(PRIVATE.format(below))


class PrivateModule(types.ModuleType):
    """A module of TensorFlow that tfnb does not have; its names are placeholders."""

    __path__ = ()  # it is a package, so that modules below it can be imported

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return raw_op(self.__name__, name) or Placeholder(f"{self.__name__.partition('.')[2]}.{name}")


def shared_cases(fullname: str) -> str:
    """Returns the file in TensorFlow's sources of a module that several test files have their cases from, or ""."""
    file = os.path.join(LOADING.tree, *fullname.split(".")) + ".py"
    return file if re.search(r"_test_utils?$", fullname) and os.path.exists(file) else ""


RAW_OPS = {name.lower(): opdef for name, opdef in CATALOG.items()}


def raw_op(module: str, name: str) -> Callable[..., Any] | None:
    """Returns what TensorFlow generates for each operation in a private module: the function that adds its node.

    It takes the inputs and attributes by place or by name, and several outputs have names. None if tfnb has no such
    operation.
    """
    opdef = RAW_OPS.get(name.replace("_", "").lower())
    if opdef is None or not re.fullmatch(r"tensorflow\.python\.ops\.(gen_\w+|(math|nn|array)_ops)", module):
        return None
    inputs = [arg.name for arg in opdef.input_args]
    own_types = [name for name in opdef.types if not any(name in (a.type, a.number) for a in opdef.input_args)]
    places = [*inputs, *own_types, *(part.name for part in dataclasses.fields(opdef.attrs))]

    def add(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        given = dict(zip(places, args, strict=False)) | kwargs
        values = [given.pop(place) for place in inputs]
        attrs = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        attrs |= {key: tfnb.TensorShape(attrs[key]) for key in ("shape",) if isinstance(attrs.get(key), tuple)}
        outputs = opdef(*values, name=name, **{**opdef.defaults, **attrs})
        if not isinstance(outputs, list) or len(opdef.output_args) < 2:
            return outputs
        return collections.namedtuple(opdef.name, [arg.name for arg in opdef.output_args])(*outputs)

    return add


class PrivateModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what tfnb's own finder does not, while a test file is being read."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Returns the spec of a module of TensorFlow."""
        if not fullname.startswith("tensorflow."):
            return None
        if file := shared_cases(fullname):
            return importlib.util.spec_from_file_location(fullname, file)
        is_on, LOADING.is_on = LOADING.is_on, False  # so that no placeholder of the name is taken for what there is
        try:
            return hook._finder.find_spec(fullname, path, target)
        except ImportError:
            if not is_on:
                raise
        finally:
            LOADING.is_on = is_on
        LOADING.placeholders.append(fullname.partition(".")[2])
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        """Returns an empty module."""
        return PrivateModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Does nothing."""


def with_placeholders(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Returns `look_up`, an attribute of a module of tfnb, which gives a placeholder while a test file is read."""

    def look(module: Any, name: str) -> Any:
        try:
            return look_up(module, name)
        except AttributeError:
            if add := raw_op(module.__name__, name):
                return add
            if not LOADING.is_on or name.startswith("__"):
                raise
        if shared_cases(f"{module.__name__}.{name}"):
            return importlib.import_module(f"{module.__name__}.{name}")
        path = f"{module.__name__}.{name}".partition(".")[2]
        LOADING.placeholders.append(path)
        setattr(module, name, Placeholder(path))
        return getattr(module, name)

    return look


class CheckedThread(threading.Thread):
    """A thread whose error fails the test that joins it."""

    def __init__(self, case: unittest.TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        super().__init__(daemon=True)
        self._case, self._work, self._error = case, lambda: target(*(args or ()), **(kwargs or {})), ""

    def run(self) -> None:
        """Calls the function."""
        try:
            self._work()
        except Exception as e:
            self._error = f"{type(e).__name__}: {e}"

    def join(self, timeout: float | None = None) -> None:
        """Waits for the end, and fails the test for an error."""
        super().join(timeout)
        if self._error:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def check_termination(self) -> None:
        """Does nothing: the end of the test looks whether its threads have ended."""


class TensorFlowTestCase(testing.TestCase):
    """tfnb's test case with what TensorFlow's has beyond its API."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._folder = ""
        self._cached = None  # for tests whose own setUp does not call this class's

    def run(self, result: Any = None) -> Any:
        """Runs the test with an empty folder, as a test whose setUp fails leaves its files there."""
        os.chdir(PLACE)
        shutil.rmtree(testing.get_temp_dir(), ignore_errors=True)
        Path(testing.get_temp_dir()).mkdir(exist_ok=True)
        return super().run(result)

    def setUp(self) -> None:
        """Resets the default graph, as TensorFlow does; tfnb enters a new one, in which a test may not reset it."""
        unittest.TestCase.setUp(self)
        self._cached = None
        default._stack.graphs.clear()  # a test that failed in a block of `graph.as_default()` leaves its graph
        tfnb.reset_default_graph()
        tfnb.get_default_graph().seed = SEED
        random.seed(SEED)
        np.random.seed(SEED)

    def tearDown(self) -> None:
        """Fails if a thread still runs."""
        for thread in self._threads:
            self.assertFalse(thread.is_alive(), "A checkedThread did not terminate")
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns the folder of the test, the same for each call; in 0.12 all tests have one folder."""
        if LOADING.era == "0.12":
            return testing.get_temp_dir()
        self._folder = self._folder or tempfile.mkdtemp(dir=testing.get_temp_dir())
        return self._folder

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """Returns a thread that is not started yet."""
        self._threads.append(CheckedThread(self, target, args, kwargs))
        return self._threads[-1]

    def _GetNdArray(self, a: Any) -> np.ndarray:
        return a if isinstance(a, np.ndarray) else np.array(a)

    def _eval_tensor(self, tensor: Any) -> Any:
        return self.evaluate(tensor)

    def _NDArrayNear(self, a: Any, b: Any, err: float) -> bool:
        return bool(np.linalg.norm(a - b) < err)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float) -> None:
        """Fails unless the norm of the difference is less than `err`."""
        self.assertTrue(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)) < err)

    def assertAllClose(self, a: Any, b: Any, rtol: Any = 1e-6, atol: Any = 1e-6, msg: str | None = None) -> None:
        """Compares also lists of arrays of unequal shapes."""
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            try:
                a, b = np.asarray(a), np.asarray(b)
            except ValueError:
                self.assertEqual(len(a), len(b))
                for x, y in zip(a, b, strict=True):
                    self.assertAllClose(x, y, rtol, atol)
                return
        super().assertAllClose(a, b, rtol, atol, msg)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Compares shapes too, which NumPy's assertion would broadcast."""
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}.")
        np.testing.assert_array_equal(a, b)

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Fails unless the text ends so."""
        self.assertTrue(actual.endswith(expected_end), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any) -> None:
        """Fails unless both name the same device."""
        self.assertEqual(*(_device_text(d) for d in (device1, device2)))

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any) -> None:
        """Fails unless the static shape is the array's."""
        self.assertTrue(isinstance(np_array, np.ndarray | np.generic))
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list())

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Expects an `OpError`."""
        return self.assertRaisesWithPredicateMatch(tfnb.errors.OpError, expected_err_re_or_predicate)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected: Any) -> Iterator[None]:
        """Expects an error whose text, with the names of the operations that caused it, matches."""
        try:
            yield
        except Exception as e:
            if is_fault(e, exception_type):
                raise
            if not isinstance(e, exception_type):
                EVENTS.append(("class", f"expected {exception_type}, got {type(e).__name__}: {str(e)[:300]}"))
            elif not (expected(e) if callable(expected) else re.search(expected, _text_with_causes(e))):
                EVENTS.append(("text", f"wanted {expected!r}, got {type(e).__name__}: {str(e)[:300]}"))
        else:
            self.fail(f"{exception_type} not raised")

    def assertProtoEquals(self, expected: Any, message: Any) -> None:
        """Compares messages, of which one may be given as a text."""
        if isinstance(expected, str | bytes):
            if not hasattr(message, "DESCRIPTOR"):
                raise AttributeError(PRIVATE.format(f"text form of the message {type(message).__name__}"))
            from google.protobuf import text_format

            expected = text_format.Merge(expected, type(message)())
        if hasattr(message, "DESCRIPTOR"):
            expected, message = rounded(expected), rounded(message)
        self.assertEqual(expected, message)

    def assertProtoEqualsVersion(self, *_: Any, **__: Any) -> None:
        """Refuses: versions of graphs are TensorFlow's own."""
        raise AttributeError(PRIVATE.format("assertProtoEqualsVersion"))


def rounded(message: Any) -> Any:
    """Returns a copy of a message whose floating-point numbers have six digits after the point, as in TensorFlow."""
    copy = type(message)()
    copy.CopyFrom(message)
    _round(copy)
    return copy


def _round(message: Any) -> None:
    for kind, value in message.ListFields():
        if kind.cpp_type == kind.CPPTYPE_MESSAGE:
            parts = value if kind.is_repeated else [value]
            for part in parts.values() if hasattr(parts, "values") else parts:
                if hasattr(part, "ListFields"):
                    _round(part)
        elif kind.cpp_type in (kind.CPPTYPE_FLOAT, kind.CPPTYPE_DOUBLE):
            if kind.is_repeated:
                value[:] = [round(x, 6) for x in value]
            else:
                setattr(message, kind.name, round(value, 6))


def _device_text(device: Any) -> Any:
    if isinstance(device, str | None):
        return tfnb.DeviceSpec.from_string(device or "").to_string()
    return device.to_string() if hasattr(device, "to_string") else device


def _text_with_causes(error: Any) -> str:
    text, op = str(getattr(error, "message", error)), getattr(error, "op", None)
    while op is not None:
        text += f"\nCaused by: {op.name}"
        op = getattr(op, "_original_op", None)
    return text


def is_fault(error: Exception, expected: Any) -> bool:
    """Whether an error in a block that expects others ends the test: it shows a fault, or that the time is over."""
    if isinstance(error, MissingNameError) or type(error).__name__ == "TookTooLong":
        return True
    return isinstance(error, FAULTS) and not isinstance(error, expected)


def lenient_exit(strict: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the end of a block of `assertRaises` that notes another class or text of an error and goes on."""

    def leave(self: Any, kind: Any, value: Any, trace: Any) -> Any:
        if kind is None or not issubclass(kind, Exception):
            return strict(self, kind, value, trace)
        if is_fault(value, self.expected):
            return False
        self.exception = value.with_traceback(None)
        if not issubclass(kind, self.expected):
            wanted = getattr(self.expected, "__name__", self.expected)
            EVENTS.append(("class", f"expected {wanted}, got {kind.__name__}: {str(value)[:300]}"))
        elif self.expected_regex is not None and not self.expected_regex.search(str(value)):
            EVENTS.append(("text", f"wanted {self.expected_regex.pattern!r}, got {kind.__name__}: {str(value)[:300]}"))
        return True

    return leave


def _numbers(dtype: np.dtype) -> np.dtype:
    """The type of the parts of a complex number, or the type itself."""
    return np.dtype({8: np.float32, 16: np.float64}[dtype.itemsize]) if dtype.kind == "c" else dtype


def complex_jacobians(
    x: Any, x_shape: Any, y: Any, y_shape: Any, init: Any, delta: float, feeds: dict[Any, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns both Jacobians where numbers are complex: each counts as two reals, as TensorFlow's check has it."""
    session = tfnb.get_default_session()
    x_type, y_type = (np.dtype(t.dtype.as_numpy_dtype) for t in (x, y))
    x_shape, y_shape = tuple(x_shape), tuple(y_shape)
    value = np.random.random_sample(x_shape) if init is None else init
    value = np.asarray(value).astype(x_type).reshape(x_shape)
    with x.graph.as_default():
        dy = tfnb.constant(np.ones(y_shape, y_type))
        dx = tfnb.gradients(y, x, dy)[0]
    x_unit, y_unit = np.zeros(x_shape, x_type), np.zeros(y_shape, y_type)
    rows, columns = (unit.reshape(-1).view(_numbers(unit.dtype)).size for unit in (x_unit, y_unit))
    exact, measured = (np.zeros((rows, columns), _numbers(x_type)) for _ in range(2))
    for j in range(columns if dx is not None else 0):
        unit = np.zeros(y_shape, y_type)
        unit.reshape(-1).view(_numbers(y_type))[j] = 1
        column = np.asarray(session.run(dx, {**feeds, x: value, dy: unit}), x_type)
        exact[:, j] = np.ascontiguousarray(column).reshape(-1).view(_numbers(x_type))
    for i in range(rows):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved.reshape(-1).view(_numbers(x_type))[i] += sign * delta
            ends.append(np.asarray(session.run(y, {**feeds, x: moved}), y_type))
        difference = (ends[0] - ends[1]) / np.asarray(2 * delta, _numbers(y_type))
        measured[i] = np.ascontiguousarray(difference.astype(y_type)).reshape(-1).view(_numbers(y_type))
    return exact, measured


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Checks gradients as tfnb does, and of complex numbers; takes another shape of `y` with as many elements."""
    if isinstance(x, list | tuple):
        inits = [None] * len(x) if x_init_value is None else x_init_value
        return [
            compute_gradient(a, s, y, y_shape, v, delta, init_targets, extra_feed_dict)
            for a, s, v in zip(x, x_shape, inits, strict=True)
        ]
    if hasattr(x, "dtype") and (x.dtype.is_complex or y.dtype.is_complex):
        if init_targets is not None:
            tfnb.get_default_session().run(init_targets)
        return complex_jacobians(x, x_shape, y, y_shape, x_init_value, delta, dict(extra_feed_dict or {}))
    shape = y.get_shape()
    if shape.is_fully_defined() and np.prod(shape.as_list(), dtype=int) == np.prod(y_shape, dtype=int):
        y_shape = shape.as_list()
    return testing.compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)


def compute_gradient_error(*args: Any, **kwargs: Any) -> float:
    """Returns the largest difference between the Jacobians."""
    found = compute_gradient(*args, **kwargs)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.fabs(a - b).max()) for a, b in pairs if a.size), default=0.0)


def run_in_graph_and_eager_modes(
    *_: Any, graph: Any = None, config: Any = None, use_gpu: bool = False, **__: Any
) -> Any:
    """Returns a decorator that runs a test in a graph; there is no eager mode."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, **kwargs: Any) -> None:
            with self.test_session(graph=graph, config=config, use_gpu=use_gpu):
                test(self, **kwargs)

        run.__name__ = test.__name__
        return run

    return decorator


def skip_if(condition: Any) -> Any:
    """Returns a decorator of tests that do nothing under a condition."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> None:
            if not (condition() if callable(condition) else condition):
                test(*args, **kwargs)

        return run

    return decorator


def same(value: Any) -> Any:
    """A decorator of the copies `...WithCApi`, and of what tfnb has no need for."""
    return value


def reordered(orders: dict[int, list[int]]) -> Callable[[Any], Any]:
    """Returns a function that brings the dimensions of a tensor, or a list for them, into another order."""

    def change(x: Any) -> Any:
        if isinstance(x, tfnb.Tensor):
            return tfnb.transpose(x, orders[len(x.get_shape())])
        return [x[i] for i in orders[len(x)]]

    return change


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """Returns the nodes of these names; raises `ValueError` unless their types are the expected ones."""
    nodes = {n.name: n for n in graph.as_graph_def().node if n.name in expected_ops}
    types_of = {name: node.op for name, node in nodes.items()}
    if types_of != expected_ops:
        raise ValueError(f"Not all expected ops are present. Expected {expected_ops}, found {types_of}")
    return nodes


def refuse_eager(*_: Any, **__: Any) -> Any:
    """Fails: there is no eager mode."""
    raise AttributeError(PRIVATE.format("eager mode"))


def no(*_: Any, **__: Any) -> bool:
    """Returns False."""
    return False


TEST = {
    "TestCase": TensorFlowTestCase,
    "compute_gradient": compute_gradient,
    "compute_gradient_error": compute_gradient_error,
    "GetTempDir": testing.get_temp_dir,
    "is_gpu_available": no,
    "gpu_device_name": str,
}
COLUMNS = {name: getattr(tfnb.feature_column, name) for name in dir(tfnb.feature_column) if not name.startswith("_")}
# What stands where in TensorFlow's source, by module.
HELPERS: dict[str, dict[str, Any]] = {
    "test": TEST,
    "python.platform.test": TEST,
    "python.eager.test": TEST,
    "python.platform.googletest": {
        **{name: getattr(unittest, name) for name in unittest.__all__ if hasattr(unittest, name)},
        "GetTempDir": testing.get_temp_dir,
        "main": testing.main,
        "Benchmark": testing.Benchmark,
        "StubOutForTesting": testing.StubOutForTesting,
        "test_src_dir_path": testing.test_src_dir_path,
    },
    "python.platform.benchmark": {"Benchmark": testing.Benchmark},
    "python.framework.test_util": {
        "TensorFlowTestCase": TensorFlowTestCase,
        "run_in_graph_and_eager_modes": run_in_graph_and_eager_modes,
        **dict.fromkeys(("with_c_api", "disable_c_api", "enable_c_api"), same),
        **dict.fromkeys(("assert_no_new_tensors", "assert_no_garbage_created"), same),
        **dict.fromkeys(("IsGoogleCudaEnabled", "CudaSupportsHalfMatMulAndConv", "c_api_and_cuda_enabled"), no),
        "is_gpu_available": no,
        "gpu_device_name": str,
        "device": lambda use_gpu: tfnb.device("/cpu:0"),
        "assert_ops_in_graph": assert_ops_in_graph,
        "skip_if": skip_if,
        "NHWCToNCHW": reordered({4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]}),
        "NCHWToNHWC": reordered({4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}),
        "get_node_def_from_graph": lambda name, graph_def: next((n for n in graph_def.node if n.name == name), None),
    },
    "python.eager.context": {
        "in_graph_mode": lambda: True,
        "in_eager_mode": no,
        "executing_eagerly": no,
        "graph_mode": contextlib.nullcontext,
        "eager_mode": refuse_eager,
        "num_gpus": int,
    },
    "python.ops.gradient_checker": {
        "compute_gradient": compute_gradient,
        "compute_gradient_error": compute_gradient_error,
    },
    "python.framework.tensor_shape": {
        "scalar": lambda: tfnb.TensorShape([]),
        "vector": lambda n: tfnb.TensorShape([n]),
        "matrix": lambda rows, columns: tfnb.TensorShape([rows, columns]),
        "unknown_shape": lambda ndims=None: tfnb.TensorShape(None if ndims is None else [None] * ndims),
    },
    "python.framework.ops": {"RegisterShape": lambda name: same},  # without effect since 0.12
    "python.ops.resource_variable_ops": {"ResourceVariable": tfnb.Variable},  # there is one kind of variable
    "python.framework.tensor_util": {"MakeNdarray": tfnb.make_ndarray},
    "python.feature_column.feature_column": COLUMNS,
    "python.feature_column.feature_column_lib": COLUMNS,
    "python.framework.random_seed": {"DEFAULT_GRAPH_SEED": SEED},
}


def without_private_ops(create_op: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `Graph.create_op`, which fails for the operations of the library that TensorFlow's tests load."""

    def create(graph: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, str) and op not in CATALOG:
            raise AttributeError(PRIVATE.format(f"the operation {op}"))
        return create_op(graph, op, *args, **kwargs)

    return create


def numpy_of_the_time() -> None:
    """What tests ask of NumPy beyond what give_back() brings: float for all floating types in `issubdtype` (and int and
    complex alike), arrays from a generator in `hstack`, `squeeze` of plain numbers by any axis, and `testing.utils`.
    """
    np.testing.utils = np.testing
    is_sub, hstack, squeeze = np.issubdtype, np.hstack, np.squeeze
    wide = {float: np.floating, int: np.signedinteger, complex: np.complexfloating}
    np.issubdtype = lambda a, b: is_sub(a, wide.get(b, b))
    np.hstack = lambda arrays, **kwargs: hstack(list(arrays), **kwargs)
    np.squeeze = lambda a, axis=None: squeeze(a, axis) if np.ndim(a) else np.asarray(a)


@contextlib.contextmanager
def installed(era: str, events: list[tuple[str, str]], tree: str) -> Iterator[list[str]]:
    """While the block runs a test file can be loaded; returns the names of its placeholders.

    events: the list that the assertions of a test append to. tree: the folder of the sources of `tensorflow`. tfnb
    stays `tensorflow` after the block.
    """
    global EVENTS
    EVENTS = events
    give_back()
    numpy_of_the_time()
    tfnb.install(era)
    sys.meta_path.insert(0, PrivateModules())
    LOADING.is_on, LOADING.era, LOADING.tree = True, era, tree
    for path, names in HELPERS.items():
        place = importlib.import_module(f"tensorflow.{path}")
        for name, value in names.items():
            setattr(place, name, value)
    LOADING.placeholders.clear()
    tfnb.Graph.create_op = without_private_ops(tfnb.Graph.create_op)
    hook.TensorFlowModule.__getattr__ = with_placeholders(hook.TensorFlowModule.__getattr__)
    context = unittest.case._AssertRaisesContext
    context.__exit__ = lenient_exit(context.__exit__)
    try:
        yield LOADING.placeholders
    finally:
        LOADING.is_on = False
