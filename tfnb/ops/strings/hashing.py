"""Assignment of strings to hash buckets by the three hash functions of TensorFlow.

They are FarmHash's 64-bit fingerprint, SipHash-2-4 with a key, and an older function similar to MurmurHash, each
written from its published description. Invariant: the hash values are TensorFlow's and never change, since trained
models depend on them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.strings.elementwise import mapped

__all__ = ["API", "OPS", "fingerprint64", "hash64", "siphash"]

_M = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotate(v: int, n: int) -> int:
    """v rotated to the right by n bits, within 64 bits."""
    return (v >> n | v << (64 - n)) & _M


def _fetch(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _mixed(v: int) -> int:
    return v ^ v >> 47


def _pair(u: int, v: int, by: int) -> int:
    """Hashes two words to one."""
    a = _mixed((u ^ v) * by & _M)
    return _mixed((v ^ a) * by & _M) * by & _M


def _short(data: bytes) -> int:
    """The fingerprint of at most 16 bytes."""
    n = len(data)
    multiplier = _K2 + n * 2
    if n >= 8:
        a, b = _fetch(data, 0) + _K2 & _M, _fetch(data, n - 8)
        c = _rotate(b, 37) * multiplier + a & _M
        return _pair(c, (_rotate(a, 25) + b) * multiplier & _M, multiplier)
    if n >= 4:
        first, last = (int.from_bytes(part, "little") for part in (data[:4], data[-4:]))
        return _pair(n + (first << 3), last, multiplier)
    if n:
        y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
        return _mixed(y * _K2 & _M ^ z * _K0 & _M) * _K2 & _M
    return _K2


def _ends(data: bytes, factor: int) -> tuple[int, int, int, int]:
    """The common part for 17 to 64 bytes: (multiplier, first word, second argument, first argument of the pair)."""
    n = len(data)
    multiplier = _K2 + n * 2
    a, b = _fetch(data, 0) * factor & _M, _fetch(data, 8)
    c, d = _fetch(data, n - 8) * multiplier & _M, _fetch(data, n - 16) * _K2 & _M
    y = _rotate(a + b & _M, 43) + _rotate(c, 30) + d & _M
    return multiplier, a, a + _rotate(b + _K2 & _M, 18) + c & _M, y


def _middle(data: bytes) -> int:
    """The fingerprint of 17 to 64 bytes."""
    n = len(data)
    if n <= 32:
        multiplier, _, second, first = _ends(data, _K1)
        return _pair(first, second, multiplier)
    multiplier, a, second, y = _ends(data, _K2)
    z = _pair(y, second, multiplier)
    e, f = _fetch(data, 16) * multiplier & _M, _fetch(data, 24)
    g = (y + _fetch(data, n - 32)) * multiplier & _M
    h = (z + _fetch(data, n - 24)) * multiplier & _M
    return _pair(
        _rotate(e + f & _M, 43) + _rotate(g, 30) + h & _M,
        e + _rotate(f + a & _M, 18) + g & _M,
        multiplier,
    )


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Hashes 32 bytes and two seeds to two words."""
    w, x, y, z = struct.unpack_from("<4Q", data, at)
    a = a + w & _M
    b = _rotate(b + a + z & _M, 21)
    c = a
    a = a + x + y & _M
    b = b + _rotate(a, 44) & _M
    return a + z & _M, b + c & _M


