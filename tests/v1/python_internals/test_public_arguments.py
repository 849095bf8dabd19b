"""Arguments of late 1.x: those under their public names, and those that are refused."""

from __future__ import annotations

import pytest

import tfnb as tf


def test_arguments_have_their_public_names():
    assert tf.as_dtype(type_value="float32") is tf.dtypes.as_dtype(type_value=1) is tf.float32
    assert tf.is_tensor(x=tf.constant(1)) and not tf.contrib.framework.is_tensor(x=1)


def test_what_is_not_written_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="save_debug_info=True is not supported"):
        tf.train.export_meta_graph(save_debug_info=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="import_scope='a' is not supported"):
        tf.CriticalSection(import_scope="a")
