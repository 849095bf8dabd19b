"""Making other inputs out of given ones: of bytes, of JSON trees, of protobuf messages.

Everything is drawn from the `Random` that is handed in, so an input is made again from its number.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from fuzz.target import Mutate

# Numbers at which lengths, counts and offsets go wrong.
NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    8,
    64,
    127,
    128,
    255,
    256,
    1000,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    1 << 20,
    1 << 24,
    1 << 28,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 48,
    (1 << 62) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
_LONGEST = 1 << 16  # bytes of a mutated input: larger ones would only make the run slow


def _flip(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    data[rng.randrange(len(data))] = rng.choice((0, 1, 10, 32, 34, 44, 91, 123, 127, 128, 255))


def _delete(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randint(1, 16)]


def _insert(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.randint(1, 8))


def _cut(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data)) :]


def _copy(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    source, to, length = rng.randrange(len(data)), rng.randrange(len(data)), rng.randint(1, 64)
    data[to : to + length] = data[source : source + length]


def _repeat(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    at, length = rng.randrange(len(data)), rng.randint(1, 32)
    data[at:at] = data[at : at + length] * rng.randint(1, 20)


def _splice(data: bytearray, rng: Random, seeds: Sequence[bytes]) -> None:
    other = rng.choice(seeds)
    begin = rng.randrange(len(other) + 1)
    at = rng.randrange(len(data))
    data[at : at + rng.randint(0, 64)] = other[begin : begin + rng.randint(1, 256)]


def _number(data: bytearray, rng: Random, _seeds: Sequence[bytes]) -> None:
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(data))
    value = rng.choice(NUMBERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = value.to_bytes(size, rng.choice(("little", "big")))


_WAYS = (_flip, _flip, _set, _delete, _insert, _cut, _copy, _repeat, _splice, _number, _number)


def of_bytes(seeds: Sequence[bytes], most: int = 5) -> Mutate:
    """Changes up to `most` places without knowledge of the format; `seeds` are what it splices in."""

    def mutate(data: bytes, rng: Random) -> bytes:
        found = bytearray(data)
        for _ in range(rng.randint(1, most)):
            if not found:
                found += b"\0"
            rng.choice(_WAYS)(found, rng, seeds)
        return bytes(found[:_LONGEST])

    return mutate


# ---- JSON ----------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    2**31,
    -(2**31),
    2**53,
    2**63,
    2**64,
    10**30,
    0.5,
    1e18,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1",
    "\ud800",
    "\0",
    "é" * 100,
    "x" * 3000,
    [],
    {},
    [1],
    [[1]],
    ["a"],
    [-1],
    [2**40],
    [0, 0],
    [None],
    {"a": 1},
    {"": {}},
)


def deep_list(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below `tree`."""
    found, left = [], [tree]
    while left:
        node = left.pop()
        if isinstance(node, (dict, list)):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            for key in keys:
                found.append((node, key))
                left.append(node[key])
    return found


def mutate_tree(tree: Any, rng: Random, values: Sequence[Any] = VALUES, most: int = 4) -> Any:
    """Changes up to `most` places of lists and dictionaries in place: values, keys, copies, removals."""
    for _ in range(rng.randint(1, most)):
        places = _places(tree)
        if not places:
            return copy.deepcopy(rng.choice(values))
        node, key = rng.choice(places)
        way = rng.randrange(6)
        if way == 0:
            del node[key]
        elif way == 1:
            other, name = rng.choice(places)
            node[key] = copy.deepcopy(other.get(name) if isinstance(other, dict) else other[name:][:1])
        elif way == 2 and isinstance(node, list):
            node.insert(key, copy.deepcopy(node[key]))
        elif way == 3 and isinstance(node, dict):
            name = rng.choice((str(rng.choice(values))[:50], rng.choice(list(node))))
            node[name] = node.pop(key)
        else:
            node[key] = copy.deepcopy(rng.choice(values))
    return tree


