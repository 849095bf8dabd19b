"""`tf.test`: test cases with sessions and comparisons of arrays, and numerical checks of gradients.

Invariant: every test of a `TestCase` starts with an empty default graph and the same seed.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias
from unittest import mock as mock

import numpy as np

from tfnb.client.gradients.backprop import gradients
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import NestedGraphError, get_default_graph, reset_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ones_like
from tfnb.session.api import ConfigProto, Session, list_devices
from tfnb.session.default import DefaultSession, get_default_session
from tfnb.train.testing_comparisons import ArrayComparisons, ContainerComparisons
from tfnb.train.testing_tools import (
    Benchmark,
    StubOutForTesting,
    assert_equal_graph_def,
    benchmark_config,
    create_local_cluster,
    is_built_with_gpu_support,
    is_built_with_rocm,
)
from tfnb.types import as_dtype

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "test_src_dir_path",
]
test = sys.modules[__name__]  # the module is the value of `tf.test`
_SEED = 87654321


def get_temp_dir() -> str:
    """Returns a folder for files of the tests of this process."""
    if not _TEMPORARY:
        _TEMPORARY.append(tempfile.mkdtemp(prefix="tfnb_test_"))
    return _TEMPORARY[0]


_TEMPORARY: list[str] = []


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the program (`unittest.main`)."""
    unittest.main(argv=argv)


def is_built_with_cuda() -> bool:
    """Returns False, since kernels are written in OpenCL."""
    return False


