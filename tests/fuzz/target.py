"""What the runner must know of a reader."""

from __future__ import annotations

import importlib
import pkgutil
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz import readers

Mutate = Callable[[bytes, Random], bytes]


def nothing_more(_data: bytes) -> int:
    return 0


@dataclass(frozen=True)
class Target:
    """A reader under test.

    seeds: small valid inputs. hostile: inputs that were made to hurt; those of them that are small are mutated too.
    mutations: ways to make another input from one. read: gives an input to the reader; it returns, or raises an
    `OpError`. product: an upper bound of the bytes that a correct reader makes of an input whose header is honest, such
    as the pixels of an image. It is 0 for readers whose result is about as large as the input.
    """

    seeds: Sequence[bytes]
    hostile: Sequence[bytes]
    mutations: Sequence[Mutate]
    read: Callable[[bytes], None]
    product: Callable[[bytes], int] = nothing_more


def target_names() -> list[str]:
    """The readers that have a file in `readers/`, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(readers.__path__))


def make_target(name: str, folder: Path) -> Target:
    """The target of that name; it may write files into `folder`."""
    made: Target = importlib.import_module(f"fuzz.readers.{name}").target(folder)
    return made


def join(parts: Sequence[bytes]) -> bytes:
    """One input of several files: each with its length in front."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def split(data: bytes, count: int) -> list[bytes]:
    """The files of an input that `join` made; of a damaged one, as much as there is."""
    parts, at = [], 0
    for _ in range(count):
        length = int.from_bytes(data[at : at + 4], "little")
        parts.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return parts
