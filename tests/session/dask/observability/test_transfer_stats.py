"""What was sent to whom: sums by receiver, step and tensor, from many threads, bounded."""

import threading

import numpy as np
import pytest

from tfnb.errors import UnavailableError
from tfnb.session.dask.observability.transfer_stats import OTHERS, CountingChannel, TransferStats
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.wire import Kind, Message

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def tensor(step, name, nbytes, tag=""):
    key = "\n".join((f"{PS}/device:CPU:0", f"{WORKER}/device:CPU:0", name, tag))
    return Message(Kind.TENSOR, step, key, np.zeros(nbytes, np.uint8))


def test_sums_by_receiver_and_tensor():
    transfers = TransferStats()
    for step in (1, 2, 3):
        sent = [tensor(step, "w:0", 100, tag) for tag in ("", "1", "2")]
        transfers.record("a", [*sent, tensor(step, "b:0", 8)], 308, 0.5)
        transfers.record("b", [Message(Kind.REPLY, step, WORKER, np.zeros(0, np.uint8))], 0, 0.0)
        transfers.record("old", [Message(Kind.TENSOR, step, "fetch 0", np.array([b"x"], object))], 9, 0.0)
    (a, b) = transfers.report({"a": WORKER, "b": PS, "old": PS}, 1)
    assert (a["to"], a["messages"], a["bytes"], a["seconds"], a["steps"]) == (WORKER, 12, 924, 1.5, 3)
    assert a["tensors"] == [["w:0", 9, 900]]
    assert (b["to"], b["messages"], b["bytes"], b["tensors"]) == (PS, 6, 27, [["fetches", 3, 27]])
    assert transfers.report({}, 9)[1]["tensors"] == [["fetches", 3, 27], ["control: reply", 3, 0]]  # names are kept


def test_nothing_is_lost_between_threads_and_steps_that_overlap_count_once():
    transfers = TransferStats()

    def send(number):
        for k in range(3000):
            transfers.record("a", [tensor(k // 10 * 8 + number, "w:0", 2)], 2, 0.0)

    threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        transfers.report({}, 1)
    for t in threads:
        t.join()
    (a,) = transfers.report({}, 1)
    assert (a["messages"], a["bytes"], a["tensors"]) == (12_000, 24_000, [["w:0", 12_000, 24_000]])


def test_names_are_bounded():
    transfers = TransferStats()
    for k in range(1000):
        transfers.record("a", [tensor(k, f"t{k}", 1)], 1, 0.0)
    (a,) = transfers.report({}, 10_000)
    assert len(a["tensors"]) == 201 and {n: c for n, c, _ in a["tensors"]}[OTHERS] == 800
    assert a["steps"] == 1000


def test_a_channel_counts_what_it_sends():
    came = []
    there = CountingChannel("127.0.0.1", lambda head, value, stream: came.append(value), came.append)
    here = CountingChannel("127.0.0.1", lambda *_: None, lambda e: None)
    try:
        here.send(there.peer, tensor(1, "w:0", 3 << 20), tensor(1, "b:0", 5))
        (told,) = here.transfers.report({there.peer.endpoint: PS}, 5)
        assert (told["to"], told["bytes"], told["steps"]) == (PS, (3 << 20) + 5, 1) and told["seconds"] > 0
        nobody = Peer("127.0.0.1", 1, "password")
        there.drop(nobody)
        with pytest.raises(UnavailableError, match="cannot be reached"):
            there.send(nobody, tensor(1, "w:0", 1))
        assert there.transfers.report({}, 5) == []  # what failed was not sent
    finally:
        here.close()
        there.close()
