"""Who holds an array: what is copied, and what need not be."""

import numpy as np
import pytest

from tfnb.system.ownership import OwnedMemory, arguments, make_own

SIZE = 5000  # bytes: more than are copied without a question


def kept(make):
    """Whether an array that `make` returns to a list alone stays as it is."""
    values = [make()]
    before = values[0].ctypes.data
    make_own(values, (0,))
    return values[0].ctypes.data == before and values[0].flags.writeable


def on_memory(part=slice(None)):
    memory = np.ndarray.__new__(OwnedMemory, (SIZE,), np.uint8)
    return np.ndarray((SIZE,), np.uint8, memory)[part]


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(SIZE, np.uint8),
        lambda: np.zeros(2 * SIZE, np.uint8)[::2],
        lambda: np.zeros(SIZE, np.uint8).reshape(50, -1)[1:].T,
        lambda: np.ndarray((SIZE,), np.uint8, bytearray(SIZE)),
        on_memory,
        lambda: np.array([b"text"] * SIZE, object),
    ],
)
def test_what_a_list_alone_holds_is_not_copied(make):
    assert kept(make)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.frombuffer(bytes(SIZE), np.uint8),
        lambda: np.frombuffer(bytearray(SIZE), np.uint8),
        lambda: np.broadcast_to(np.zeros(1), SIZE),
        lambda: np.asarray(memoryview(bytearray(SIZE))),
        lambda: np.zeros((SIZE, 1)).view(np.matrix),
    ],
)
def test_what_may_belong_to_others_is_copied(make):
    values = [make()]
    wanted, before = np.array(values[0]), values[0].ctypes.data
    make_own(values, (0,))
    assert values[0].ctypes.data != before
    assert values[0].flags.writeable
    np.testing.assert_array_equal(values[0], wanted)


def test_what_somebody_else_holds_is_copied():
    array = np.zeros(SIZE)
    block = on_memory()
    for held in (array, block, array[1:], array.reshape(2, -1)[:, 1:], block[4:], memoryview(array).obj):
        values = [held]
        make_own(values, (0,))
        assert not np.shares_memory(values[0], held)


def test_of_two_places_with_one_array_one_is_copied():
    values = [np.zeros(SIZE)] * 2
    make_own(values, (0, 1))
    assert not np.shares_memory(*values)


def test_the_other_places_and_numbers_stay_as_they_are():
    array, number = np.zeros(SIZE), np.float32(3)
    values = [array, array, number]
    make_own(values, (1, 2))
    assert values[0] is array
    assert values[1] is not array
    assert values[2] is number


def test_arguments_are_copies_but_of_what_is_owned():
    array, fixed = np.zeros(3), np.zeros(3)
    fixed.flags.writeable = False
    first, second, third = arguments([array, array, fixed], {1, 2})
    assert not np.shares_memory(first, array)
    assert second is array
    assert third.flags.writeable
