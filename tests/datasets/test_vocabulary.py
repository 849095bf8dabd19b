"""Texts as numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DataLossError, InvalidArgumentError

preprocessing = tf.contrib.learn.preprocessing


def rows(found):
    return [r.tolist() for r in found]


def test_words():
    texts = ["it's a well-known HTTPServer, MyName 3x", ""]
    assert list(preprocessing.tokenizer(texts)) == [
        ["it's", "a", "well-known", "HTTP", "Server", "My", "Name", "3x"],
        [],
    ]


def test_numbers_of_words_cut_and_padded(tmp_path):
    p = preprocessing.VocabularyProcessor(4)
    assert rows(p.fit_transform(["the cat the dog", "a b c d e f"])) == [[1, 2, 1, 3], [4, 5, 6, 7]]
    assert rows(p.transform(["dog unknown"])) == [[3, 0, 0, 0]]
    assert len(p.vocabulary_) == 10 and list(p.reverse([[1, 0, 2]])) == ["the <UNK> cat"]
    p.save(tmp_path / "v")
    again = preprocessing.VocabularyProcessor.restore(tmp_path / "v")
    assert rows(again.transform(["e the"])) == [[8, 1, 0, 0]]
    (tmp_path / "other").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataLossError):
        preprocessing.VocabularyProcessor.restore(tmp_path / "other")


def test_rare_words_are_unknown():
    p = preprocessing.VocabularyProcessor(3, min_frequency=1, tokenizer_fn=lambda texts: (t.split() for t in texts))
    assert rows(p.fit_transform(["b a", "a c b", "a"])) == [[2, 1, 0], [1, 0, 2], [1, 0, 0]]
    v = p.vocabulary_
    v.freeze(False)
    assert v.get("new") == 3 and len(v) == 4
    with pytest.raises(InvalidArgumentError):
        preprocessing.CategoricalVocabulary(support_reverse=False).reverse(0)


def test_bytes():
    p = preprocessing.ByteProcessor(4)
    found = list(p.fit(None).fit_transform(["aé", b"abcdef"]))
    assert rows(found) == [[97, 195, 169, 0], [97, 98, 99, 100]] and found[0].dtype == np.uint8
    assert list(p.reverse(found)) == ["aé", "abcd"]
