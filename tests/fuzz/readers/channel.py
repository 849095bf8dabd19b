"""Messages between tasks, from a peer that knows the password: the stream, the tensors, and errors told as JSON."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import NUMBERS, deep_list, mutate_tree, of_bytes
from fuzz.target import Target
from tfnb.errors import AbortedError
from tfnb.session.dask.transport import wire
from tfnb.session.dask.transport.error_codec import decode_error, encode_error
from tfnb.session.dask.transport.stream import Budget, Stream
from tfnb.session.dask.transport.wire import Kind, Message, frames

_BUDGET = 32 << 20
_ROOM = 1 << 20  # bytes of the sockets' buffers: an input is written before it is read
_TEXTS = (
    b"float32",
    b"string",
    b"resource",
    b"f4",
    b"float",
    b"i4,(1000000000,)f8",
    b"O",
    b"V100000000000",
    b"M8[s]",
    b"S9999999999",
    b"{'names':['a'],'formats':['O']}",
    b"(2,)f4",
    b",",
    b"",
    b"\xff",
    b"\xe9",
    b"variant",
    b"bfloat16",
    b"float32_ref",
    b"f" * 255,
)


def _messages() -> list[Message]:
    error = encode_error(AbortedError("it was stopped"), "/job:worker/task:0")
    return [
        Message(Kind.TENSOR, 5, "feed 0", np.arange(5.0)),
        Message(Kind.CALL, 5, "12 a", np.zeros(2)),
        Message(Kind.STOP, 5, "x", error),
        Message(Kind.REPLY, 5, "/job:worker/task:1", error),
        Message(Kind.TENSOR, 6, "s", np.array([b"ab", b"c"], object)),
        Message(Kind.TENSOR, 6, "large", np.arange(4096.0, dtype=np.float32)),
    ]


def _bytes_of(message: Message, number: int) -> bytes:
    return b"".join(head + bytes(data) for head, data in frames(message, number))


def _head(subject: bytes, kind: int = 1, number: int = 1, length: int = 0, nbytes: int = 0, offset: int = 0) -> bytes:
    return wire._FIXED.pack(b"tfn2", kind, 0, len(subject), number, length, 7, nbytes, offset) + subject


def _subject(dtype: bytes = b"float32", shape: tuple[int, ...] = (2,), key: bytes = b"k") -> bytes:
    return struct.pack(f"<BB{len(shape)}Q", len(dtype), len(shape), *shape) + dtype + key


def _json(text: bytes, kind: int = 4) -> bytes:
    return _head(_subject(b"uint8", (len(text),)), kind, nbytes=len(text), length=len(text)) + text


def _hostile() -> list[bytes]:
    node = b'{"class":"AbortedError","message":1,"task":2,"node":'
    return [
        *(_head(_subject(text), nbytes=8, length=8) + b"x" * 8 for text in _TEXTS),
        *(_head(_subject(shape=(n,)), nbytes=min(4 * n, (1 << 64) - 1), length=8) + b"x" * 8 for n in NUMBERS),
        *(_head(_subject(b"string", (n,)), nbytes=min(8 * n, (1 << 64) - 1), length=20) + b"x" * 20 for n in NUMBERS),
        _head(_subject(b"string", (2,)), nbytes=20, length=20) + struct.pack("<QQ", 1 << 63, (1 << 63) + 4) + b"abcd",
        _head(_subject(shape=(0, 1 << 62))),
        _head(_subject(shape=(1,) * 32), nbytes=4, length=4) + b"xxxx",
        _head(struct.pack("<BB", 7, 200) + b"\0" * 1600 + b"float32k"),
        *(
            _json(text)
            for text in (
                b"{{{{",
                b"[1]",
                b"5",
                b"null",
                b'"x"',
                b"[[1,2]]",
                b'{"class":"os","node":5}',
                b'{"class":[],"node":[1,2,3]}',
                b'{"class":{},"node":["a","b",[1]]}',
                node + b'["a","b",["f","x","g"]]}',
                node + b'["a","b",["f",1e999,"g"]]}',
                node + b'["a","b",["f",NaN,"g"]]}',
                node + b'["a","b",5]}',
                node + b"{}}",
                node + b'"abc"}',
                b"9" * 10_000,
                deep_list(100_000),
                b'{"class":"OpError"}',
                b'{"class":"__doc__"}',
                b'{"class":"Origin"}',
                b"\xff\xfe",
            )
        ),
        _json(b"[1]", 3),
        b"".join(_head(_subject(key=b"%05d" % k + b"x" * 500, shape=(0,))) for k in range(500)),
        b"".join(_head(_subject(b"uint8"), number=k, nbytes=2, length=1) + b"x" for k in range(3000)),
    ]


def _of_heads(_data: bytes, rng: Random) -> bytes:
    """Messages with a field or two of their heads changed, and JSON of other forms."""
    out = []
    for number, message in enumerate(_messages()):
        raw = bytearray(_bytes_of(message, number))
        if rng.random() < 0.4:
            at, size = rng.choice(
                ((4, 1), (5, 1), (6, 2), (8, 4), (12, 4), (16, 8), (24, 8), (32, 8), (40, 1), (41, 1), (42, 8))
            )
            raw[at : at + size] = (rng.choice(NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, "little")
        out.append(bytes(raw))
    if rng.random() < 0.5:
        tree = json.loads(encode_error(AbortedError("m"), "t").tobytes())
        tree["node"] = ["name", "type", ["file", "7", "function"]]
        out.append(_json(json.dumps(mutate_tree(tree, rng)).encode("utf-8", "replace"), rng.choice((3, 4))))
    if rng.random() < 0.5:
        shape = tuple(rng.choice(NUMBERS) & (1 << 64) - 1 for _ in range(rng.randint(0, 4)))
        out.append(
            _head(_subject(rng.choice(_TEXTS), shape), nbytes=rng.choice(NUMBERS) & (1 << 64) - 1, length=4) + b"abcd"
        )
    rng.shuffle(out)
    return b"".join(out)


def target(folder: Path) -> Target:
    def read(data: bytes) -> None:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
        stream = Stream(ours, Budget(_BUDGET))
        try:
            theirs.setblocking(False)
            theirs.send(data)
            theirs.close()
            while True:
                stream.read(True)
                while stream.messages:
                    head, value = stream.messages.popleft()
                    if head.kind in (Kind.STOP, Kind.REPLY):
                        decode_error(value)
        except EOFError:
            pass
        finally:
            theirs.close()
            stream.close()

    whole = b"".join(_bytes_of(m, k) for k, m in enumerate(_messages()[:5]))
    seeds = [whole, *(_bytes_of(m, 3) for m in _messages())]
    return Target(seeds, _hostile(), [of_bytes(seeds), _of_heads, _of_heads], read)
