"""The classes of columns under TensorFlow's names, by which programs ask what a column is.

Until TensorFlow 1.12 columns had other classes, with private names. `isinstance` says no to these since then, also
here, and yes to the private names of kinds. Invariant: no column is made of a class that is created here.
"""

from __future__ import annotations

from tfnb.v1.feature_columns import categorical, columns, embedding, sequence
from tfnb.v1.feature_columns.columns import CategoricalColumn, Column, DenseColumn

__all__ = ["EARLY_CLASSES", "LATER_CLASSES"]

_DENSE = "_BucketizedColumn _EmbeddingColumn _IndicatorColumn _NumericColumn _SharedEmbeddingColumn"
_CATEGORICAL = (
    "_CrossedColumn _HashedCategoricalColumn _IdentityCategoricalColumn _SequenceCategoricalColumn "
    "_VocabularyFileCategoricalColumn _VocabularyListCategoricalColumn _WeightedCategoricalColumn"
)
EARLY_CLASSES: dict[str, type] = {
    "_CategoricalColumn": CategoricalColumn,
    "_DenseColumn": DenseColumn,
    "_FeatureColumn": Column,
    **{name: type(name, (DenseColumn,), {"__doc__": "See the module."}) for name in _DENSE.split()},
    **{name: type(name, (CategoricalColumn,), {"__doc__": "See the module."}) for name in _CATEGORICAL.split()},
}
LATER_CLASSES: dict[str, type] = {
    "BucketizedColumn": columns.BucketizedColumn,
    "CategoricalColumn": CategoricalColumn,
    "CrossedColumn": categorical.CrossedColumn,
    "DenseColumn": DenseColumn,
    "EmbeddingColumn": embedding.EmbeddingColumn,
    "FeatureColumn": Column,
    "HashedCategoricalColumn": categorical.HashedColumn,
    "IdentityCategoricalColumn": categorical.IdentityColumn,
    "IndicatorColumn": embedding.IndicatorColumn,
    "NumericColumn": columns.NumericColumn,
    "SequenceCategoricalColumn": sequence.SequenceCategoricalColumn,
    "VocabularyFileCategoricalColumn": categorical.FileColumn,
    "VocabularyListCategoricalColumn": categorical.ListColumn,
    "WeightedCategoricalColumn": categorical.WeightedColumn,
}
globals().update(EARLY_CLASSES, **LATER_CLASSES)