def of_json(write: Callable[[Any], bytes], values: Sequence[Any] = VALUES) -> Mutate:
    """Changes the tree of a JSON text and writes it anew; what is no JSON stays as it is."""

    def mutate(data: bytes, rng: Random) -> bytes:
        try:
            tree = json.loads(data)
        except (ValueError, RecursionError):
            return data
        return write(mutate_tree(tree, rng, values))

    return mutate


# ---- protobuf ------------------------------------------------------------------------------------

# A message as it stands in bytes, without its definition: [field number, wire type, value] of each field. A value of
# wire type 2 is a message where its bytes can be one, else bytes.
Field = list[Any]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for k in range(10):
        byte = data[at + k]
        value |= (byte & 127) << 7 * k
        if byte < 128:
            return value, at + k + 1
    raise ValueError("a varint of more than 10 bytes")


def parse_message(data: bytes, depth: int = 0) -> list[Field] | None:
    """The fields of a message; None where the bytes are none."""
    found: list[Field] = []
    at = 0
    try:
        while at < len(data):
            key, at = _read_varint(data, at)
            number, kind = key >> 3, key & 7
            value: Any
            if number == 0 or kind not in (0, 1, 2, 5):
                return None
            if kind == 0:
                value, at = _read_varint(data, at)
            else:
                length = {1: 8, 5: 4}.get(kind, -1)
                if length < 0:
                    length, at = _read_varint(data, at)
                value, at = data[at : at + length], at + length
                if at > len(data):
                    return None
                if kind == 2 and depth < 20 and len(value) > 1:
                    value = parse_message(value, depth + 1) or value
            found.append([number, kind, value])
    except (IndexError, ValueError):
        return None
    return found


def write_message(fields: Sequence[Field]) -> bytes:
    """A message as bytes; lengths are right whatever was changed inside."""
    out = []
    for number, kind, value in fields:
        out.append(varint(number << 3 | kind))
        if kind == 0:
            out.append(varint(value))
        else:
            content = value if isinstance(value, bytes) else write_message(value)
            out.append(varint(len(content)) + content if kind == 2 else content)
    return b"".join(out)


def _messages(fields: list[Field]) -> list[list[Field]]:
    """The message itself and all those inside."""
    found, left = [], [fields]
    while left:
        message = left.pop()
        found.append(message)
        left += [value for _, _, value in message if isinstance(value, list)]
    return found


def of_message(words: Sequence[bytes] = (b"",), numbers: Sequence[int] = NUMBERS, most: int = 4) -> Mutate:
    """Changes fields of a protobuf message and of those inside it; `words` are texts that mean something there."""
    change_bytes = of_bytes(words, 2)

    def change(message: list[Field], everything: list[list[Field]], rng: Random) -> None:
        place = rng.randrange(len(message))
        field = message[place]
        way = rng.randrange(8)
        if way == 0:
            del message[place]
        elif way == 1:
            message[place:place] = [copy.deepcopy(field) for _ in range(rng.choice((1, 1, 2, 30)))]
        elif way == 2:  # a field of another message, perhaps of another kind
            message.append(copy.deepcopy(rng.choice(rng.choice(everything) or message)))
        elif way == 3:
            field[0] = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 1000))
        elif field[1] == 0:
            field[2] = rng.choice(numbers) if rng.random() < 0.8 else rng.randrange(40)
        elif field[1] == 2:
            held = field[2] if isinstance(field[2], bytes) else write_message(field[2])
            field[2] = rng.choice(words) if rng.random() < 0.5 else change_bytes(held, rng)
        else:
            size = 4 if field[1] == 5 else 8
            field[2] = rng.choice((b"\0" * 8, b"\xff" * 8, b"\0\0\x80\x7f\0\0\xf0\x7f", rng.randbytes(8)))[:size]

    def mutate(data: bytes, rng: Random) -> bytes:
        fields = parse_message(data)
        if not fields:
            return change_bytes(data, rng)
        for _ in range(rng.randint(1, most)):
            everything = _messages(fields)
            chosen = rng.choice(everything)
            if chosen:
                change(chosen, everything, rng)
        return write_message(fields)[:_LONGEST]

    return mutate
