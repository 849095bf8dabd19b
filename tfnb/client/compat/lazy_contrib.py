"""The names of feature columns and of tf.contrib's later parts, whose modules load when one of them is first used.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
feature_column : tfnb.client.feature_columns.columns : bucketized_column numeric_column
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_hash_bucket
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_identity crossed_column
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_vocabulary_file
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_vocabulary_list
feature_column : tfnb.client.feature_columns.categorical : weighted_categorical_column
feature_column : tfnb.client.feature_columns.embedding : embedding_column indicator_column shared_embedding_columns
feature_column : tfnb.client.feature_columns.layers : input_layer linear_model make_parse_example_spec
estimator : tfnb.client.feature_columns.layers : classifier_parse_example_spec regressor_parse_example_spec
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_numeric_column
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_identity
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_hash_bucket
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_file
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_list
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_input_layer
contrib.crf : tfnb.client.contrib.crf : CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell CrfForwardRnnCell
contrib.crf : tfnb.client.contrib.crf : crf_binary_score crf_decode crf_log_likelihood crf_log_norm
contrib.crf : tfnb.client.contrib.crf : crf_multitag_sequence_score crf_sequence_score crf_unary_score viterbi_decode
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
