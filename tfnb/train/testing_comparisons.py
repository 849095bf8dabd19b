"""Assertions of `tf.test.TestCase` on ranges and sets of numbers, and on containers and texts, as absl has them.

Invariant: an assertion on arrays evaluates its tensors by `evaluate` of the test case, so that they may also be arrays.
"""

from __future__ import annotations

import difflib
import threading
import unittest
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.client.graph.device_spec import DeviceSpec as PublicDeviceSpec
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.graphdef.message_types import Message
from tfnb.ir.tensor import TensorLike, array_of_tensors
from tfnb.types import DTypeLike, as_dtype

__all__ = ["ArrayComparisons", "CheckedThread", "ContainerComparisons"]


_Plain = unittest.TestCase  # by another name than the class of tfnb that derives from it


class ArrayComparisons(_Plain):
    """Assertions on the elements of arrays and tensors; the class is the base of a test case with `evaluate`."""

    def evaluate(self, tensors: object) -> Any:
        """Returns the values of tensors; the test case replaces this method."""
        return tensors

    def _array(self, value: object) -> np.ndarray:
        objects = array_of_tensors(value)  # these are compared by which tensors they are
        if objects is not None:
            return objects
        return np.asarray(self.evaluate(value) if hasattr(value, "graph") else value)

    def assertAllGreater(self, a: TensorLike, comparison_target: float) -> None:
        """Fails unless every element of `a` is greater than `comparison_target`."""
        self.assertGreater(self._array(a).min(), comparison_target)

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: float) -> None:
        """Fails unless every element of `a` is at least `comparison_target`."""
        self.assertGreaterEqual(self._array(a).min(), comparison_target)

    def assertAllLess(self, a: TensorLike, comparison_target: float) -> None:
        """Fails unless every element of `a` is less than `comparison_target`."""
        self.assertLess(self._array(a).max(), comparison_target)

    def assertAllLessEqual(self, a: TensorLike, comparison_target: float) -> None:
        """Fails unless every element of `a` is at most `comparison_target`."""
        self.assertLessEqual(self._array(a).max(), comparison_target)

    def assertAllInRange(
        self,
        target: TensorLike,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fails unless every element of `target` is in the range; an open bound is not in it itself, nor is NaN."""
        values = self._array(target)
        above = values > lower_bound if open_lower_bound else values >= lower_bound
        below = values < upper_bound if open_upper_bound else values <= upper_bound
        wrong = np.argwhere(~(above & below))
        ends = ("(" if open_lower_bound else "["), (")" if open_upper_bound else "]")
        self.assertFalse(
            len(wrong), f"not in {ends[0]}{lower_bound}, {upper_bound}{ends[1]}, at {wrong[:10].tolist()}: {values}"
        )

    def assertAllInSet(self, target: TensorLike, expected_set: Iterable[Any]) -> None:
        """Fails unless every element of `target` is one of `expected_set`."""
        others = np.setdiff1d(self._array(target).ravel(), list(expected_set))
        self.assertFalse(others.size, f"not in the set {expected_set}: {others}")

    def assertDTypeEqual(self, target: TensorLike, expected_dtype: DTypeLike) -> None:
        """Fails unless the array or the value of the tensor `target` has the dtype `expected_dtype`."""
        self.assertEqual(self._array(target).dtype, as_dtype(expected_dtype).np)

    def assertDeviceEqual(
        self,
        device1: str | DeviceSpec | PublicDeviceSpec,
        device2: str | DeviceSpec | PublicDeviceSpec,
        msg: str | None = None,
    ) -> None:
        """Fails unless two names of devices, or `DeviceSpec`s, are the same; `msg` is the message."""
        names = [str(d.to_string() if hasattr(d, "to_string") else d or "") for d in (device1, device2)]
        first, second = (DeviceSpec.from_string(name).to_string() for name in names)
        self.assertEqual(first, second, msg)


class ContainerComparisons(_Plain):
    """Assertions on containers, texts and messages."""

    def assertItemsEqual(self, first: Iterable[Any], second: Iterable[Any], msg: str | None = None) -> None:
        """Fails unless both have the same elements equally often, in any order; `msg` is the message."""
        self.assertCountEqual(first, second, msg)

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Fails unless both have the same elements, in any order and however often; `msg` is the message."""
        expected, actual = list(expected_seq), list(actual_seq)
        missing = [x for x in expected if x not in actual]
        more = [x for x in actual if x not in expected]
        self.assertFalse(missing or more, msg or f"missing: {missing}, unexpected: {more}")

    def assertEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """Fails unless the container has no elements; `msg` is the message."""
        self.assertFalse(len(container), msg or f"{container!r} has length of {len(container)}")

    def assertNotEmpty(self, container: Collection[Any], msg: str | None = None) -> None:
        """Fails if the container has no elements; `msg` is the message."""
        self.assertTrue(len(container), msg or f"{container!r} has length of 0")

    def assertLen(self, container: Collection[Any], expected_len: int, msg: str | None = None) -> None:
        """Fails unless the container has `expected_len` elements; `msg` is the message."""
        found = len(container)
        self.assertEqual(found, expected_len, msg or f"{container!r} has length of {found}, expected {expected_len}")

    def assertBetween(self, value: float, minv: float, maxv: float, msg: str | None = None) -> None:
        """Fails unless minv <= value <= maxv; `msg` is the message."""
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} unexpectedly not between {minv!r} and {maxv!r}")

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Fails unless each element of `expected_subset` is in `actual_set`; `msg` is the message."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing elements {missing}")

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Fails if an element is in both; `msg` is the message."""
        common = set(expected_seq) & set(actual_seq)
        self.assertFalse(common, msg or f"common elements {common}")

    def assertContainsSubsequence(
        self, container: Iterable[Any], subsequence: Iterable[Any], msg: str | None = None
    ) -> None:
        """Fails unless the elements of `subsequence` come in `container` in this order; `msg` is the message."""
        rest = iter(container)
        self.assertTrue(all(x in rest for x in subsequence), msg or f"{subsequence!r} is not in {container!r} in order")

    def assertContainsInOrder(self, strings: Sequence[str], target: str, msg: str | None = None) -> None:
        """Fails unless the texts come in the text `target` in this order; `msg` is the message."""
        place = 0
        for text in strings:
            found = target.find(text, place)
            self.assertGreaterEqual(found, 0, msg or f"did not find {text!r} after position {place} of {target!r}")
            place = found + len(text)

    def assertSequenceStartsWith(self, prefix: Sequence[Any], whole: Sequence[Any], msg: str | None = None) -> None:
        """Fails unless the sequence `whole` begins with the elements of `prefix`; `msg` is the message."""
        self.assertEqual(list(whole[: len(prefix)]), list(prefix), msg)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[float],
        actual_seq: Sequence[float],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Fails unless the sequences have equal lengths and almost equal numbers; see `assertAlmostEqual`."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        tolerance: dict[str, Any] = {"places": places, "delta": delta}
        for expected, actual in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(expected, actual, msg=msg, **tolerance)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fails unless the string `actual` starts with `expected_start`; `msg` is the message."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not begin with {expected_start!r}")

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Fails unless the string `actual` ends with `expected_end`; `msg` is the message."""
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r} does not end with {expected_end!r}")

    def assertProtoEquals(
        self, expected_message_maybe_ascii: str | Message, message: Message, msg: str | None = None
    ) -> None:
        """Fails unless the messages are equal; the first may be given as text. `msg` is the text of the failure."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = import_module("google.protobuf.text_format").Parse(expected, type(message)())
        self.assertIs(type(expected), type(message), msg)
        if expected != message:
            lines = str(expected).splitlines(), str(message).splitlines()
            self.fail("\n".join([msg or "the messages differ:", *difflib.unified_diff(*lines, lineterm="")]))

    def checkedThread(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> CheckedThread:
        """Returns a thread that calls `target`; an exception in it fails the test when the thread is joined."""
        return CheckedThread(self, target, args or (), kwargs or {})


class CheckedThread:
    """A thread whose exception is a failure of the test that joins it."""

    def __init__(
        self, case: unittest.TestCase, target: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self._case, self._target, self._args, self._kwargs = case, target, args, kwargs
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the end of the thread. Raises the failure of the test if the thread raised an exception."""
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Returns whether the thread runs."""
        return self._thread.is_alive()
