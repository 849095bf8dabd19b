"""tf.test, and what programs find beside their own file."""

from __future__ import annotations

import threading
import unittest
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.train import testing


def cases():
    """Made here, or pytest would run them as well."""

    class Case(tf.test.TestCase):
        def runTest(self):
            with self.test_session() as session:
                x = tf.constant([1.0, 2.0])
                self.assertAllClose(x * 2.0, [2.0, 4.0])
                self.assertAllEqual(session.run(x), x)
                self.assertShapeEqual(np.zeros(2), x)
                self.assertNear(1.0, 1.05, 0.1)
                self.assertArrayNear([1.0], [1.01], 0.1)
                self.assertAllClose({"a": x}, {"a": [1.0, 2.0]})
                with self.assertRaisesOpError("uninitialized"):
                    session.run(tf.Variable(1.0).value())
            with self.test_session() as again:
                assert again is session
            assert Path(self.get_temp_dir()).is_dir()

    class Wrong(tf.test.TestCase):
        def runTest(self):
            self.assertAllClose([1.0], [1.1])

    return Case, Wrong


def test_a_test_case_runs():
    Case, Wrong = cases()
    result = unittest.TestResult()
    Case().run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    result = unittest.TestResult()
    Wrong().run(result)
    assert len(result.failures) == 1


def test_gradients_are_checked():
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [2, 3])
        y = tf.tanh(x) @ tf.constant(np.ones((3, 2)))
        exact, measured = tf.test.compute_gradient(x, [2, 3], y, [2, 2])
        assert exact.shape == measured.shape == (6, 4)
        assert tf.test.compute_gradient_error(x, [2, 3], y, [2, 2]) < 1e-6
        z = x * tf.stop_gradient(x)
        assert tf.test.compute_gradient_error(x, [2, 3], z, [2, 3], np.ones((2, 3))) > 0.5
        table = tf.placeholder(tf.float64, [4, 2])
        rows = tf.gather(table, [1, 1, 3])
        assert tf.test.compute_gradient_error(table, [4, 2], rows, [3, 2]) < 1e-6
        with pytest.raises(errors.InvalidArgumentError, match="float"):
            tf.test.compute_gradient(tf.constant(1), [], tf.constant(1), [])


def test_the_machine():
    assert tf.test.is_built_with_cuda() is False
    assert tf.test.is_gpu_available(cuda_only=True) is False
    assert Path(tf.test.get_temp_dir()).is_dir()


def test_resources(tmp_path):
    assert Path(tf.resource_loader.get_data_files_path()) == Path(__file__).resolve().parent
    assert tf.resource_loader.load_resource(Path(__file__).name).startswith(b'"""tf.test')
    with pytest.raises(errors.NotFoundError):
        tf.load_op_library(str(tmp_path / "zero_out.so"))
    (tmp_path / "zero_out.so").write_bytes(b"\x7fELF")
    with pytest.raises(errors.UnimplementedError, match="OpenCL"):
        tf.load_op_library(str(tmp_path / "zero_out.so"))
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.user_ops.my_fact()) == b"0! == 1"


def test_tolerances_of_elements_devices_and_errors():
    case = tf.test.TestCase()
    case.assertAllClose([1.0, 2.0], [1.1, 2.0], atol=np.array([0.2, 0.0]))
    with pytest.raises(AssertionError, match="differ"):
        case.assertAllClose([1.0, 2.0], [1.1, 2.1], atol=np.array([0.2, 0.0]))
    brains = np.ones(1, tf.bfloat16.as_numpy_dtype)  # NumPy 1.26 has no common dtype for it and a Python float
    with pytest.raises(AssertionError, match="mismatched keys"):
        case.assertAllClose({"a": 1, "b": 2}, {"a": 1})
    with pytest.raises(ValueError, match="Can't compare dict to non-dict"):
        case.assertAllClose(1, {"a": 1})
    case.assertAllClose(np.float16([1.0]), brains)
    case.assertAllClose(brains, brains)
    assert testing._wide(brains).dtype == np.float32
    with tf.Graph().as_default(), case.session() as sess, tf.device("/device:GPU:7"):
        assert sess.run(tf.constant(1.0)) == 1.0
        x = tf.constant(1.0)
        assert isinstance(tf.test.compute_gradient_error(x, [], x * 2.0, []), np.floating)


def test_the_gradient_of_an_empty_result_has_the_shape_of_the_input():
    @tf.RegisterGradient("TransposedEmptyGrad")
    def _transposed(op, dy):
        return tf.transpose(dy)

    with tf.Graph().as_default() as graph, tf.Session():
        x = tf.placeholder(tf.float32)
        assert [j.shape for j in tf.test.compute_gradient(x, (0, 3), tf.identity(x), (0, 3))] == [(0, 0)] * 2
        with graph.gradient_override_map({"Identity": "TransposedEmptyGrad"}):
            y = tf.identity(x)
        with pytest.raises(ValueError, match=r"Empty gradient has wrong shape: expected \(0, 3\), got \(3, 0\)"):
            tf.test.compute_gradient_error(x, (0, 3), y, (0, 3))


