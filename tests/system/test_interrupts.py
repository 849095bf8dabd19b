"""Handlers of signals: Python's own interface to them stays as it is, and within blocks they wait."""

from __future__ import annotations

import os
import signal
import threading
import traceback

import pytest

from tfnb.errors import UnknownError
from tfnb.system.interrupts import (
    HeldInterrupts,
    check_signals,
    ctrl_c_at_once,
    holding_handlers,
    holding_interrupts,
    interruptible,
    noted,
    raise_if_held,
)


class LateError(Exception):
    """What the handlers of these tests raise."""


def raise_late(*_):
    raise LateError


@pytest.fixture
def calls():
    """The numbers for which the handler of SIGUSR1 and SIGUSR2 was called, which raises nothing."""
    seen = []
    before = [signal.signal(n, lambda number, frame: seen.append(number)) for n in (signal.SIGUSR1, signal.SIGUSR2)]
    yield seen
    for n, handler in zip((signal.SIGUSR1, signal.SIGUSR2), before, strict=True):
        signal.signal(n, handler)
    assert not noted


@pytest.fixture
def late():
    before = signal.signal(signal.SIGUSR1, raise_late)
    yield
    signal.signal(signal.SIGUSR1, before)
    assert not noted


def test_pythons_interface_shows_the_programs_own_handlers(late):
    assert signal.getsignal(signal.SIGUSR1) is raise_late
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with HeldInterrupts():
        assert signal.getsignal(signal.SIGUSR1) is raise_late
        assert signal.signal(signal.SIGUSR1, print) is raise_late
        assert signal.signal(signal.SIGUSR1, raise_late) is print
    assert signal.signal(signal.SIGUSR1, signal.SIG_IGN) is raise_late
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.signal(signal.SIGUSR1, raise_late) == signal.SIG_IGN
    for wrong in (7.5, "handler"):
        with pytest.raises(TypeError, match="signal handler must be"):
            signal.signal(signal.SIGUSR1, wrong)
    with pytest.raises(ValueError, match="signal number out of range"):
        signal.signal(5000, raise_late)
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_an_interrupt_outside_of_steps_has_no_frame_of_ours():
    with pytest.raises(KeyboardInterrupt) as interrupt:
        signal.raise_signal(signal.SIGINT)
    assert {f.filename for f in traceback.extract_tb(interrupt.value.__traceback__)} == {__file__}


def test_handlers_wait_for_the_end_of_the_outermost_block_and_are_called_once(calls):
    with HeldInterrupts():
        with holding_interrupts():
            for _ in range(3):
                signal.raise_signal(signal.SIGUSR2)
                signal.raise_signal(signal.SIGUSR1)
            raise_if_held()
        assert not calls
    assert calls == [signal.SIGUSR1, signal.SIGUSR2]


def test_handlers_are_called_at_a_check_where_nothing_is_locked(calls):
    with HeldInterrupts() as held:
        signal.raise_signal(signal.SIGUSR1)
        with holding_interrupts() as inner:
            inner.check()
            check_signals()
            assert not calls
        check_signals()
        assert not calls, "the step may end soon"
        held.check()
        assert calls == [signal.SIGUSR1]
        with interruptible():
            signal.raise_signal(signal.SIGUSR2)
            assert calls == [signal.SIGUSR1, signal.SIGUSR2]
            with HeldInterrupts():
                signal.raise_signal(signal.SIGUSR1)
                assert len(calls) == 2
            assert len(calls) == 3


def test_a_handler_that_is_replaced_before_it_was_called_is_not_called(calls):
    with HeldInterrupts():
        signal.raise_signal(signal.SIGUSR1)
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, before)
    assert not calls


def test_all_handlers_are_called_though_one_of_them_raises(calls, late):
    with pytest.raises(LateError), HeldInterrupts():
        signal.raise_signal(signal.SIGUSR2)
        signal.raise_signal(signal.SIGUSR1)
    assert calls == [signal.SIGUSR2]


def test_what_a_handler_raises_leaves_the_outermost_block_as_it_is(late):
    with pytest.raises(LateError) as error, HeldInterrupts():
        try:
            with interruptible():
                signal.raise_signal(signal.SIGUSR1)
        except LateError as e:
            raise UnknownError("the step says what its kernel raised") from e
    assert error.value.__context__ is None and error.value.__cause__ is None
    with pytest.raises(ValueError, match="the program's own"), HeldInterrupts():
        try:
            with interruptible():
                signal.raise_signal(signal.SIGUSR1)
        except LateError:
            raise ValueError("the program's own") from None
    with HeldInterrupts(), pytest.raises(LateError), interruptible():
        signal.raise_signal(signal.SIGUSR1)


def test_a_block_for_handlers_lets_ctrl_c_pass(calls):
    with pytest.raises(KeyboardInterrupt), holding_handlers():
        signal.raise_signal(signal.SIGUSR1)
        assert not calls
        signal.raise_signal(signal.SIGINT)
        pytest.fail("not reached")
    assert calls == [signal.SIGUSR1]
    with pytest.raises(KeyboardInterrupt), HeldInterrupts():
        with holding_handlers():
            signal.raise_signal(signal.SIGINT)
            calls.append(0)
        with ctrl_c_at_once():
            pytest.fail("not reached")
    assert calls[1:] == [0]


def test_other_threads_hold_nothing(calls):
    seen = []

    def work():
        with HeldInterrupts() as held:
            seen.append(held.is_holding)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            check_signals()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False] and calls == [signal.SIGUSR1]