def gpu_device_name() -> str:
    """Returns the name of the first GPU of sessions, or ""."""
    return next((d["name"] for d in list_devices() if "GPU" in str(d["name"]).upper()), "")


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Returns whether sessions have a GPU.

    It is an OpenCL device, so the result is False with `cuda_only`; `min_cuda_compute_capability` has no effect.
    """
    return not cuda_only and min_cuda_compute_capability is None and bool(gpu_device_name())


def _place(use_gpu: bool, force_gpu: bool) -> Any:
    """Returns a device, or a function that changes no device, for the operations that a test creates."""
    if force_gpu:
        return "/device:GPU:0"
    return (lambda op: op.device) if use_gpu else "/device:CPU:0"


def test_src_dir_path(relative_path: str) -> str:
    """Returns the path `relative_path` below the folder of the running program."""
    return str(Path(sys.argv[0]).resolve().parent / relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


def _wide(x: np.ndarray) -> np.ndarray:
    """`x`; numbers of a type that NumPy does not compare with its own, such as bfloat16, become float32."""
    return x if x.dtype.isbuiltin == 1 or x.dtype.kind in "OSU" else x.astype(np.float32)


class TestCase(ArrayComparisons, ContainerComparisons):
    """A `unittest.TestCase` with `test_session()` and assertions on arrays."""

    __test__ = True
    _cached: Session | None = None
    _folder: str | None = None

    def setUp(self) -> None:
        """Makes an empty graph the default graph, and sets its seed and those of Python and NumPy.

        As in TensorFlow the graph is the process's, so that a test may reset it; inside a block of another graph it is
        the default of the test only.
        """
        super().setUp()
        try:
            reset_default_graph()
        except NestedGraphError:
            scope = GraphBuilder().as_default()
            scope.__enter__()
            self.addCleanup(scope.__exit__, None, None, None)
        get_default_graph().seed = _SEED
        random.seed(_SEED)
        np.random.seed(_SEED)

    def tearDown(self) -> None:
        """Closes the session that the test shared."""
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns the folder of this test, which is another one than those of other tests."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    @contextmanager
    def session(
        self,
        graph: GraphBuilder | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Returns a context with a default session for `graph`, by default the default graph.

        As in TensorFlow, operations of the block are placed on the first CPU; with `use_gpu` the session chooses their
        device, and with `force_gpu` they are placed on the first GPU. Without a `config`, and unless `force_gpu` is
        given, a device that does not exist is replaced by one that does.
        """
        config = ConfigProto(allow_soft_placement=not force_gpu) if config is None else config
        with Session(graph=graph, config=config) as new_session, new_session.graph.device(_place(use_gpu, force_gpu)):
            yield new_session

    @contextmanager
    def test_session(
        self,
        graph: GraphBuilder | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Returns a context like `session`; without arguments, all calls of one test share a session."""
        if graph is not None or config is not None:
            with self.session(graph, config, use_gpu, force_gpu) as session:
                yield session
            return
        if self._cached is None:
            self._cached = Session(config=ConfigProto(allow_soft_placement=True))
        graph = self._cached.graph
        with graph.as_default(), self._cached.as_default(), graph.device(_place(use_gpu, force_gpu)):
            yield self._cached

    test_session.__test__ = False  # type: ignore[attr-defined]
    cached_session = test_session

    def evaluate(self, tensors: object) -> Any:
        """Returns the values of tensors, computed by the default session."""
        session = get_default_session()
        if session is None:
            with self.test_session() as sess:
                return sess.run(tensors)
        return session.run(tensors)

    def assertAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Fails unless the arrays or tensors `a` and `b` have equal shapes and elements; `msg` is the message."""
        np.testing.assert_array_equal(self._array(a), self._array(b), err_msg=msg or "")

    def assertAllClose(
        self,
        a: TensorLike | Mapping[Any, Any],
        b: TensorLike | Mapping[Any, Any],
        rtol: float | np.ndarray = 1e-6,
        atol: float | np.ndarray = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Fails unless arrays or tensors have equal shapes and |a - b| <= atol + rtol * |b|.

        a, b: also dicts and lists of arrays. rtol, atol: a number, or one for each element. msg: the message of the
        failure.
        """
        expected: Any = b
        if isinstance(a, dict) is not isinstance(expected, dict):
            raise InvalidArgumentError(f"Can't compare dict to non-dict, {a!r} and {expected!r}. {msg or ''}")
        if isinstance(a, dict):
            keys = sorted(a, key=repr), sorted(expected, key=repr)
            self.assertEqual(*keys, f"mismatched keys: {keys[0]} and {keys[1]}. {msg or ''}")
            for key in a:
                self.assertAllClose(a[key], expected[key], rtol, atol, msg)
            return
        found: Any = a
        if _is_ragged(found) or _is_ragged(expected):
            self.assertEqual(len(found), len(expected), msg)
            for x, y in zip(found, expected, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        a, b = (_wide(self._array(x)) for x in (a, expected))
        self.assertEqual(a.shape, b.shape, msg)
        if np.ndim(rtol) == np.ndim(atol) == 0:
            np.testing.assert_allclose(a, b, rtol=float(rtol), atol=float(atol), err_msg=msg or "")
        elif not np.isclose(a, b, rtol, atol).all():  # NumPy's assertion does not write tolerances of each element
            self.fail(msg or f"{a} and {b} differ by more than atol {atol} and rtol {rtol}")

    def assertAllCloseAccordingToType(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
    ) -> None:
        """Fails like `assertAllClose`. Tolerances are at least `float_rtol` and `float_atol` if `a` or `b` has a 32-bit
        dtype, and at least `half_rtol` and `half_atol` if one has a 16-bit dtype.
        """
        a, b = self._array(a), self._array(b)
        kinds = {a.dtype.name, b.dtype.name}
        if kinds & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if kinds & {"float16", "bfloat16"}:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        wide = [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in (a, b)]
        self.assertAllClose(wide[0], wide[1], rtol, atol)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fails unless the numbers `f1` and `f2` differ by at most `err`; `msg` is the message."""
        self.assertTrue(f1 == f2 or np.fabs(f1 - f2) <= err, msg or f"{f1} and {f2} differ by more than {err}")

    def assertArrayNear(
        self, farray1: Sequence[float] | np.ndarray, farray2: Sequence[float] | np.ndarray, err: float
    ) -> None:
        """Fails unless the sequences have equal lengths and their elements differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2))
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err)

    def assertNDArrayNear(self, ndarray1: TensorLike, ndarray2: TensorLike, err: float, msg: str | None = None) -> None:
        """Fails unless the norm of `ndarray1` - `ndarray2` is less than `err`; `msg` is the message."""
        norm = np.linalg.norm(np.ravel(self._array(ndarray1) - self._array(ndarray2)))
        self.assertTrue(norm < err, msg or f"the norm of the difference is {norm}, needed less than {err}")

    def assertShapeEqual(self, np_array: np.ndarray, tf_tensor: Tensor) -> None:
        """Fails unless the array and the static shape of the tensor have the same shape."""
        self.assertEqual(list(np.shape(np_array)), tf_tensor.shape.as_list())

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: type[BaseException],
        expected_exception_message: str,
        expected_callable: Callable[..., Any] | None = None,
        *args: object,
        **kwargs: object,
    ) -> Any:
        """Checks that the callable `expected_callable`, or else the `with` block, raises an exception of the class
        `expected_exception` whose text is exactly `expected_exception_message`.
        """
        raised = self.assertRaisesRegex(expected_exception, f"^{re.escape(expected_exception_message)}$")
        if expected_callable is None:
            return raised
        with raised:
            return expected_callable(*args, **kwargs)

    def assertRaisesOpError(
        self, expected_err_re_or_predicate: str | Callable[[Exception], bool]
    ) -> AbstractContextManager[Any]:
        """Returns a context that fails unless its block raises an expected `OpError`.

        expected_err_re_or_predicate: a regular expression that the message contains, or a function that returns True
        for the error.
        """
        return _Raises(self, OpError, expected_err_re_or_predicate)

    def assertRaisesWithPredicateMatch(
        self,
        exception_type: type[BaseException],
        expected_err_re_or_predicate: str | Callable[[Exception], bool],
    ) -> AbstractContextManager[Any]:
        """Returns a context that fails unless its block raises an expected exception of the class `exception_type`.

        expected_err_re_or_predicate: as for `assertRaisesOpError`.
        """
        return _Raises(self, exception_type, expected_err_re_or_predicate)

    def assertNotAllClose(
        self, a: TensorLike | Mapping[Any, Any], b: TensorLike | Mapping[Any, Any], **kwargs: Any
    ) -> None:
        """Fails if `assertAllClose` with the same arguments does not."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except self.failureException:
            return
        self.fail("The two values are close at all elements")

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Fails if `assertAllEqual` does not; `msg` is the message."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        self.fail(msg or "The two values are equal at all elements")


def _is_ragged(value: object) -> bool:
    """Whether a list or tuple has parts that make no array: dicts, or parts of different shapes."""
    if not isinstance(value, (list, tuple)):
        return False
    if any(isinstance(x, dict) or _is_ragged(x) for x in value):
        return True
    return len({np.shape(x) for x in value if not hasattr(x, "graph")}) > 1


class _Raises:
    def __init__(
        self, case: unittest.TestCase, expected_type: type[BaseException], wanted: str | Callable[[Exception], bool]
    ) -> None:
        self._case, self._type, self._wanted = case, expected_type, wanted

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            self._case.fail(f"{self._type.__name__} not raised")
        if not isinstance(error, self._type) or not isinstance(error, Exception):
            return False
        expected: Any = self._wanted
        matches = expected(error) if callable(expected) else re.search(expected, str(error)) is not None
        if not matches:
            self._case.fail(f"the error {error} is not the one expected: {expected}")
        return True


Differentiable: TypeAlias = Tensor | Variable


def compute_gradient(
    x: Differentiable | Sequence[Differentiable],
    x_shape: Sequence[Any],
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: TensorLike | Sequence[TensorLike | None] | None = None,
    delta: float = 1e-3,
    init_targets: object = None,
    extra_feed_dict: Mapping[Any, TensorLike] | None = None,
) -> Any:
    """Returns two Jacobians of `y` by `x`, from gradients and from differences: arrays [size of x, size of y].

    x: a floating tensor, or a list of them, for which the result is a list of such pairs. x_shape, y_shape: the shapes.
    x_init_value: the point, by default a random one. delta: half of the difference in x. init_targets: operations that
    run first. extra_feed_dict: further feeds. Raises `InvalidArgumentError` for another dtype or without a default
    session.
    """
    session = get_default_session()
    if session is None:
        raise InvalidArgumentError("compute_gradient needs a default session: use `with tf.Session():`")
    if init_targets is not None:
        session.run(init_targets)
    if isinstance(x, Sequence):
        inits: Any = [None] * len(x) if x_init_value is None else x_init_value
        return [
            _jacobians(session, xi, si, y, y_shape, vi, delta, extra_feed_dict)
            for xi, si, vi in zip(x, x_shape, inits, strict=True)
        ]
    return _jacobians(session, x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict)


def _jacobians(
    session: DefaultSession,
    x: Differentiable,
    x_shape: Sequence[int],
    y: Tensor,
    y_shape: Sequence[int],
    init: TensorLike | None,
    delta: float,
    extra: Mapping[Any, TensorLike] | None,
) -> tuple[np.ndarray, np.ndarray]:
    for t in (x, y):
        if not t.dtype.is_floating:
            raise InvalidArgumentError(f"compute_gradient: {t.name} is {t.dtype.name}, needed a float")
    dtype = as_dtype(x.dtype).np
    value = np.random.random_sample(x_shape) if init is None else np.asarray(init)
    value = value.astype(dtype).reshape(tuple(x_shape))
    feeds = dict(extra or {})
    fed_shape = y.shape.known() if y.shape.is_fully_defined() else tuple(y_shape)  # a scalar may be said to be a vector
    with x.graph.as_default():
        dy = ones_like(y)
        grad = gradients(y, x, dy)[0]
    rows, columns = value.size, int(np.prod(y_shape, dtype=int))
    analytic = np.zeros((rows, columns), dtype)
    for j in range(columns if grad is not None else 0):
        unit = np.zeros(columns, as_dtype(y.dtype).np)
        unit[j] = 1
        analytic[:, j] = _dense(session.run(grad, {**feeds, x: value, dy: unit.reshape(fed_shape)}), value.shape)
    if not columns and grad is not None:  # nothing to differentiate: the gradient must still have the shape of x
        found = np.asarray(session.run(grad, {**feeds, x: value, dy: np.zeros(fed_shape, as_dtype(y.dtype).np)}))
        if found.shape != value.shape:
            raise InvalidArgumentError(f"Empty gradient has wrong shape: expected {value.shape}, got {found.shape}")
    numeric = np.zeros((rows, columns), dtype)
    for i in range(rows):
        outputs = []
        for sign in (1, -1):
            perturbed = value.copy()
            perturbed.flat[i] += sign * delta
            outputs.append(np.asarray(session.run(y, {**feeds, x: perturbed})).ravel())
        numeric[i] = (outputs[0] - outputs[1]) / (2 * delta)
    return analytic, numeric


def _dense(gradient: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a gradient as a vector; the rows of a sparse gradient are summed."""
    if not hasattr(gradient, "indices"):
        return np.asarray(gradient).ravel()
    dense = np.zeros(shape, np.asarray(gradient.values).dtype)
    np.add.at(dense, gradient.indices, gradient.values)
    return dense.ravel()


def compute_gradient_error(
    x: Differentiable | Sequence[Differentiable],
    x_shape: Sequence[Any],
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: TensorLike | Sequence[TensorLike | None] | None = None,
    delta: float = 1e-3,
    init_targets: object = None,
    extra_feed_dict: Mapping[Any, TensorLike] | None = None,
) -> float:
    """Returns the largest absolute difference between the two Jacobians of `compute_gradient`.

    x, x_shape, y, y_shape and the other arguments are those of `compute_gradient`.
    """
    jacobians = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = jacobians if isinstance(jacobians, list) else [jacobians]
    # A NumPy number, as TensorFlow's: programs of the time write it with "text" % error, which a Python float refuses.
    return np.float64(max((np.max(np.abs(a - b), initial=0.0) for a, b in pairs), default=0.0))
