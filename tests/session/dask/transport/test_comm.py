"""Peers without the cluster's secret get nothing read: strangers, other users, repeated and relayed answers, slow ones."""

import asyncio
import os
import pickle
import socket
import struct

import pytest
from distributed.comm import connect, listen
from distributed.protocol import to_serialize

from tfnb.session.dask.transport import comm as comms
from tfnb.session.dask.transport.comm import SECRET, WrongSecretError, offer_schemes
from tfnb.session.dask.transport.handshake import ANSWER, CHALLENGE, REPLY, Answer, challenge, is_proof
from tfnb.session.dask.transport.secret import cluster_secret

GIVEN = "TFNB_CLUSTER_SECRET"


class Marking:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def server(monkeypatch, tmp_path):
    """server(peer) runs `peer(port)` in a thread beside a listener; returns its result and what the listener heard."""
    monkeypatch.setenv(GIVEN, "a secret of this test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    offer_schemes()

    async def beside(peer):
        heard = []

        async def handle(comm):
            heard.append(await comm.read())
            await comm.write("answer")

        async with listen(f"{SECRET}://127.0.0.1:0", handle) as listener:
            port = int(listener.contact_address.rpartition(":")[2])
            result = await (peer(port) if asyncio.iscoroutinefunction(peer) else asyncio.to_thread(peer, port))
            return result, heard

    return lambda peer: asyncio.run(beside(peer))


def rest(sock):
    """What still comes until the other side ends the connection."""
    sock.settimeout(30)
    found = b""
    try:
        while piece := sock.recv(4096):
            found += piece
    except ConnectionResetError:
        pass
    return found


def exactly(sock, count):
    found = b""
    while len(found) < count:
        found += sock.recv(count - len(found))
    return found


async def ask(port):
    comm = await connect(f"{SECRET}://127.0.0.1:{port}", timeout=20)
    await comm.write({"op": "something"})
    answer = await comm.read()
    await comm.close()
    return answer


def test_who_knows_the_secret_is_heard(server):
    assert server(ask) == ("answer", [{"op": "something"}])


@pytest.mark.parametrize("other", ["another secret, of somebody", ""])
def test_another_secret_is_refused_at_both_ends(server, monkeypatch, other):
    async def stranger(port):
        monkeypatch.setenv(GIVEN, other)  # "" means the user's file, which is another secret
        with pytest.raises(WrongSecretError, match="another secret"):
            await ask(port)

    assert server(stranger) == (None, [])


@pytest.mark.parametrize("says", [0, 10, CHALLENGE])
def test_a_task_that_ends_while_it_greets_is_tried_again(server, says):
    """Its process may be killed at any moment; another one comes in its place at the same address."""

    async def beside(port):
        async def ends(_, writer):
            writer.write(challenge()[:says])
            await writer.drain()
            writer.close()
            first.close()

        first = await asyncio.start_server(ends, "127.0.0.2", port)
        asked = asyncio.ensure_future(connect(f"{SECRET}://127.0.0.2:{port}", timeout=20))
        await first.wait_closed()
        assert not asked.done()

        async def handle(comm):
            await comm.write("answer")

        async with listen(f"{SECRET}://127.0.0.2:{port}", handle):
            comm = await asked
            answer = await comm.read()
            await comm.close()
            return answer

    assert server(beside)[0] == "answer"


def test_nothing_of_a_stranger_is_unpickled(server, tmp_path):
    mark = str(tmp_path / "unpickled")
    assert pickle.dumps(Marking(mark))

    async def dask(port):
        """Dask's own comm, as a program without tfnb has it."""
        with socket.create_connection(("127.0.0.1", port)) as sock:
            from distributed.comm.utils import to_frames

            frames = await to_frames({"op": "nosuchop", "x": to_serialize(Marking(mark))})
            lengths = [len(bytes(f)) for f in frames]
            head = struct.pack(f"<Q{len(frames)}Q", len(frames), *lengths)
            sock.sendall(struct.pack("<Q", len(head) + sum(lengths)) + head + b"".join(map(bytes, frames)))
            return len(await asyncio.to_thread(rest, sock))

    (length, heard) = server(dask)
    assert heard == [] and length <= CHALLENGE + REPLY and not os.path.exists(mark)


@pytest.mark.parametrize(
    "data",
    [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" * 5000, bytes(ANSWER), b"\x16\x03\x01" + b"x" * 200],
    ids=["nothing", "http", "ones", "zeros", "tls"],
)
def test_garbage_gets_nothing_but_a_random_number(server, data):
    def stranger(port):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(data)
            if not data:
                sock.shutdown(socket.SHUT_WR)
            return rest(sock)

    (answer, heard) = server(stranger)
    assert heard == [] and len(answer) <= CHALLENGE + REPLY and not any(answer[CHALLENGE:])


def test_an_answer_fits_one_connection(server):
    def repeated(port):
        secret, endpoint = cluster_secret(), f"127.0.0.1 {port}"
        answers = []
        for k in range(2):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                given = exactly(sock, CHALLENGE)
                answers.append(Answer(secret, endpoint, given).text)
                sock.sendall(answers[0])
                if k == 0:
                    assert exactly(sock, REPLY)[0] == 1
                else:
                    assert exactly(sock, REPLY) == bytes(REPLY) and rest(sock) == b""

    server(repeated)


def test_an_answer_fits_one_server():
    """Somebody who listens at another port cannot pass a client's answer on to a task, and so get in between."""
    secret, sent = b"s" * 32, challenge()
    answer = Answer(secret, "127.0.0.1 2222", sent)
    assert is_proof(secret, "127.0.0.1 2222", sent, answer.text)
    assert not is_proof(secret, "127.0.0.1 2223", sent, answer.text)
    assert not answer.is_reply(bytes(REPLY)) and not answer.is_reply(b"\x01" + answer.text[32:])


def test_a_slow_stranger_is_cut_off_and_delays_nobody(server, monkeypatch):
    monkeypatch.setattr(comms, "GREETING_SECONDS", 0.5)

    async def slow(port):
        def drip(sock):
            try:
                for _ in range(1000):
                    sock.sendall(b"x")
                    if sock.recv(1) == b"":
                        return
            except OSError:
                return

        socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for sock in socks:
            await asyncio.to_thread(exactly, sock, CHALLENGE)
        monkeypatch.setattr(comms, "GREETING_SECONDS", 30.0)  # for those that come now
        answer = await ask(port)
        await asyncio.gather(*(asyncio.to_thread(drip, sock) for sock in socks))
        for sock in socks:
            sock.close()
        return answer

    assert server(slow) == ("answer", [{"op": "something"}])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_is_not_heard(server, monkeypatch):
    monkeypatch.delenv(GIVEN)
    path = cluster_secret()

    def other_user(port):
        process = os.fork()
        if process == 0:
            seen = 1
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                with socket.create_connection(("127.0.0.1", port), 20) as sock:
                    given = exactly(sock, CHALLENGE)
                    try:
                        secret = cluster_secret()  # of nobody's own, or none
                    except Exception:
                        secret = b"guess" * 8
                    sock.sendall(Answer(secret, f"127.0.0.1 {port}", given).text)
                    seen = 0 if exactly(sock, REPLY) == bytes(REPLY) and secret != path else 2
            finally:
                os._exit(seen)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    assert server(other_user) == (0, [])
