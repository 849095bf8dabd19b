"""The book of the package: it is whole."""

from __future__ import annotations

import re
import unicodedata

import tfnb as tf


def test_the_whole_book():
    text = tf.datasets.alice.read_text()
    assert len(text) == 148_410 and text.isascii()
    assert {c for c in text if unicodedata.category(c) == "Cc"} == {"\n"}
    assert text.split()[:4] == ["ALICE'S", "ADVENTURES", "IN", "WONDERLAND"] and text.split()[-2:] == ["THE", "END"]
    chapters = re.findall(r"^ +CHAPTER ([IVX]+)$", text, re.M)
    assert chapters == ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
    assert not re.search(r" $|\n{4}", text, re.M)
