"""Results with several parts: tuples with the names of TensorFlow's outputs, from public functions and raw_ops."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import CATALOG

IMAGE, BOXES = np.ones((1, 4, 4, 1), np.float32), np.float32([[[0, 0, 1, 1]]])
MATRIX, LABELS = np.eye(2, dtype=np.float32), np.int64([[0], [1]])
SAMPLED = "sampled_candidates true_expected_count sampled_expected_count"
QUANTIZED, POOLED = "output min_output max_output", "output row_pooling_sequence col_pooling_sequence"


def quint8(value):
    return tf.bitcast(tf.constant(value, tf.uint8), tf.quint8)


def reader():
    return tf.TextLineReader(), tf.train.string_input_producer(["file"])


# public call -> fields, those of TensorFlow 1.15.5 (its generated modules' namedtuples)
CALLS = {
    "decode_wav": (lambda: tf.audio.decode_wav(""), "audio sample_rate"),
    "unique": (lambda: tf.unique([1, 1]), "y idx"),
    "unique_with_counts": (lambda: tf.unique_with_counts([1, 1]), "y idx count"),
    "setdiff1d": (lambda: tf.setdiff1d([1], [2]), "out idx"),
    "top_k": (lambda: tf.nn.top_k([1.0, 2.0]), "values indices"),
    "math.top_k": (lambda: tf.math.top_k([1.0, 2.0]), "values indices"),
    "qr": (lambda: tf.qr(MATRIX), "q r"),
    "linalg.qr": (lambda: tf.linalg.qr(MATRIX), "q r"),
    "lu": (lambda: tf.linalg.lu(MATRIX), "lu p"),
    "slogdet": (lambda: tf.linalg.slogdet(MATRIX), "sign log_abs_determinant"),
    "max_pool_with_argmax": (
        lambda: tf.nn.max_pool_with_argmax(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        "output argmax",
    ),
    "fractional_max_pool": (lambda: tf.nn.fractional_max_pool(IMAGE, [1.0, 1.5, 1.5, 1.0]), POOLED),
    "fractional_avg_pool": (lambda: tf.nn.fractional_avg_pool(IMAGE, [1.0, 1.5, 1.5, 1.0]), POOLED),
    "all_candidate_sampler": (lambda: tf.nn.all_candidate_sampler(LABELS, 1, 2, True), SAMPLED),
    "uniform_candidate_sampler": (lambda: tf.nn.uniform_candidate_sampler(LABELS, 1, 2, True, 5), SAMPLED),
    "log_uniform_candidate_sampler": (lambda: tf.nn.log_uniform_candidate_sampler(LABELS, 1, 2, True, 5), SAMPLED),
    "learned_unigram": (lambda: tf.nn.learned_unigram_candidate_sampler(LABELS, 1, 2, True, 5), SAMPLED),
    "fixed_unigram": (
        lambda: tf.nn.fixed_unigram_candidate_sampler(LABELS, 1, 2, True, 5, unigrams=[1.0] * 5),
        SAMPLED,
    ),
    "accidental_hits": (lambda: tf.nn.compute_accidental_hits(LABELS, np.int64([0, 1]), 1), "indices ids weights"),
    "distorted_box": (lambda: tf.image.sample_distorted_bounding_box([4, 4, 1], BOXES), "begin size bboxes"),
    "combined_non_max_suppression": (
        lambda: tf.image.combined_non_max_suppression(BOXES[:, :, None], np.ones((1, 1, 1), np.float32), 1, 1),
        "nmsed_boxes nmsed_scores nmsed_classes valid_detections",
    ),
    "non_max_suppression_padded": (
        lambda: tf.image.non_max_suppression_padded(BOXES[0], np.ones(1, np.float32), 1),
        "selected_indices valid_outputs",
    ),
    "fake_quant_gradient": (
        lambda: tf.fake_quant_with_min_max_vars_gradient([1.0], [1.0], 0.0, 1.0),
        "backprops_wrt_input backprop_wrt_min backprop_wrt_max",
    ),
    "fake_quant_per_channel_gradient": (
        lambda: tf.fake_quant_with_min_max_vars_per_channel_gradient([1.0], [1.0], [0.0], [1.0]),
        "backprops_wrt_input backprop_wrt_min backprop_wrt_max",
    ),
    "quantize": (lambda: tf.quantize([1.0], 0.0, 1.0, tf.quint8), "output output_min output_max"),
    "quantized_concat": (
        lambda: tf.quantized_concat(0, [quint8([1])] * 2, [0.0, 0.0], [1.0, 1.0]),
        "output output_min output_max",
    ),
    "quantized_relu_x": (
        lambda: tf.nn.quantized_relu_x(quint8([1]), 6.0, 0.0, 1.0),
        "activations min_activations max_activations",
    ),
    "quantized_max_pool": (
        lambda: tf.nn.quantized_max_pool(quint8(np.ones((1, 2, 2, 1))), 0.0, 1.0, [1] * 4, [1] * 4, "SAME"),
        QUANTIZED,
    ),
    "reader.read": (lambda: reader()[0].read(reader()[1]), "key value"),
    "reader.read_up_to": (lambda: reader()[0].read_up_to(reader()[1], 2), "keys values"),
    "sparse_accumulator": (
        lambda: tf.SparseConditionalAccumulator(tf.float32).take_grad(1),
        "indices values shape",
    ),
    "raw_ops.Svd": (lambda: tf.raw_ops.Svd(input=MATRIX), "s u v"),
    "raw_ops.Moments": (
        lambda: tf.raw_ops.FusedBatchNorm(x=IMAGE, scale=[1.0], offset=[0.0], mean=[], variance=[]),
        "y batch_mean batch_variance reserve_space_1 reserve_space_2",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_fields_of_public_functions(name):
    call, fields = CALLS[name]
    result = call()
    assert result._fields == tuple(fields.split()) and list(result) == [getattr(result, f) for f in result._fields]


def test_a_list_among_the_outputs_is_one_field():
    parts = tf.raw_ops.SparseSplit(split_dim=0, indices=[[0], [1]], values=[1.0, 2.0], shape=[2], num_split=2)
    assert type(parts).__name__ == "SparseSplit" and [len(p) for p in parts] == [2, 2, 2]
    with tf.Session() as session:
        values = session.run(parts)
    assert [v.tolist() for v in values.output_values] == [[1.0], [2.0]]  # a fetched tuple has the fields, too


def test_all_operations_with_several_outputs_have_the_fields_of_their_definition():
    several = [op for op in CATALOG.values() if len(op.output_args) > 1]
    assert len(several) > 100
    for op in several:
        names = [a.name for a in op.output_args]
        assert len(set(names)) == len(names) and all(n.isidentifier() and n[0] != "_" for n in names), op.name


def test_functions_and_lists_stay_lists():
    @tf.Defun(tf.float32)
    def both(x):
        return x, x + 1.0

    assert len(both(1.0)) == 2 and not hasattr(both(1.0), "_fields")
    assert type(tf.split(tf.zeros([4]), 2)) is list and type(tf.unstack(tf.zeros([2]))) is list
