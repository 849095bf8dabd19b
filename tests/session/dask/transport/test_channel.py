"""Channels between real sockets: values, order, many threads, back-pressure, strangers, closing."""

import gc
import socket
import ssl
import struct
import subprocess
import threading
import time
import warnings
from contextlib import suppress
from queue import Empty

import numpy as np
import pytest
from waiting import until

from tfnb.errors import (
    ClosedSessionError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from tfnb.session.dask.transport import channel as channels
from tfnb.session.dask.transport.channel import Channel, Peer, Tls
from tfnb.session.dask.transport.poller import Inbox as Waiting
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.wire import Kind, Message, frames


def tensor(step, key, value):
    return Message(Kind.TENSOR, step, key, value)


class Inbox:
    """What a channel got."""

    def __init__(self, delay=0.0):
        self.got, self.errors, self.delay = [], [], delay
        self.came = threading.Condition()

    def receive(self, head, value, stream):
        time.sleep(self.delay)
        with self.came:
            self.got.append((head.key, value))
            self.came.notify_all()

    def wait_for(self, count):
        with self.came:
            assert self.came.wait_for(lambda: len(self.got) >= count, 60), f"{len(self.got)} of {count} came"
        return self.got


@pytest.fixture
def pair():
    box = Inbox()
    one = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    two = Channel("127.0.0.1", box.receive, box.errors.append)
    yield one, two, box
    one.close()
    two.close()
    assert not [t for t in threading.enumerate() if t.name == "tfnb channel"]


def test_tensors_of_all_sizes(pair):
    one, two, box = pair
    values = [np.arange(n, dtype=np.float32) for n in (0, 1, 1000, 3_000_001)]
    for i, v in enumerate(values):
        assert one.send(two.peer, tensor(1, f"k{i}", v)) == v.nbytes
    for (key, got), v, i in zip(box.wait_for(4), values, range(4), strict=True):
        assert key == f"k{i}"
        np.testing.assert_array_equal(got, v)
    assert not box.errors


def test_messages_that_go_together_come_in_order(pair):
    one, two, box = pair
    sizes = (3, 0, 2, 500_000, 1, 4, 9)
    values = [np.full(n, i) for i, n in enumerate(sizes)]
    one.send(two.peer, *(tensor(1, str(i), v) for i, v in enumerate(values)))
    for i, (key, value) in enumerate(box.wait_for(len(sizes))):
        assert key == str(i)
        np.testing.assert_array_equal(value, values[i])


def test_a_value_may_change_as_soon_as_it_was_sent(pair):
    one, two, box = pair
    value = np.zeros(4_000_000, np.float32)
    for i in range(5):
        value[:] = i
        one.send(two.peer, tensor(1, "v", value))
    assert [(v.min(), v.max()) for _, v in box.wait_for(5)] == [(i, i) for i in range(5)]


def test_many_threads_long_and_short(pair):
    one, two, box = pair

    def work(t):
        for i in range(20):
            one.send(two.peer, tensor(1, f"{t} {i}", np.full(1 if i % 4 else 700_000, t * 100 + i)))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    seen = {t: [] for t in range(8)}
    for key, value in box.wait_for(160):
        t, i = map(int, key.split())
        assert (value == t * 100 + i).all()
        seen[t].append(i)
    assert all(order == list(range(20)) for order in seen.values())


def test_a_slow_reader_holds_its_senders_back():
    box = Inbox(delay=0.02)
    one = Channel("127.0.0.1", box.receive, lambda e: None)
    two = Channel("127.0.0.1", box.receive, lambda e: None)
    value = np.zeros(1 << 20, np.uint8)
    for i in range(150):
        one.send(two.peer, tensor(1, str(i), value))
    assert len(box.got) >= 40  # 150 MB do not fit into the queues: the sender waited for the reader
    assert [k for k, _ in box.wait_for(150)] == [str(i) for i in range(150)]
    one.close()
    two.close()


def test_a_dropped_peer_wakes_who_waits_for_it(pair):
    one, _, _ = pair
    silent = socket.create_server(("127.0.0.1", 0))
    nobody = Peer("127.0.0.1", silent.getsockname()[1], "x")
    ended = threading.Event()

    def drop():
        while not ended.wait(0.2):  # again, should the queues not be full yet
            one.drop(nobody)

    dropping = threading.Thread(target=drop)
    dropping.start()
    with pytest.raises(UnavailableError, match=r"cannot be reached: .* 'k' of step 3 waited"):
        for _ in range(100):
            one.send(nobody, tensor(3, "k", np.zeros(1 << 20, np.uint8)))
    ended.set()
    dropping.join()
    assert one.send(nobody, tensor(3, "k", np.zeros(3))) == 24  # on its way anew: a paused peer may come back
    silent.close()


def test_nobody_listens_there(pair):
    one, two, _ = pair
    two.close()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        one.send(two.peer, tensor(1, "k", np.zeros(1)))


def test_a_closed_channel_says_so():
    channel = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    channel.close()
    channel.close()
    with pytest.raises(ClosedSessionError):
        channel.send(Peer("127.0.0.1", 9, "x"), tensor(1, "k", np.zeros(1)))


def test_a_channel_can_be_closed_while_peers_arrive():
    for _ in range(100):
        channels = [Channel("127.0.0.1", lambda *_: None, lambda e: None) for _ in range(5)]
        there, *others = channels

        def send(channel, to):
            with suppress(UnavailableError, ClosedSessionError):
                channel.send(to, tensor(1, "a", np.float32(1)))

        senders = [threading.Thread(target=send, args=(c, there.peer)) for c in others]
        for thread in senders:
            thread.start()
        there.close()
        assert not there._threads
        for thread in senders:
            thread.join()
        for channel in others:
            channel.close()


def test_strangers_are_not_heard(pair):
    one, two, box = pair
    stranger = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    with suppress(UnavailableError):  # whether it learns it at once or not
        stranger.send(two.peer._replace(password="guess" * 7), tensor(1, "hello", np.zeros(1)))
    with socket.create_connection((two.peer.host, two.peer.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1" + b" " * 25)
        assert plain.recv(100) == b""
    one.send(two.peer, tensor(1, "known", np.zeros(1)))
    assert [k for k, _ in box.wait_for(1)] == ["known"]
    until(lambda: len(box.errors) == 2)  # each stranger is refused in a thread of its own
    assert [type(e) for e in box.errors] == [PermissionDeniedError] * 2
    stranger.close()


def test_malformed_messages_end_their_connection_only(pair):
    one, two, box = pair
    stream = one.connect(two.peer)
    stream._sock.sendall(b"no head at all" * 9)
    with pytest.raises(EOFError):
        stream.read(True)
    assert "does not begin as one of ours" in str(box.errors[0])
    one.send(two.peer, tensor(1, "after", np.ones(2)))
    assert [k for k, _ in box.wait_for(1)] == ["after"]
    one.close_stream(stream)


@pytest.mark.parametrize("dtype", ["i4,(1000000000,)f8", "(2,)f4", ",", "V100000000000"])
def test_a_peer_that_says_nonsense_is_refused(pair, dtype):
    """A dtype is a text, which NumPy may parse in many ways."""
    one, two, box = pair
    stream = one.connect(two.peer)
    raw, data = next(iter(frames(tensor(1, "k", np.zeros(2, np.float32)), 1)))
    subject = struct.pack("<BBQ", len(dtype), 1, 2) + dtype.encode() + b"k"
    stream._sock.sendall(raw[:6] + struct.pack("<H", len(subject)) + raw[8:40] + subject + bytes(data))
    with pytest.raises(EOFError):
        stream.read(True)
    assert f"dtype {dtype!r} is not known" in str(box.errors[0])
    one.send(two.peer, tensor(1, "after", np.ones(2)))
    assert [k for k, _ in box.wait_for(1)] == ["after"]
    one.close_stream(stream)


def test_what_a_receiver_does_not_expect_is_refused_too(pair):
    """Whatever a message makes the receiver raise, it is counted and told, and other connections go on."""
    one, two, box = pair
    receive = box.receive

    def fail(head, value, stream):
        two._receive = receive
        raise KeyError("not ours")

    two._receive = fail
    one.send(two.peer, tensor(1, "bad", np.ones(2)))
    until(lambda: box.errors)
    assert "KeyError: 'not ours'" in str(box.errors[0])
    three = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    three.send(two.peer, tensor(1, "after", np.ones(2)))
    assert [k for k, _ in box.wait_for(1)] == ["after"]
    three.close()


def test_many_unfinished_messages_are_limited():
    """One byte each: what is counted is what they take, not what they say."""
    box = Inbox()
    one = Channel("127.0.0.1", box.receive, box.errors.append)
    two = Channel("127.0.0.1", box.receive, box.errors.append, limit=1 << 16)
    stream = one.connect(two.peer)
    raw, _ = next(iter(frames(tensor(1, "k", np.zeros(2, np.uint8)), 1)))
    for number in range(100):
        head = raw[:8] + struct.pack("<II", number, 1) + raw[16:]
        with suppress(OSError):
            stream._sock.sendall(head + b"x")
    with pytest.raises((EOFError, OSError)):
        stream.read(True)
    assert [type(e) for e in box.errors] == [ResourceExhaustedError]
    until(lambda: not two._budget._used)
    one.close()
    two.close()


@pytest.mark.parametrize(
    ("host", "wide"),
    [
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("localhost", False),
        ("::1", False),
        ("[::1]", False),
        ("0.0.0.0", True),
        ("127.evil.example", True),
        ("127.0.0.1.evil.example", True),
        ("::", True),
        ("10.0.0.1", True),
        ("", True),
    ],
)
def test_only_numbers_of_loopback_stay_on_this_machine(host, wide):
    assert channels._is_wide(host) == wide


def test_what_comes_in_parts_is_limited():
    box = Inbox()
    one = Channel("127.0.0.1", box.receive, box.errors.append)
    two = Channel("127.0.0.1", box.receive, box.errors.append, limit=3 << 20)
    one.send(two.peer, tensor(1, "fits", np.zeros(2 << 20, np.uint8)))
    box.wait_for(1)
    first, second = one.connect(two.peer), one.connect(two.peer)
    halves = [next(iter(wire_frames("k", 2 << 20))) for _ in range(2)]
    first._sock.sendall(b"".join(halves[0]))
    until(lambda: two._budget._used)
    second._sock.sendall(b"".join(halves[1]))
    with pytest.raises((EOFError, OSError)):
        second.read(True)
    assert [type(e) for e in box.errors] == [ResourceExhaustedError]
    one.close()
    two.close()


def wire_frames(key, nbytes):
    return frames(tensor(1, key, np.zeros(nbytes, np.uint8)), 1)


def test_an_answer_comes_on_the_connection_of_the_request():
    """Both ways at once, large: neither side may wait for the other to read first."""
    ended = []

    def answer(head, value, stream):
        stream.send([tensor(head.step, f"{head.key} back", value)])

    one = Channel("127.0.0.1", lambda *a: None, ended.append)
    two = Channel("127.0.0.1", answer, ended.append)
    stream, got = one.connect(two.peer), []
    poller = Poller(lambda head, value, stream: got.append((head.key, value)), lambda stream, e: ended.append(e))
    poller.add(stream)
    values = [np.full(n, i) for i, n in enumerate((1, 1_000_000, 3, 2_000_000))]
    for i, v in enumerate(values):
        stream.send([tensor(1, str(i), v)], poller.wait_until_writable(stream))
    while len(got) < len(values):
        poller.poll(lambda: False, 20)
    assert not ended
    for i, (key, value) in enumerate(got):
        assert key == f"{i} back"
        np.testing.assert_array_equal(value, values[i])
    two.close()
    poller.poll(lambda: False, 20)
    assert isinstance(ended[0], EOFError | OSError)
    poller.close()
    one.close()


def test_another_thread_wakes_one_that_waits_at_a_poller():
    poller = Poller(lambda *a: None, lambda *a: None)
    queue = Waiting(poller)
    timer = threading.Timer(0.3, queue.put, ["came"])
    start = time.monotonic()
    timer.start()
    assert queue.get(timeout=300) == "came"
    assert 0.2 < time.monotonic() - start < 200
    with pytest.raises(Empty):
        queue.get(timeout=0.05)
    timer.join()
    poller.close()


@pytest.fixture
def tls(tmp_path):
    """tls() -> contexts of a new authority of its own."""

    def make():
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        cert, key = folder / "cert.pem", folder / "key.pem"
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tfnb"
        subprocess.run([*command.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
        listening, connecting = (ssl.SSLContext(p) for p in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT))
        connecting.check_hostname = False  # as Dask has it
        for context in (listening, connecting):
            context.load_cert_chain(cert, key)
            context.load_verify_locations(cert)
            context.verify_mode = ssl.CERT_REQUIRED
        return Tls(listening, connecting)

    return make


def test_certificates_and_encryption_off_loopback(tls):
    with pytest.raises(PermissionDeniedError, match="without TLS"):
        Channel("0.0.0.0", Inbox().receive, lambda e: None)
    box, keys = Inbox(), tls()
    # 0.0.0.0 is not loopback, though it can be reached there
    one = Channel("0.0.0.0", Inbox().receive, lambda e: None, keys)
    two = Channel("0.0.0.0", box.receive, box.errors.append, keys)
    at = two.peer._replace(host="127.0.0.1")
    assert at.sealed
    value = np.arange(400_000, dtype=np.float64)
    one.send(at, tensor(1, "k", value), tensor(1, "small", np.ones(2)))
    np.testing.assert_array_equal(box.wait_for(2)[0][1], value)
    stranger = Channel("0.0.0.0", Inbox().receive, lambda e: None, tls())
    with pytest.raises(UnavailableError):
        # TLS 1.3 tells of a refused certificate after the first bytes
        until(lambda: stranger.send(at, tensor(1, "no", np.zeros(1))) is not None)
    with socket.create_connection((at.host, at.port)) as plain:
        plain.sendall(b"tfnb 2 " + at.password.encode())
        with suppress(ConnectionResetError):
            plain.recv(100)
    assert len(box.got) == 2
    for c in (one, two, stranger):
        c.close()


def test_a_line_over_tls_both_ways(tls):
    keys = tls()
    one = Channel("0.0.0.0", lambda *a: None, lambda e: None, keys)
    two = Channel("0.0.0.0", lambda head, value, stream: stream.send([tensor(1, "back", value)]), lambda e: None, keys)
    stream, got = one.connect(two.peer._replace(host="127.0.0.1")), []
    poller = Poller(lambda head, value, stream: got.append(value), lambda stream, e: got.append(e))
    poller.add(stream)
    for n in (1, 300_000, 2):
        stream.send([tensor(1, "k", np.full(n, n))], poller.wait_until_writable(stream))
    while len(got) < 3:
        poller.poll(lambda: False, 20)
    assert [(len(v), v[-1]) for v in got] == [(1, 1), (300_000, 300_000), (2, 2)]
    poller.close()
    one.close()
    two.close()


def test_a_stranger_who_says_nothing_keeps_no_channel_open(monkeypatch):
    monkeypatch.setattr("tfnb.session.dask.transport.channel._GREETING", 300.0)
    channel = Channel("127.0.0.1", lambda *_: None, lambda e: None)
    with socket.create_connection((channel.peer.host, channel.peer.port)) as silent:
        until(lambda: channel._unauthenticated)  # it was taken
        start = time.monotonic()
        channel.close()
        assert time.monotonic() - start < 200  # not the time that strangers have
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""


def test_a_stranger_who_speaks_slowly_is_not_heard_for_ever(monkeypatch):
    monkeypatch.setattr("tfnb.session.dask.transport.channel._GREETING", 0.3)
    box = Inbox()
    channel = Channel("127.0.0.1", lambda *_: None, box.errors.append)
    with socket.create_connection((channel.peer.host, channel.peer.port)) as slow, suppress(OSError):
        slow.settimeout(0.1)
        for byte in b"tfnb 2 " + b"?" * 31:  # one less than it would have to say, each in time
            slow.sendall(bytes([byte]))
            with suppress(TimeoutError):
                if slow.recv(1) == b"":
                    break
        else:
            pytest.fail("it was heard to the end")
    channel.close()


def test_a_stranger_without_keys_leaves_no_open_socket(tls):
    errors, keys = [], tls()
    channel = Channel("0.0.0.0", lambda *_: None, errors.append, keys)
    gc.collect()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with socket.create_connection(("127.0.0.1", channel.peer.port)) as plain:
            until(lambda: channel._unauthenticated)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end
        sealed = keys.connecting.wrap_socket(socket.create_connection(("127.0.0.1", channel.peer.port)))
        sealed.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sealed.close()
        until(lambda: len(errors) == 2)
        channel.close()
        gc.collect()
    assert len(errors) == 2
    assert not [str(w.message) for w in found if w.category is ResourceWarning]


def test_a_stranger_who_resets_just_before_the_handshake_leaves_no_open_socket(tls):
    channel = Channel("0.0.0.0", lambda *_: None, lambda e: None, tls())
    gc.collect()
    with socket.create_server(("127.0.0.1", 0)) as listener, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        stranger = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()

        class Accepted(socket.socket):
            """Its peer resets while the channel sets its options."""

            def setsockopt(self, *args):
                super().setsockopt(*args)
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stranger.close()
                time.sleep(0.05)

        with pytest.raises(OSError):
            channel._authenticate(Accepted(fileno=accepted.detach()))
        channel.close()
        gc.collect()
    assert not [str(w.message) for w in found if w.category is ResourceWarning]


def test_a_poller_may_be_closed_while_others_wake_it():
    pollers, ended, errors = [Poller(lambda *a: None, lambda *a: None)], threading.Event(), []

    def wake():
        try:
            while not ended.is_set():
                pollers[0].wake()
        except OSError as e:
            errors.append(e)

    thread = threading.Thread(target=wake)
    thread.start()
    for _ in range(2000):
        pollers[0]._is_waiting = True  # as while it waits
        pollers[0].close()
        pollers[0] = Poller(lambda *a: None, lambda *a: None)
    ended.set()
    thread.join()
    pollers[0].close()
    assert not errors