def fingerprint64(data: bytes) -> int:
    """Returns FarmHash's 64-bit fingerprint of the bytes."""
    n = len(data)
    if n <= 16:
        return _short(data)
    if n <= 64:
        return _middle(data)
    x = 81 * _K2 + _fetch(data, 0) & _M
    y = 81 * _K1 + 113 & _M
    z = _mixed(y * _K2 + 113 & _M) * _K2 & _M
    v, w = (0, 0), (0, 0)
    for at in range(0, (n - 1) // 64 * 64, 64):
        x, y, z, v, w = _block(data, at, (x, y, z, v, w), _K1, 1)
    multiplier = _K1 + ((z & 0xFF) << 1)
    w0 = w[0] + (n - 1 & 63) & _M
    v0 = v[0] + w0 & _M
    x, y, z, v, w = _block(data, n - 64, (x, y, z, (v0, v[1]), (w0 + v0 & _M, w[1])), multiplier, 9)
    return _pair(
        _pair(v[0], w[0], multiplier) + _mixed(y) * _K0 + z & _M, _pair(v[1], w[1], multiplier) + x & _M, multiplier
    )


def _block(
    data: bytes, at: int, state: tuple[int, int, int, tuple[int, int], tuple[int, int]], by: int, scale: int
) -> Any:
    """Hashes 64 bytes into the state (x, y, z, v, w)."""
    x, y, z, v, w = state
    x = _rotate(x + y + v[0] + _fetch(data, at + 8) & _M, 37) * by & _M
    y = _rotate(y + v[1] + _fetch(data, at + 48) & _M, 42) * by & _M
    x ^= w[1] * scale & _M
    y = y + v[0] * scale + _fetch(data, at + 40) & _M
    z = _rotate(z + w[0] & _M, 33) * by & _M
    v = _weak(data, at, v[1] * by & _M, x + w[0] & _M)
    w = _weak(data, at + 32, z + w[1] & _M, y + _fetch(data, at + 16) & _M)
    return z, y, x, v, w


def hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Hashes bytes to 64 bits by TensorFlow's older hash function, which is based on MurmurHash64A."""
    multiplier, n = 0xC6A4A7935BD1E995, len(data)
    h = seed ^ n * multiplier & _M
    word_bytes = n // 8 * 8
    for (k,) in struct.iter_unpack("<Q", data[:word_bytes]):
        k = k * multiplier & _M
        h = (h ^ (k ^ k >> 47) * multiplier & _M) * multiplier & _M
    if n > word_bytes:
        h = (h ^ int.from_bytes(data[word_bytes:], "little")) * multiplier & _M
    h = (h ^ h >> 47) * multiplier & _M
    return h ^ h >> 47


def siphash(data: bytes, key0: int, key1: int) -> int:
    """Returns the 64-bit SipHash-2-4 of the bytes for the key (key0, key1)."""
    v0, v1 = key0 ^ 0x736F6D6570736575, key1 ^ 0x646F72616E646F6D
    v2, v3 = key0 ^ 0x6C7967656E657261, key1 ^ 0x7465646279746573

    def rounds(v0: int, v1: int, v2: int, v3: int, n: int) -> tuple[int, int, int, int]:
        for _ in range(n):
            v0, v2 = v0 + v1 & _M, v2 + v3 & _M
            v1, v3 = _rotate(v1, 51) ^ v0, _rotate(v3, 48) ^ v2
            v0 = _rotate(v0, 32)
            v2, v0 = v2 + v1 & _M, v0 + v3 & _M
            v1, v3 = _rotate(v1, 47) ^ v2, _rotate(v3, 43) ^ v0
            v2 = _rotate(v2, 32)
        return v0, v1, v2, v3

    n = len(data)
    padded = data + bytes(7 - n % 8) + bytes([n & 0xFF])
    for (m,) in struct.iter_unpack("<Q", padded):
        v0, v1, v2, v3 = rounds(v0, v1, v2, v3 ^ m, 2)
        v0 ^= m
    v0, v1, v2, v3 = rounds(v0, v1, v2 ^ 0xFF, v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


def _positive(buckets: int) -> None:
    if buckets < 1:
        raise InvalidArgumentError(f"num_buckets must be at least 1, got {buckets}")


@record
class BucketAttrs:
    """`num_buckets`: the number of buckets."""

    num_buckets: int

    def __post_init__(self) -> None:
        _positive(self.num_buckets)


@record
class StrongAttrs:
    """`num_buckets`: the number of buckets; `key`: two 64-bit numbers."""

    num_buckets: int
    key: Sequence[int]

    def __post_init__(self) -> None:
        _positive(self.num_buckets)
        if len(self.key) != 2:
            raise InvalidArgumentError(f"Key must have 2 elements, integers, got {list(self.key)}")
        object.__setattr__(self, "key", tuple(int(k) for k in self.key))


_FEW = 8  # the number of texts of one length from which NumPy is faster than a Python loop


def _word(rows: np.ndarray, at: int, size: int) -> np.ndarray:
    """The little-endian number in `size` bytes of each row."""
    return np.ascontiguousarray(rows[:, at : at + size]).view(f"<u{size}")[:, 0].astype(np.uint64)


def _short_rows(rows: np.ndarray) -> np.ndarray:
    """`_short` of each row of bytes, vectorised; uint64 arithmetic wraps around by itself."""
    n, u = rows.shape[1], np.uint64
    by, k0, k2 = u(_K2 + n * 2), u(_K0), u(_K2)

    def mixed(v: np.ndarray) -> np.ndarray:
        return v ^ (v >> u(47))

    def pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        a = mixed((first ^ second) * by)
        return mixed((second ^ a) * by) * by

    def turned(v: np.ndarray, by: int) -> np.ndarray:
        return (v >> u(by)) | (v << u(64 - by))

    if n >= 8:
        a, b = _word(rows, 0, 8) + k2, _word(rows, n - 8, 8)
        return pair(turned(b, 37) * by + a, (turned(a, 25) + b) * by)
    if n >= 4:
        return pair(u(n) + (_word(rows, 0, 4) << u(3)), _word(rows, n - 4, 4))
    y = _word(rows, 0, 1) + (_word(rows, n >> 1, 1) << u(8))
    z = u(n) + (_word(rows, n - 1, 1) << u(2))
    return mixed((y * k2) ^ (z * k0)) * k2


def _fingerprints(x: np.ndarray) -> np.ndarray:
    """`fingerprint64` of every text; short texts of the same length are hashed together."""
    texts = x.reshape(-1).tolist()
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    out = np.empty(len(texts), np.uint64)
    for n in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == n)
        if 0 < n <= 16 and len(at) >= _FEW:
            joined = b"".join([texts[i] for i in at.tolist()])
            out[at] = _short_rows(np.frombuffer(joined, np.uint8).reshape(len(at), n))
        else:
            out[at] = [fingerprint64(texts[i]) for i in at.tolist()]
    return out.reshape(x.shape)


def _host_fast(call: HostCall, x: np.ndarray) -> np.ndarray:
    return (_fingerprints(x) % np.uint64(call.attrs.num_buckets)).astype(np.int64)


def _buckets(
    name: str, argument: str, of: Callable[[Any, bytes], int] | None, attrs: type, doc: str, api: str
) -> OpDef[Tensor]:
    """Defines an op; `of` is the hash of one text, or None for a vectorised `fingerprint64`."""

    def host(call: HostCall, x: np.ndarray) -> np.ndarray:
        n = call.attrs.num_buckets
        if of is None:
            return _host_fast(call, x)
        return mapped(call, lambda t: of(call.attrs, t) % n, x, dtype=np.int64)

    return OpDef(
        name,
        f"{argument}: string",
        "output: int64",
        f"""The bucket of each string: {doc}, modulo `num_buckets`.

    {argument}: strings of any shape. output: that shape, in [0, num_buckets). Runs on the host.""",
        attrs=attrs,
        infer=unchanged,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        api=api,
    )


STRING_TO_HASH_BUCKET = _buckets(
    "StringToHashBucket",
    "string_tensor",
    lambda a, t: hash64(t),
    BucketAttrs,
    "the hash of old programs",
    "",
)
STRING_TO_HASH_BUCKET_FAST = _buckets(
    "StringToHashBucketFast",
    "input",
    None,
    BucketAttrs,
    "FarmHash's fingerprint",
    "string_to_hash_bucket_fast strings.to_hash_bucket_fast",
)
STRING_TO_HASH_BUCKET_STRONG = _buckets(
    "StringToHashBucketStrong",
    "input",
    lambda a, t: siphash(t, a.key[0] & _M, a.key[1] & _M),
    StrongAttrs,
    "SipHash with the secret `key`, which resists collision attacks",
    "string_to_hash_bucket_strong strings.to_hash_bucket_strong",
)

OPS: tuple[OpDef, ...] = (
    STRING_TO_HASH_BUCKET,
    STRING_TO_HASH_BUCKET_FAST,
    STRING_TO_HASH_BUCKET_STRONG,
)


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Returns the hash of old programs of each string of `string_tensor` (`input`), modulo `num_buckets`, as int64.

    Raises `InvalidArgumentError` unless the strings are given by one of their names, and `num_buckets` too.
    """
    if (string_tensor is None) == (input is None) or num_buckets is None:
        raise InvalidArgumentError("string_to_hash_bucket: needed one of string_tensor and input, and num_buckets")
    strings = input if string_tensor is None else string_tensor
    return STRING_TO_HASH_BUCKET(strings, num_buckets=num_buckets, name=name)


API: dict[str, Any] = {
    "string_to_hash_bucket": string_to_hash_bucket,
    "strings.to_hash_bucket": string_to_hash_bucket,
}
