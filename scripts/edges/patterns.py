"""The bit patterns on which functions are measured: all of a type, samples, and the neighbourhoods of edges.

Invariant: every sample has both zeros, both infinities, NaN of several patterns, subnormal numbers, the smallest and
the largest normal ones, and the neighbours of each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measure import Format

__all__ = ["BLOCK", "blocks", "edge_values", "pair_blocks", "random_blocks", "sample"]

BLOCK = 1 << 19
# Where functions end, begin, or change their way: overflow of exp, integers, roots, multiples of pi / 2.
_PLACES = (
    1e-3,
    0.1,
    1 / 3,
    0.5,
    0.55,
    2 / 3,
    0.75,
    1,
    1.4616321449683623,
    np.pi / 2,
    1.5,
    2,
    np.e,
    3,
    np.pi,
    4,
    5,
    6,
    7,
    8,
)
_PLACES += (9.3, 10, 16, 17.5, 20, 33.3, 87.33654, 88.37, 88.72283, 89.41, 100, 255, 256, 257, 709.78, 745.1, 1e3, 8192)


def _bits(value: float, form: Format) -> int:
    if form.name == "bfloat16":
        return int(np.float32(value).view(np.uint32)) >> 16
    with np.errstate(over="ignore"):
        return int(np.array(value, form.name).view(form.word))


def _positive(form: Format, near: int) -> set[int]:
    """The patterns of edges without a sign bit, and `near` neighbours on each side."""
    exponents = form.most - form.least + 2  # with those of zero and infinity
    infinity = (exponents - 1) << form.digits
    quiet = 1 << (form.digits - 1)
    centres = [0, 1 << form.digits, infinity, infinity + quiet, infinity + (1 << form.digits) - 1, quiet]
    centres += [_bits(v, form) for v in _PLACES]
    centres += [_bits(2.0**k, form) for k in (form.digits, form.digits + 1, form.digits + 2)]
    centres += [k << form.digits for k in range(0, exponents, max(1, exponents // 24))]
    found = {c + k for c in centres for k in range(-near, near + 1)}
    return {b for b in found if 0 <= b < 1 << (8 * np.dtype(form.word).itemsize - 1)}


def edge_values(form: Format, near: int = 1) -> np.ndarray:
    """Returns some 300 edge values as bits, of both signs."""
    top = 1 << (8 * np.dtype(form.word).itemsize - 1)
    positive = sorted(_positive(form, near))
    return np.array(positive + [b + top for b in positive], form.word)


def sample(form: Format, count: int, near: int = 8) -> np.ndarray:
    """Returns the neighbourhoods of edges, and some `count` patterns that are spread over the others."""
    width = 8 * np.dtype(form.word).itemsize
    rng = np.random.default_rng(0)
    spread = (
        rng.integers(0, 1 << width, count // 2, np.uint64, endpoint=False)
        if width < 64
        else rng.integers(0, 2**64 - 1, count // 2, np.uint64)
    )
    usual = rng.standard_normal(count // 2) * np.exp(rng.uniform(-6, 3, count // 2))
    usual_bits = np.array([_bits(v, form) for v in usual], form.word)
    return np.concatenate([edge_values(form, near), spread.astype(form.word), usual_bits])


def blocks(form: Format, stride: int) -> Iterator[np.ndarray]:
    """Yields the neighbourhoods of edges, then each `stride`th pattern of a type of at most 32 bits, in blocks."""
    yield edge_values(form, 200)
    total = 1 << (8 * np.dtype(form.word).itemsize)
    for start in range(0, total, BLOCK * stride):
        yield np.arange(start, min(total, start + BLOCK * stride), stride, np.uint64).astype(form.word)


def random_blocks(form: Format, count: int, operands: int) -> Iterator[list[np.ndarray]]:
    """Yields `count` random operands: half of them any patterns, half of them numbers of usual sizes."""
    width = np.dtype(form.word).itemsize
    for number, start in enumerate(range(0, count, BLOCK)):
        rng = np.random.default_rng(number)
        n = min(BLOCK, count - start)
        result = []
        for _ in range(operands):
            if number % 2:
                bits = np.frombuffer(rng.bytes(n * width), form.word)
            else:
                usual = (rng.standard_normal(n) * np.exp(rng.uniform(-12, 6, n))).astype(
                    np.float64 if width == 8 else np.float32
                )
                bits = (
                    usual.view(form.word)
                    if width >= 4
                    else (usual.view(np.uint32) >> 16).astype(np.uint16)
                    if form.name == "bfloat16"
                    else usual.astype(np.float16).view(np.uint16)
                )
            result.append(bits)
        yield result


def pair_blocks(form: Format) -> Iterator[list[np.ndarray]]:
    """Yields all pairs of edge values."""
    edges = edge_values(form)
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    for start in range(0, len(left), BLOCK):
        yield [left[start : start + BLOCK], right[start : start + BLOCK]]
