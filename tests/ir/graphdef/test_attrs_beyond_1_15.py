"""Graphs that TensorFlow 1.15.5 is to read: it refuses a node that names an attribute which its op does not have."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tfnb as tf
from tfnb.ir.graphdef.attrs import _fields, numbers_of
from tfnb.ir.graphdef.attrs_beyond_1_15 import LATER_ATTRS, OWN_ATTRS
from tfnb.ops import CATALOG

# The attributes of the ops of TensorFlow 1.15.5 that are in the catalogue, from its TF_GetAllOpList.
LINES = (Path(__file__).parents[2] / "data" / "op_attributes_1_15.tsv").read_text().splitlines()
THEIRS = {name: attrs.split() for name, attrs in (line.split("\t") for line in LINES)}


def test_all_attributes_that_1_15_does_not_have_are_in_the_tables():
    """Those of the class are told "later" or "ours", or else the table has them; it has no others."""
    for name, theirs in THEIRS.items():
        opdef = CATALOG[name]
        fields = {key: form for key, form in _fields(opdef.attrs).items() if not key.startswith("_")}
        ours = {*fields, *opdef.types, *numbers_of(opdef)} - set(theirs)
        told = {key for key in ours if key in fields and fields[key].later}
        tables = {*LATER_ATTRS.get(name, ()), *OWN_ATTRS.get(name, ())}
        if name != "GeneratorDataset":  # its arguments are other ones altogether
            assert ours - told == tables, name


def nodes():
    return {node.op: node for node in tf.get_default_graph().as_graph_def().node}


def test_defaults_of_later_versions_are_left_out():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        tf.quantize_v2(x, 0.0, 1.0, tf.quint8)
        tf.dequantize(tf.placeholder(tf.quint8, [4]), 0.0, 1.0)
        tf.spectral.rfft(x)
        tf.sparse_segment_mean(x, [0, 1], [0, 0])
        tf.nn.fused_batch_norm(tf.placeholder(tf.float32, [1, 2, 2, 3]), np.ones(3, "f"), np.ones(3, "f"))
        tf.nn.ctc_greedy_decoder(tf.placeholder(tf.float32, [3, 1, 4]), [3])
        tf.data.Dataset.from_tensor_slices([1.0]).padded_batch(2, []).make_one_shot_iterator()
        tf.data.TextLineDataset("name")
        for op, node in nodes().items():
            if op in THEIRS:
                assert {key for key in node.attr if not key.startswith("_")} <= set(THEIRS[op]), op
        assert sorted(nodes()["QuantizeV2"].attr) == ["T", "mode", "round_mode"]


def test_other_values_are_written_and_come_back():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        CATALOG["QuantizeV2"](x, 0.0, 1.0, T=tf.quint8, narrow_range=True, ensure_minimum_range=0.5)
        tf.spectral.rfft(tf.cast(x, tf.float64))
        tf.data.TextLineDataset("name")
        first = tf.get_default_graph().as_graph_def()
        written = nodes()
        assert written["QuantizeV2"].attr["narrow_range"].b
        assert written["QuantizeV2"].attr["ensure_minimum_range"].f == 0.5
        assert "axis" not in written["QuantizeV2"].attr
        assert "_output_types" in written["TextLineDataset"].attr
    with tf.Graph().as_default():
        tf.import_graph_def(first, name="")
        assert tf.get_default_graph().as_graph_def() == first
