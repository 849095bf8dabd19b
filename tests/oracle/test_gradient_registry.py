"""Which ops have a gradient, none, or an error: as TensorFlow's registry tells, or listed with the reason."""

from __future__ import annotations

import importlib
import pkgutil
import warnings

import pytest

from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE
from tfnb.ops import CATALOG
from tfnb.types import as_dtype

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("tensorflow")
    from tensorflow.python import ops as modules
    from tensorflow.python.framework import op_def_registry, ops

    for _module in pkgutil.iter_modules(modules.__path__):
        if _module.name.endswith("_grad"):  # some register their gradients when first needed
            importlib.import_module(f"tensorflow.python.ops.{_module.name}")

pytestmark = pytest.mark.oracle

# (what TensorFlow says, what tfnb says): why -> the ops
DIFFERENT = {
    ("function", "none"): {
        "TensorFlow's function returns None for each input": "Ceil Floor FloorDiv Rint Round",
    },
    ("function", "missing"): {
        "TensorFlow's function raises NotImplementedError": "SparseSparseMaximum SparseSparseMinimum",
    },
    ("missing", "function"): {
        "TensorFlow raises LookupError; here the derivative is there": (
            "AdjustContrastv2 Conv3DBackpropFilter Conv3DBackpropInput CropAndResizeGradImage GuaranteeConst IRFFT3D IgammaGradA"
            " LRNGrad Lu MatrixExponential MatrixLogarithm MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax RFFT3D ResizeArea"
            " ResizeBicubicGrad ResizeNearestNeighborGrad Snapshot SoftsignGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad"
            " SparseSegmentSumGrad MaxPoolGradGradV2"
        ),
        "TensorFlow has no gradients under the names of 0.x; here they are those of the present names": (
            "BatchCholesky BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D BatchMatrixBandPart"
            " BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag"
            " BatchMatrixSolve BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2"
            " BatchSvd SelfAdjointEig"
        ),
    },
    ("none", "function"): {
        "TensorFlow has no second derivative there": "ResizeBilinearGrad",
        "our function ends the gradient": "StopGradient",
    },
}


def _real(opdef, args) -> bool:
    """Can one of the arguments be of a floating or complex dtype?"""
    return any(
        dtype.is_floating or dtype.is_complex
        for arg in args
        for dtype in (opdef.types[arg.type] if arg.type in opdef.types else [as_dtype(arg.type)])
    )


def _theirs(name: str) -> str:
    try:
        return "none" if ops.gradient_registry.lookup(name) is None else "function"
    except LookupError:
        return "missing"


def _ours(name: str) -> str:
    grad = CATALOG[name].grad
    if grad is None or grad is GRADIENT_MISSING:
        return "missing"
    return "none" if grad is NOT_DIFFERENTIABLE else "function"


SHARED = [
    name
    for name, opdef in CATALOG.items()
    if op_def_registry.get(name) is not None and _real(opdef, opdef.input_args) and _real(opdef, opdef.output_args)
]


def test_an_op_has_a_gradient_where_tensorflows_has_one():
    """A gradient ends in silence only where TensorFlow says so; where nothing is registered it is a LookupError."""
    found: dict[tuple[str, str], set[str]] = {}
    for name in SHARED:
        if _theirs(name) != _ours(name):
            found.setdefault((_theirs(name), _ours(name)), set()).add(name)
    listed = {kinds: {n for names in reasons.values() for n in names.split()} for kinds, reasons in DIFFERENT.items()}
    assert found == listed
    assert len(SHARED) > 300
