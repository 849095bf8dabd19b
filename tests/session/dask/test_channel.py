"""Channels between real sockets: values, order, many threads, back-pressure, strangers, closing."""

import threading
import time

import numpy as np
import pytest
import zmq

from tfnb.errors import ClosedSessionError, UnavailableError
from tfnb.session.dask.channel import Channel, Peer
from tfnb.session.dask.wire import Kind, Message


def tensor(step, key, value):
    return Message(Kind.TENSOR, step, key, value)


class Inbox:
    """What a channel got."""

    def __init__(self, delay=0.0):
        self.got, self.errors, self.delay = [], [], delay
        self.came = threading.Condition()

    def receive(self, head, value):
        time.sleep(self.delay)
        with self.came:
            self.got.append((head.key, value))
            self.came.notify_all()

    def wait_for(self, count):
        with self.came:
            assert self.came.wait_for(lambda: len(self.got) >= count, 20), f"{len(self.got)} of {count} came"
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
    value, start = np.zeros(1 << 20, np.uint8), time.monotonic()
    for i in range(150):
        one.send(two.peer, tensor(1, str(i), value))
    # 150 MB do not fit into the queues: the reader's 20 ms each are felt by the sender
    assert time.monotonic() - start > 0.02 * 40
    assert [k for k, _ in box.wait_for(150)] == [str(i) for i in range(150)]
    one.close()
    two.close()


def test_a_dropped_peer_wakes_who_waits_for_it(pair):
    one, _, _ = pair
    with zmq.Context() as context, context.socket(zmq.PULL) as silent:
        nobody = Peer(f"tcp://127.0.0.1:{silent.bind_to_random_port('tcp://127.0.0.1')}", password=b"x")
    timer = threading.Timer(0.5, one.drop, [nobody])
    timer.start()
    with pytest.raises(UnavailableError, match="cannot be reached; 'k' of step 3 waited"):
        for _ in range(100):
            one.send(nobody, tensor(3, "k", np.zeros(1 << 20, np.uint8)))
    timer.join()
    assert one.send(nobody, tensor(3, "k", np.zeros(3))) == 24  # on its way anew: a paused peer may come back


def test_a_closed_channel_says_so():
    channel = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    channel.close()
    channel.close()
    with pytest.raises(ClosedSessionError):
        channel.send(Peer("tcp://127.0.0.1:9", password=b"x"), tensor(1, "k", np.zeros(1)))


def test_strangers_are_not_heard(pair):
    one, two, box = pair
    stranger = Channel("127.0.0.1", Inbox().receive, lambda e: None)
    stranger.send(two.peer._replace(password=b"guess"), tensor(1, "hello", np.zeros(1)))
    with zmq.Context() as context, context.socket(zmq.PUSH) as plain:
        plain.setsockopt(zmq.LINGER, 0)
        plain.connect(two.peer.endpoint)
        plain.send_multipart([b"x", b"y"])
        one.send(two.peer, tensor(1, "known", np.zeros(1)))
        time.sleep(0.5)
        assert [k for k, _ in box.wait_for(1)] == ["known"]
    stranger.close()


def test_malformed_messages_are_refused_and_counted(pair):
    one, two, box = pair
    way = one._way(two.peer)
    way.push((b"no head", memoryview(b"")), "junk")
    way.push((b"no bundle",), "junk")
    one.send(two.peer, tensor(1, "after", np.ones(2)))
    assert [k for k, _ in box.wait_for(1)] == ["after"]
    assert "malformed head" in str(box.errors[0])
    assert "bundle" in str(box.errors[1])


def test_keys_and_encryption_off_loopback():
    box = Inbox()
    # 0.0.0.0 is not loopback, though it can be reached there
    one = Channel("0.0.0.0", Inbox().receive, lambda e: None)
    two = Channel("0.0.0.0", box.receive, lambda e: None)
    at = two.peer._replace(endpoint=two.peer.endpoint.replace("0.0.0.0", "127.0.0.1"))
    assert len(two.peer.public_key) == 40
    two.allow(one.peer)
    value = np.arange(400_000, dtype=np.float64)
    one.send(at, tensor(1, "k", value))
    np.testing.assert_array_equal(box.wait_for(1)[0][1], value)
    stranger = Channel("0.0.0.0", Inbox().receive, lambda e: None)
    stranger.send(at, tensor(1, "no", np.zeros(1)))
    time.sleep(0.5)
    assert len(box.got) == 1
    for c in (one, two, stranger):
        c.close()
