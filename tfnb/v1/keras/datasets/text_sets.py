"""IMDB's reviews and Reuters' news as lists of numbers of words, from files that Keras would have downloaded.

Invariant: files with pickled lists are refused; a file of arrays `x_*`, `y_*` and `lengths_*` is read.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tfnb.errors import UnimplementedError
from tfnb.v1.keras.downloads import local_file

Split = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _pair(data: Any, part: str) -> tuple[list[list[int]], np.ndarray]:
    suffix = f"_{part}" if part else ""
    try:
        x, y = data[f"x{suffix}"], data[f"y{suffix}"]
    except ValueError as error:
        raise UnimplementedError(
            "the file holds pickled lists, which tfnb does not read; save it anew with the words of all rows in one "
            "array x, and their numbers in `lengths`"
        ) from error
    ends = np.cumsum(data[f"lengths{suffix}"])
    return [list(map(int, row)) for row in np.split(x, ends[:-1])], y


def _limited(
    rows: list[list[int]], labels: np.ndarray, options: dict[str, Any], seed: int
) -> tuple[list[list[int]], np.ndarray]:
    order = np.random.RandomState(seed).permutation(len(rows))
    rows, labels = [rows[i] for i in order], labels[order]
    start, shift = options["start_char"], options["index_from"]
    if start is not None:
        rows = [[start, *(w + shift for w in row)] for row in rows]
    elif shift:
        rows = [[w + shift for w in row] for row in rows]
    if options["maxlen"]:
        kept = [i for i, row in enumerate(rows) if len(row) < options["maxlen"]]
        rows, labels = [rows[i] for i in kept], labels[kept]
    most = options["num_words"] or max(max(row) for row in rows) + 1
    skip, unknown = options["skip_top"], options["oov_char"]
    if unknown is not None:
        return [[w if skip <= w < most else unknown for w in row] for row in rows], labels
    return [[w for w in row if skip <= w < most] for row in rows], labels


def _objects(rows: list[list[int]]) -> np.ndarray:
    result = np.empty(len(rows), dtype=object)
    result[:] = rows
    return result


def imdb_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> Split:
    """Returns (reviews, labels) for training and for testing. Raises `NotFoundError` without the file."""
    options = {"num_words": num_words, "skip_top": skip_top, "maxlen": maxlen}
    options |= {"start_char": start_char, "oov_char": oov_char, "index_from": index_from}
    with np.load(local_file(path), allow_pickle=False) as data:
        parts = [_limited(*_pair(data, part), options, seed) for part in ("train", "test")]
    (x, y), (x_test, y_test) = parts
    return (_objects(x), y), (_objects(x_test), y_test)


def reuters_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> Split:
    """Returns ((news, topics) for training, (news, topics) for testing). Raises `NotFoundError` without the file."""
    options = {"num_words": num_words, "skip_top": skip_top, "maxlen": maxlen}
    options |= {"start_char": start_char, "oov_char": oov_char, "index_from": index_from}
    with np.load(local_file(path), allow_pickle=False) as data:
        rows, labels = _limited(*_pair(data, ""), options, seed)
    at = int(len(rows) * (1 - test_split))
    return (_objects(rows[:at]), labels[:at]), (_objects(rows[at:]), labels[at:])


def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Returns the numbers of the words. Raises `NotFoundError` without the file."""
    return dict(json.loads(local_file(path).read_text(encoding="utf-8")))


def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Returns the numbers of the words. Raises `NotFoundError` without the file."""
    return dict(json.loads(local_file(path).read_text(encoding="utf-8")))
