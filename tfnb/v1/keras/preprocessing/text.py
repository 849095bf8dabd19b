"""`tf.keras.preprocessing.text`: words, their numbers, and matrices of counts.

Invariant: numbers of words begin with 1, the most frequent one; 0 is for padding.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError

__all__ = ["Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence"]

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(text: str, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """Returns the words of a text, without the characters of `filters`."""
    text = text.lower() if lower else text
    return [word for word in text.translate({ord(c): split for c in filters}).split(split) if word]


def one_hot(text: str, n: int, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """Returns a number from 1 to n - 1 for each word, by Python's hash."""
    return hashing_trick(text, n, hash, filters, lower, split)


def hashing_trick(
    text: str,
    n: int,
    hash_function: Callable[[str], int] | str | None = None,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """Returns a number from 1 to n - 1 for each word, by a hash: Python's, "md5" or a function."""
    if hash_function == "md5":
        chosen: Callable[[str], int] = lambda w: int(hashlib.md5(w.encode()).hexdigest(), 16)  # noqa: E731
    else:
        chosen = hash if hash_function is None else hash_function  # type: ignore[assignment]
    return [chosen(w) % (n - 1) + 1 for w in text_to_word_sequence(text, filters, lower, split)]


class Tokenizer:
    """Numbers words by their frequency in texts: `fit_on_texts`, then `texts_to_sequences` or `texts_to_matrix`.

    num_words: words from this number on are left out. oov_token: stands for words that were not seen.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {sorted(kwargs)}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: dict[str, int] = {}
        self.word_docs: dict[str, int] = {}
        self.index_docs: dict[int, int] = {}
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: str | list[str]) -> list[str]:
        if self.char_level or isinstance(text, list):
            return [t.lower() for t in text] if self.lower else list(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts, and numbers them anew."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] = self.word_docs.get(word, 0) + 1
        ordered = sorted(self.word_counts.items(), key=lambda pair: pair[1], reverse=True)
        names = [*([self.oov_token] if self.oov_token is not None else []), *(word for word, _ in ordered)]
        self.word_index = {word: i + 1 for i, word in enumerate(names)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        self.index_docs = {self.word_index[word]: n for word, n in self.word_docs.items()}

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Counts the sequences in which each number occurs."""
        for sequence in sequences:
            self.document_count += 1
            for i in set(sequence):
                self.index_docs[i] = self.index_docs.get(i, 0) + 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Returns the numbers of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Yields the numbers of the words of each text."""
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            numbers = []
            for word in self._words(text):
                i = self.word_index.get(word)
                i = unknown if i is None or (self.num_words and i >= self.num_words) else i
                if i is not None:
                    numbers.append(i)
            yield numbers

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """Returns the texts of numbers."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the texts of numbers."""
        for sequence in sequences:
            words = []
            for i in sequence:
                word = self.index_word.get(i)
                word = self.oov_token if word is None or (self.num_words and i >= self.num_words) else word
                if word is not None:
                    words.append(word)
            yield " ".join(words)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """Returns a row for each text; see `sequences_to_matrix`."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Sequence[Sequence[int]], mode: str = "binary") -> np.ndarray:
        """Returns a row for each sequence, by "binary", "count", "freq" or "tfidf".

        Raises `InvalidArgumentError` for another mode, and before any text was seen.
        """
        if not self.num_words and not self.word_index:
            raise InvalidArgumentError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise InvalidArgumentError(f"Unknown vectorization mode: {mode}")
        if mode == "tfidf" and not self.document_count:
            raise InvalidArgumentError("Fit the Tokenizer on some data before using tfidf mode.")
        width = self.num_words or len(self.word_index) + 1
        result = np.zeros((len(sequences), width))
        for row, sequence in zip(result, sequences, strict=True):
            for j, count in Counter(j for j in sequence if j < width).items():
                if mode == "count":
                    row[j] = count
                elif mode == "freq":
                    row[j] = count / len(sequence)
                elif mode == "binary":
                    row[j] = 1
                else:
                    row[j] = (1 + np.log(count)) * np.log(1 + self.document_count / (1 + self.index_docs.get(j, 0)))
        return result

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments and the counts."""
        tables = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        own = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        return {**{k: getattr(self, k) for k in own}, **{k: json.dumps(getattr(self, k)) for k in tables}}

    def to_json(self, **kwargs: Any) -> str:
        """Returns the tokenizer as JSON."""
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)
