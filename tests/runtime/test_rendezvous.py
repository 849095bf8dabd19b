"""The local rendezvous: one value per Recv, one call per callback, also under many threads."""

from __future__ import annotations

import random
import sys
import threading
import time

import pytest

from tfnb.errors import AbortedError, CancelledError, DeadlineExceededError
from tfnb.runtime.rendezvous import Received, Rendezvous


def collector():
    got = []
    return got, lambda item, error: got.append((item, error))


@pytest.fixture
def busy_switching():
    """Threads change places as often as they can, so that races come up."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(functions):
    """Run all at once; the first error of any is raised here, and none is left behind."""
    start, errors = threading.Barrier(len(functions)), []

    def run(function):
        try:
            start.wait(10)
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def test_send_then_recv():
    meeting = Rendezvous()
    meeting.send("a", 1)
    meeting.send("b", None, is_dead=True)
    assert sorted(meeting.untaken()) == ["a", "b"]
    assert meeting.recv("a") == Received(1, False)
    got, callback = collector()
    meeting.recv_async("b", callback)
    assert got == [(Received(None, True), None)]
    assert meeting.untaken() == [] and meeting.waiting() == []


def test_recv_then_send():
    meeting = Rendezvous()
    got, callback = collector()
    meeting.recv_async("a", callback)
    assert meeting.waiting() == ["a"] and got == []
    meeting.send("b", 2)
    assert got == []
    meeting.send("a", 1)
    assert got == [(Received(1, False), None)]
    assert meeting.waiting() == [] and meeting.untaken() == ["b"]


def test_none_is_a_value():
    meeting = Rendezvous()
    meeting.send("a", None)
    assert meeting.recv("a", timeout=5) == Received(None, False)


def test_a_key_is_first_in_first_out():
    meeting = Rendezvous()
    for value in range(3):
        meeting.send("values", value)
    assert [meeting.recv("values").value for _ in range(3)] == [0, 1, 2]
    got = []
    for name in "xyz":
        meeting.recv_async("waiters", lambda item, error, name=name: got.append((name, item.value)))
    for value in range(3):
        meeting.send("waiters", value)
    assert got == [("x", 0), ("y", 1), ("z", 2)]


def test_abort_wakes_all_and_the_first_error_stays():
    meeting = Rendezvous()
    got, callback = collector()
    for key in ("a", "a", "b"):
        meeting.recv_async(key, callback)
    meeting.send("unread", object())
    first = AbortedError("kernel failed")
    assert meeting.abort(first) is True
    assert meeting.abort(AbortedError("later")) is False
    assert got == [(None, first)] * 3
    assert meeting.error is first
    assert meeting.waiting() == [] and meeting.untaken() == []
    meeting.recv_async("c", callback)
    assert got[3:] == [(None, first)]
    with pytest.raises(CancelledError, match="send of 'd'") as info:
        meeting.send("d", 1)
    assert info.value.__cause__ is first
    with pytest.raises(CancelledError, match="recv of 'd'") as info:
        meeting.recv("d")
    assert info.value.__cause__ is first


def test_a_failing_callback_does_not_keep_the_others_asleep():
    meeting = Rendezvous()
    got, callback = collector()

    def fail(item, error):
        raise RuntimeError("callback")

    meeting.recv_async("a", fail)
    meeting.recv_async("b", callback)
    with pytest.raises(RuntimeError, match="callback"):
        meeting.abort(AbortedError("stop"))
    assert len(got) == 1


def test_callback_may_use_the_rendezvous():
    meeting = Rendezvous()
    got, callback = collector()
    meeting.recv_async("a", lambda item, error: meeting.send("b", item.value + 1))
    meeting.recv_async("b", callback)
    meeting.recv_async("c", lambda item, error: meeting.recv_async("d", callback))
    meeting.send("a", 1)
    assert got == [(Received(2, False), None)]
    error = AbortedError("stop")
    meeting.abort(error)
    assert got[1:] == [(None, error)]


def test_recv_gives_up_in_time_and_leaves_no_trace():
    meeting = Rendezvous()
    with pytest.raises(DeadlineExceededError, match=r"'a': nothing came within 0\.05 s"):
        meeting.recv("a", timeout=0.05)
    assert meeting.waiting() == []
    meeting.send("a", 1)
    assert meeting.recv("a", timeout=0) == Received(1, False)


def test_abort_wakes_blocked_threads():
    meeting = Rendezvous()
    outcomes = []

    def wait(key):
        try:
            meeting.recv(key)
        except CancelledError as error:
            outcomes.append(str(error.__cause__))

    def abort():
        while len(meeting.waiting()) < 8:
            time.sleep(0.001)
        meeting.abort(AbortedError("stop"))

    in_threads([lambda k=k: wait(k) for k in range(8)] + [abort])
    assert outcomes == ["stop"] * 8


@pytest.mark.usefixtures("busy_switching")
def test_every_value_arrives_once():
    """Senders and receivers of the same 400 keys, each in its own order, 4 threads a side."""
    meeting, n_threads, n_keys = Rendezvous(), 4, 400
    got = [[] for _ in range(n_threads)]

    def send(worker):
        keys = list(range(n_keys))
        random.Random(worker).shuffle(keys)
        for key in keys:
            meeting.send(key, (worker, key), is_dead=key % 3 == 0)

    def recv(worker):
        keys = list(range(n_keys))
        random.Random(100 + worker).shuffle(keys)
        for key in keys:
            if key % 2:
                got[worker].append((key, meeting.recv(key, timeout=20)))
            else:
                meeting.recv_async(key, lambda item, error, key=key: got[worker].append((key, item)))

    in_threads([lambda w=w: send(w) for w in range(n_threads)] + [lambda w=w: recv(w) for w in range(n_threads)])
    everything = [pair for part in got for pair in part]
    assert len(everything) == n_threads * n_keys
    assert all(item.value[1] == key and item.is_dead is (key % 3 == 0) for key, item in everything)
    assert len({item.value for _, item in everything}) == len(everything)
    assert meeting.waiting() == [] and meeting.untaken() == []


@pytest.mark.usefixtures("busy_switching")
@pytest.mark.parametrize("seed", range(5))
def test_abort_in_the_middle_calls_every_callback_once(seed):
    meeting, n_threads, n_keys = Rendezvous(), 4, 200
    calls = [[0] * n_keys for _ in range(n_threads)]
    cancelled = []
    error = AbortedError("stop")

    def send():
        try:
            for key in range(n_keys):
                meeting.send(key, key)
        except CancelledError as raised:
            cancelled.append(raised)

    def recv(worker):
        for key in range(n_keys):

            def callback(item, raised, key=key):
                assert (item is None) is (raised is error)
                calls[worker][key] += 1

            meeting.recv_async(key, callback)

    def abort():
        time.sleep(random.Random(seed).random() * 0.005)
        meeting.abort(error)

    in_threads([send, send, *(lambda w=w: recv(w) for w in range(n_threads)), abort, abort])
    assert calls == [[1] * n_keys] * n_threads
    assert all(raised.__cause__ is error for raised in cancelled)
    assert meeting.waiting() == [] and meeting.untaken() == []


@pytest.mark.usefixtures("busy_switching")
def test_timeouts_racing_with_sends_lose_no_value():
    meeting, n_keys = Rendezvous(), 300
    got = []

    def recv():
        for key in range(n_keys):
            while True:
                try:
                    got.append(meeting.recv(key, timeout=0.0001).value)
                    break
                except DeadlineExceededError:
                    continue

    def send():
        for key in range(n_keys):
            time.sleep(0.0001)
            meeting.send(key, key)

    in_threads([recv, send])
    assert got == list(range(n_keys))
    assert meeting.waiting() == [] and meeting.untaken() == []