def test_an_exception_with_exactly_a_message():
    case = tf.test.TestCase()
    with case.assertRaisesWithLiteralMatch(ValueError, "(a.c)"):
        raise ValueError("(a.c)")
    case.assertRaisesWithLiteralMatch(KeyError, "'b'", {}.__getitem__, "b")
    with pytest.raises(AssertionError), case.assertRaisesWithLiteralMatch(ValueError, "(a.c)"):
        raise ValueError("(abc)")
    with pytest.raises(AssertionError):
        case.assertRaisesWithLiteralMatch(ValueError, "a", int, "1")


def test_a_test_case_may_reset_the_graph_and_leave_out_set_up():
    class Resets(tf.test.TestCase):
        def test_it(self):
            x = tf.zeros([])
            tf.reset_default_graph()
            assert tf.get_default_graph() is not x.graph

    class NoSetUp(tf.test.TestCase):
        def setUp(self):
            self.value = 2.0

        def test_it(self):
            with self.test_session() as session:
                self.assertEqual(session.run(tf.constant(self.value)), 2.0)

    def run():
        result = unittest.TestResult()
        for kind in (Resets, NoSetUp):
            kind("test_it").run(result)
        found.append(result)

    found = []
    thread = threading.Thread(target=run)  # without the graph that surrounds this test
    thread.start()
    thread.join()
    assert found[0].wasSuccessful(), found[0].errors


def test_comparisons_of_arrays():
    with tf.Graph().as_default(), tf.Session():
        case, x = testing.TestCase(), tf.constant([1.0, 2.0, 4.0])
        right = [
            lambda: case.assertAllGreater(x, 0),
            lambda: case.assertAllGreaterEqual(x, 1),
            lambda: case.assertAllLess(x, 5),
            lambda: case.assertAllLessEqual(x, 4),
            lambda: case.assertAllInRange(x, 1, 4),
            lambda: case.assertAllInSet(x, [1, 2, 4, 8]),
            lambda: case.assertDTypeEqual(x, np.float32),
            lambda: case.assertDeviceEqual("/device:CPU:0", tf.DeviceSpec(device_type="CPU", device_index=0)),
            lambda: case.assertNotAllClose(x, [1.0, 2.0, 3.0]),
            lambda: case.assertNotAllEqual(x, [1.0, 2.0, 3.0]),
        ]
        wrong = [
            lambda: case.assertAllGreater(x, 1),
            lambda: case.assertAllGreaterEqual(x, 2),
            lambda: case.assertAllLess(x, 4),
            lambda: case.assertAllLessEqual(x, 3),
            lambda: case.assertAllInRange(x, 1, 4, open_lower_bound=True),
            lambda: case.assertAllInSet(x, [1, 2]),
            lambda: case.assertDTypeEqual(x, tf.float64),
            lambda: case.assertDeviceEqual("/cpu:0", "/cpu:1"),
            lambda: case.assertNotAllClose(x, [1.0, 2.0, 4.0]),
            lambda: case.assertNotAllEqual(x, [1.0, 2.0, 4.0]),
        ]
        _hold_and_fail(case, right, wrong)


def test_comparisons_of_containers():
    case, message = testing.TestCase(), tf.GraphDef()
    message.versions.producer = 3
    right = [
        lambda: case.assertItemsEqual([1, 2, 2], [2, 1, 2]),
        lambda: case.assertSameElements([1, 2, 2], [2, 1]),
        lambda: case.assertEmpty([]),
        lambda: case.assertNotEmpty({1}),
        lambda: case.assertLen("abc", 3),
        lambda: case.assertBetween(2, 1, 2),
        lambda: case.assertContainsSubset([1], [2, 1]),
        lambda: case.assertNoCommonElements([1], [2]),
        lambda: case.assertContainsSubsequence([1, 2, 3], [1, 3]),
        lambda: case.assertContainsInOrder(["a", "c"], "abc"),
        lambda: case.assertSequenceStartsWith([1], [1, 2]),
        lambda: case.assertSequenceAlmostEqual([1.0], [1.0 + 1e-9]),
        lambda: case.assertStartsWith("ab", "a"),
        lambda: case.assertEndsWith("ab", "b"),
        lambda: case.assertProtoEquals("versions { producer: 3 }", message),
    ]
    wrong = [
        lambda: case.assertItemsEqual([1, 2, 2], [2, 1]),
        lambda: case.assertSameElements([1, 2], [2]),
        lambda: case.assertEmpty([1]),
        lambda: case.assertNotEmpty([]),
        lambda: case.assertLen("abc", 2),
        lambda: case.assertBetween(3, 1, 2),
        lambda: case.assertContainsSubset([1, 3], [2, 1]),
        lambda: case.assertNoCommonElements([1, 2], [2]),
        lambda: case.assertContainsSubsequence([1, 2, 3], [3, 1]),
        lambda: case.assertContainsInOrder(["c", "a"], "abc"),
        lambda: case.assertSequenceStartsWith([2], [1, 2]),
        lambda: case.assertSequenceAlmostEqual([1.0], [1.1]),
        lambda: case.assertStartsWith("ab", "b"),
        lambda: case.assertEndsWith("ab", "a"),
        lambda: case.assertProtoEquals("versions { producer: 4 }", message),
    ]
    _hold_and_fail(case, right, wrong)


