"""Attributes that TensorFlow 1.15.5's ops do not have, so that it refuses nodes which name them.

Later versions gave an op an attribute with a default that means what the op did before. Invariant: such an attribute is
written only where its value is another one, and one that no version has is written under a name that begins with "_".
"""

from __future__ import annotations

from collections.abc import Mapping

from tfnb.types import DType, int32

__all__ = ["LATER_ATTRS", "LATER_DEFAULTS", "OWN_ATTRS"]

_FFT = ("Treal", "Tcomplex")
_SEGMENTS = ("sparse_gradient", "Tsegmentids")
_ELEMENTS = ("output_types", "output_shapes")

LATER_ATTRS: Mapping[str, tuple[str, ...]] = {
    "CTCGreedyDecoder": ("blank_index",),
    "ConcatOffset": ("shape_type",),
    "Dequantize": ("axis", "narrow_range", "dtype"),
    "FusedBatchNorm": ("exponential_avg_factor",),
    "FusedBatchNormV2": ("exponential_avg_factor",),
    "FusedBatchNormV3": ("exponential_avg_factor",),
    "IRFFT": _FFT,
    "IRFFT2D": _FFT,
    "IRFFT3D": _FFT,
    "QuantizeV2": ("axis", "ensure_minimum_range", "narrow_range"),
    "RFFT": _FFT,
    "RFFT2D": _FFT,
    "RFFT3D": _FFT,
    "SparseSegmentMean": _SEGMENTS,
    "SparseSegmentMeanGrad": ("Tsegmentids",),
    "SparseSegmentMeanWithNumSegments": _SEGMENTS,
    "SparseSegmentSqrtN": _SEGMENTS,
    "SparseSegmentSqrtNGrad": ("Tsegmentids",),
    "SparseSegmentSqrtNWithNumSegments": _SEGMENTS,
    "SparseSegmentSum": _SEGMENTS,
    "SparseSegmentSumWithNumSegments": _SEGMENTS,
    "TensorListGetItem": ("Tshape",),
    "TensorListSetItem": ("resize_if_index_out_of_bounds",),
}
"""The names by op."""

LATER_DEFAULTS: Mapping[str, DType] = {"shape_type": int32}
"""Defaults of type variables that follow from the inputs here."""

OWN_ATTRS: Mapping[str, tuple[str, ...]] = {
    "ExperimentalMatchingFilesDataset": _ELEMENTS,
    "FixedLengthRecordDataset": _ELEMENTS,
    "FixedLengthRecordDatasetV2": _ELEMENTS,
    "MatchingFilesDataset": _ELEMENTS,
    "PaddedBatchDataset": ("output_types",),
    "PaddedBatchDatasetV2": ("output_types",),
    "SparseTensorSliceDataset": _ELEMENTS,
    "TFRecordDataset": _ELEMENTS,
    "TensorDataset": ("output_types",),
    "TensorSliceDataset": ("output_types",),
    "TextLineDataset": _ELEMENTS,
}
"""Names of attributes that are tfnb's own; data sets have the same fields, whichever of them TensorFlow's ops have."""
