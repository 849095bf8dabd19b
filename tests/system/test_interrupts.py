"""Ctrl-C is held back once, however many parts of a step hold it."""

import signal
import threading

import pytest

from tfnb.system.interrupts import HeldInterrupts, holding, interruptible, raise_if_held


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_alone_it_raises_when_the_block_is_left():
    seen = []
    with pytest.raises(KeyboardInterrupt), holding() as held:
        assert isinstance(held, HeldInterrupts)
        ctrl_c()
        seen.append("inside")
    assert seen == ["inside"]


def test_inside_another_it_leaves_that_to_the_outer_one_or_to_who_asks():
    seen = []
    with pytest.raises(KeyboardInterrupt), HeldInterrupts():
        with holding() as held:
            assert held is None
            ctrl_c()
            seen.append("inner")
        seen.append("outer")
        with pytest.raises(KeyboardInterrupt):
            raise_if_held()
    assert seen == ["inner", "outer"]


def test_inside_a_function_of_the_users_it_holds():
    seen = []
    with HeldInterrupts(), interruptible(), pytest.raises(KeyboardInterrupt), holding():
        ctrl_c()
        seen.append("inside")
    assert seen == ["inside"]


def test_other_threads_get_no_interrupts():
    seen = []

    def work():
        with holding():
            raise_if_held()
            seen.append("done")

    with HeldInterrupts():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == ["done"]
