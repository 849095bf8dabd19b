"""What programs find out about columns by `isinstance`; the answers are those of TensorFlow 1.15.5."""

from __future__ import annotations

import pytest

import tfnb as tf

fc = tf.feature_column
COLUMNS = {
    "NumericColumn": lambda: fc.numeric_column("x"),
    "BucketizedColumn": lambda: fc.bucketized_column(fc.numeric_column("x"), [1.0]),
    "VocabularyListCategoricalColumn": lambda: fc.categorical_column_with_vocabulary_list("a", ["b"]),
    "HashedCategoricalColumn": lambda: fc.categorical_column_with_hash_bucket("a", 3),
    "IdentityCategoricalColumn": lambda: fc.categorical_column_with_identity("a", 3),
    "CrossedColumn": lambda: fc.crossed_column(["a", "b"], 5),
    "EmbeddingColumn": lambda: fc.embedding_column(fc.categorical_column_with_identity("a", 3), 2),
    "IndicatorColumn": lambda: fc.indicator_column(fc.categorical_column_with_identity("a", 3)),
}
DENSE = {"NumericColumn", "BucketizedColumn", "EmbeddingColumn", "IndicatorColumn"}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_its_later_class_and_none_of_the_early_ones(name):
    column = COLUMNS[name]()
    early, later = (getattr(tf.python.feature_column, f"feature_column{end}") for end in ("", "_v2"))
    assert [n for n in COLUMNS if isinstance(column, getattr(later, n))] == [name]
    assert not [n for n in COLUMNS if isinstance(column, getattr(early, f"_{n}"))]
    assert isinstance(column, early._DenseColumn) == isinstance(column, later.DenseColumn) == (name in DENSE)
    is_categorical = name not in DENSE or name == "BucketizedColumn"
    assert isinstance(column, early._CategoricalColumn) == isinstance(column, later.CategoricalColumn) == is_categorical
    assert isinstance(column, early._FeatureColumn) and isinstance(column, later.FeatureColumn)
