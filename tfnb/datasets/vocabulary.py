"""`tf.contrib.learn.preprocessing`: texts as rows of word numbers.

Invariant: number 0 is the unknown word and also the padding; a frozen vocabulary assigns no new numbers.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, InvalidArgumentError

__all__ = ["ByteProcessor", "CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

_ACRONYM = r"[A-Z][A-Z]+(?![a-z])"
_HUMP = r"[A-Z][a-z]+(?=[A-Z])"
_WORD = re.compile("|".join([_ACRONYM, _HUMP, r"[\w'-]+"]))


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yields the list of the words of each text. A word is a run of letters, digits, `_`, `-` and apostrophes; "MyName"
    gives "My" and "Name".
    """
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Assigns numbers to categories: 0 to `unknown_token`, then 1, 2, ... in the order of their first occurrence."""

    def __init__(self, unknown_token: Hashable = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._names: list[Any] | None = [unknown_token] if support_reverse else None
        self._counts: Counter[Any] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Maps new categories to 0 from now on; with `freeze=False` they get numbers of their own again."""
        self._frozen = freeze

    def get(self, category: Hashable) -> int:
        """Returns the number of `category`. A new category gets the next number, or 0 if the vocabulary is frozen."""
        identifier = self._mapping.get(category)
        if identifier is None:
            if self._frozen:
                return 0
            identifier = self._mapping[category] = len(self._mapping)
            if self._names is not None:
                self._names.append(category)
        return identifier

    def add(self, category: Hashable, count: int = 1) -> None:
        """Adds `count` to the count of `category`; a frozen vocabulary ignores unknown categories."""
        if self.get(category) > 0 or category == self._unknown:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps the categories counted more than `min_frequency` times (and less than a positive `max_frequency`).

        They get new numbers in the order of decreasing counts; categories with equal counts are sorted by their text.
        """
        frequent = [
            (name, n)
            for name, n in sorted(self._counts.items(), key=lambda item: (-item[1], str(item[0])))
            if name != self._unknown and n > min_frequency and (max_frequency <= 0 or n < max_frequency)
        ]
        self._counts = Counter(dict(frequent))
        self._mapping = {self._unknown: 0} | {name: i + 1 for i, (name, _) in enumerate(frequent)}
        if self._names is not None:
            self._names = list(self._mapping)

    def reverse(self, class_id: int) -> Any:
        """Returns the category with the number `class_id`. Raises `InvalidArgumentError` without `support_reverse`."""
        if self._names is None:
            raise InvalidArgumentError("this vocabulary was made with support_reverse=False")
        return self._names[class_id]


class VocabularyProcessor:
    """Converts texts to rows of `max_document_length` word numbers, truncated or padded with 0.

    min_frequency: words that do not occur more often than this are unknown after `fit`. vocabulary: an existing
    vocabulary. tokenizer_fn: maps an iterator of texts to an iterator of lists of words.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Iterable[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._words = tokenizer if tokenizer_fn is None else tokenizer_fn

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> VocabularyProcessor:
        """Adds the words of `raw_documents` to the vocabulary and freezes it; `unused_y` is ignored."""
        for words in self._words(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Yields the word numbers of each of `raw_documents`, an int64 vector of length `max_document_length`."""
        for words in self._words(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for i, word in zip(range(self.max_document_length), words, strict=False):
                row[i] = self.vocabulary_.get(word)
            yield row

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[np.ndarray]:
        """Calls `fit(raw_documents)` and returns `transform(raw_documents)`; `unused_y` is ignored."""
        documents = list(raw_documents)
        return self.fit(documents).transform(documents)

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the words of each row of numbers, joined by spaces."""
        for row in documents:
            yield " ".join(str(self.vocabulary_.reverse(int(n))) for n in row)

    def save(self, filename: str | PathLike[str]) -> None:
        """Writes the processor to the file `filename` with pickle."""
        with open(filename, "wb") as file:
            pickle.dump(self, file)

    @classmethod
    def restore(cls, filename: str | PathLike[str]) -> VocabularyProcessor:
        """Reads the processor that `save` wrote. Raises `DataLossError` for a file with another object.

        Open only files that you trust, since unpickling can run code.
        """
        with open(filename, "rb") as file:
            processor = pickle.load(file)
        if not isinstance(processor, cls):
            raise DataLossError(f"{filename} holds a {type(processor).__name__}, not a {cls.__name__}")
        return processor


class ByteProcessor:
    """Converts texts to rows of `max_document_length` UTF-8 bytes, truncated or padded with 0."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: object) -> ByteProcessor:
        """Returns the processor; it has nothing to learn from the texts `x`."""
        return self

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Returns `transform(x)`, since there is nothing to fit."""
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Yields the UTF-8 bytes of each text, a uint8 vector of length `max_document_length`."""
        for text in x:
            data = text.encode() if isinstance(text, str) else text
            row = np.zeros(self.max_document_length, np.uint8)
            row[: len(data)] = np.frombuffer(data, np.uint8)[: self.max_document_length]
            yield row

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """Yields the texts of rows of bytes, without trailing zeros."""
        for row in x:
            yield np.asarray(row, np.uint8).tobytes().rstrip(b"\0").decode(errors="replace")
