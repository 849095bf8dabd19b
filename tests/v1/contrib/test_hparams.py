"""`tf.contrib.training.HParams`: values by name, read from text, kept in their types."""

from __future__ import annotations

import pytest

import tfnb as tf


def test_values_are_read_from_text_in_their_types():
    h = tf.contrib.training.HParams(rate=0.1, sizes=[10, 20], name="a", fast=True)
    assert h.parse("rate=1,sizes=[1, 2,3],fast=false,name=b c").values() == {
        "rate": 1.0,
        "sizes": [1, 2, 3],
        "name": "b c",
        "fast": False,
    }
    h.parse("sizes[1]=7")
    assert h.sizes == [1, 7, 3] and "rate" in h and h.get("missing", 3) == 3
    again = tf.contrib.training.HParams(rate=0.0, sizes=[0], name="", fast=True).parse_json(h.to_json())
    assert again.values() == h.values()


def test_wrong_values_are_refused():
    h = tf.contrib.training.HParams(steps=3)
    for text in ("steps=x", "other=1", "steps"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            h.parse(text)
    with pytest.raises(tf.errors.InvalidArgumentError, match="of int"):
        h.set_hparam("steps", 1.5)
    with pytest.raises(tf.errors.AlreadyExistsError):
        h.add_hparam("steps", 1)