def _hold_and_fail(case, right, wrong):
    for assertion in right:
        assertion()
    for number, assertion in enumerate(wrong):
        try:
            assertion()
        except case.failureException:
            continue
        pytest.fail(f"assertion {number} did not fail")


def test_a_predicate_of_an_exception_and_a_thread_that_is_checked():
    case, calls = testing.TestCase(), []
    with case.assertRaisesWithPredicateMatch(ValueError, "b c"):
        raise ValueError("a b c")
    with pytest.raises(case.failureException), case.assertRaisesWithPredicateMatch(ValueError, lambda e: False):
        raise ValueError("a")
    nothing = case.assertRaisesWithPredicateMatch(ValueError, "a")
    with pytest.raises(case.failureException, match="ValueError not raised"), nothing:
        pass
    good = case.checkedThread(calls.append, (1,))
    bad = case.checkedThread(lambda: calls.append(1 / 0))
    for thread in (good, bad):
        thread.start()
    good.join()
    with pytest.raises(case.failureException, match="division by zero"):
        bad.join()
    assert calls == [1] and not good.is_alive()


def test_a_scalar_may_be_said_to_be_a_vector_of_one():
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant([1.0, 2.0])
        assert tf.test.compute_gradient_error(x, [2], tf.reduce_sum(x * x), [1]) < 1e-2


def test_arrays_are_near_by_the_norm_of_their_difference():
    case = tf.test.TestCase("run")
    case.assertNDArrayNear(np.zeros((2, 2)), np.full((2, 2), 0.1), 0.21)
    with pytest.raises(AssertionError, match=r"the norm of the difference is 0\.2"):
        case.assertNDArrayNear(np.zeros((2, 2)), np.full((2, 2), 0.1), 0.19)


def test_an_array_of_one_number_is_near():
    tf.test.TestCase("run").assertNear(np.array([1.0]), 1.05, 0.1)


def test_an_exception_of_a_class_that_matches():
    case = tf.test.TestCase("run")
    with case.assertRaisesWithPredicateMatch(ValueError, "wro.g"):
        raise ValueError("wrong")
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: error.args == ("wrong",)):
        raise ValueError("wrong")
    unexpected = pytest.raises(AssertionError, match="not the one expected")
    with unexpected, case.assertRaisesWithPredicateMatch(ValueError, "right"):
        raise ValueError("wrong")
    with pytest.raises(KeyError), case.assertRaisesWithPredicateMatch(ValueError, "wrong"):
        raise KeyError("wrong")


def test_lists_of_arrays_of_several_shapes_are_close():
    case = tf.test.TestCase("run")
    case.assertAllClose([1.0, [2.0, 3.0], {"a": [4.0]}], [1.0, (2.0, 3.0), {"a": np.array([4.0])}])
    with pytest.raises(AssertionError):
        case.assertAllClose([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]])
    with pytest.raises(AssertionError):
        case.assertAllClose([1.0, [2.0, 3.0]], [1.0])
    case.assertNotAllClose([1.0, 2.0], [1.0, 2.1], rtol=0.01)
    with pytest.raises(AssertionError, match="close at all elements"):
        case.assertNotAllClose([1.0, 2.0], [1.0, 2.1], rtol=0.1)


def test_lists_of_tensors_are_compared_by_which_they_are():
    case = tf.test.TestCase("run")
    a, b = tf.constant(1.0), tf.constant(1.0)
    case.assertAllEqual([a, b], (a, b))
    with pytest.raises(AssertionError):
        case.assertAllEqual([a, b], [b, a])


def test_a_test_has_one_folder():
    case, other = tf.test.TestCase("run"), tf.test.TestCase("run")
    assert case.get_temp_dir() == case.get_temp_dir() != other.get_temp_dir()
