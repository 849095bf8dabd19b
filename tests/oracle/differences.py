"""What stays different from TensorFlow, and which ops generated cases do not reach: each with its reason.

`docs/differences.md` is written from these tables by `scripts/difference_page.py`. Nothing here needs TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from building import CATALOG
from cases import Case

__all__ = ["ELSEWHERE", "KINDS", "RULES", "Rule", "generated_ops", "listed"]

KINDS = {
    "accepted": "Taken here, refused by TensorFlow",
    "refused": "Refused here, taken by TensorFlow",
    "value": "Other values",
    "gradient": "Other gradients",
}


@dataclass(frozen=True)
class Rule:
    """A difference that stays.

    ops: names, "*" for any; match: found in the message; when: what the case is like.
    """

    kind: str
    ops: str
    reason: str
    match: str = ""
    when: Callable[[Case], bool] | None = None

    def holds(self, case: Case, kind: str, what: str) -> bool:
        named = self.ops == "*" or case.op in self.ops.split()
        return (
            kind in self.kind.split()
            and named
            and re.search(self.match, what, re.S) is not None
            and (self.when is None or self.when(case))
        )


def _empty(case: Case) -> bool:
    return any(not a.size for a in case.arrays())


def _special(case: Case) -> bool:
    floats = [a for a in case.arrays() if a.dtype.kind == "f"]
    return any(not np.isfinite(a.astype(np.float64)).all() for a in floats)


def _untidy(case: Case) -> bool:
    """Has it sparse indices that are outside the shape, repeated or out of order?"""
    for a in case.arrays():
        if a.dtype == np.int64 and a.ndim == 2:
            rows = [tuple(r) for r in a.tolist()]
            if rows != sorted(set(rows)) or (a < 0).any():
                return True
    return False


def _outside(case: Case) -> bool:
    """Has it a window beyond the image, or none?"""
    return case.attrs.get("padding") in ("VALID", "EXPLICIT") or _empty(case)


def _inverted(case: Case) -> bool:
    low, high = case.arrays()[-2:]
    with np.errstate(invalid="ignore"):
        return bool(_special(case) or np.any(low >= high) or np.any(np.abs(high - low) > 1e20))


def _unsorted(case: Case) -> bool:
    return not case.attrs.get("sorted", True)


def _mixed(case: Case) -> bool:
    return len({case.arrays()[i].dtype for i in (1, 6)}) > 1


def _complex(case: Case) -> bool:
    return any(a.dtype.kind == "c" for a in case.arrays())


def _cut(case: Case) -> bool:
    x, length = case.arrays()
    n = int(length[0])
    return bool(x.shape[-1] != (n // 2 + 1 if case.op == "IRFFT" else n))


def _negative_length(case: Case) -> bool:
    return bool((np.asarray(case.inputs[2]) < 0).any())


SPARSE = (
    " ".join(n for n in CATALOG if n.startswith("Sparse") and not n.startswith("SparseApply"))
    + " CTCLoss EditDistance"
)
SEGMENTS = " ".join(n for n in CATALOG if n.startswith("SparseSegment"))
REDUCTIONS = " ".join(n for n in CATALOG if CATALOG[n].reduce is not None)
GRADIENTS = " ".join(n for n in CATALOG if n.endswith("Grad") and CATALOG[n].scalar is not None)
WINDOWS = " ".join(
    n for n in CATALOG
    if "Pool" in n or "Conv" in n or n.startswith(("Dilation", "ExtractImagePatches", "Resize"))
)  # fmt: skip
FOURIER = " ".join(n for n in CATALOG if "FFT" in n)
BATCH_NORM = " ".join(n for n in CATALOG if n.startswith("FusedBatchNorm"))
UNSET = f"{FOURIER} {WINDOWS} {SPARSE} {BATCH_NORM} Svd SelfAdjointEigV2"

RULES: tuple[Rule, ...] = (
    Rule(
        "accepted",
        "Pow",
        "an integer to a negative power is 0, or 1 or -1",
        match="negative integer powers",
    ),
    Rule(
        "gradient",
        "IRFFT RFFT",
        "what is cut off has no gradient; TensorFlow broadcasts there",
        when=_cut,
    ),
    Rule("refused", BATCH_NORM, "images have two dimensions", match="data_format must be"),
    Rule(
        "refused", "*", "two ways to align corners exclude each other", match="exclude each other"
    ),
    Rule(
        "refused",
        SEGMENTS,
        "segment numbers that fall or are negative are an error",
        match="must not be negative",
    ),
    Rule("value gradient", "TopK TopKV2", "NaN has no place in an order", when=_special),
    Rule("refused", "Transpose", "axes do not count from the end", match="is not a permutation"),
    Rule(
        "accepted",
        "Div TruncateDiv",
        "the least integer divided by -1 stays",
        match="Unexpected error in binary",
    ),
    Rule(
        "refused",
        "CTCGreedyDecoder CTCBeamSearchDecoder",
        "a negative length is an error",
        match="must be in",
    ),
    Rule(
        "value",
        "*",
        "infinite and NaN parts of complex numbers follow NumPy",
        match="nan|inf",
        when=_complex,
    ),
    Rule(
        "value",
        "SparseAdd",
        "a threshold of another dtype counts as its number, not its bits",
        when=_mixed,
    ),
    Rule(
        "refused",
        "QuantizedMaxPool QuantizedAvgPool",
        "strides of the channels must be 1",
        match="must be .1, height",
    ),
    Rule("refused", SEGMENTS, "indices into an empty tensor are an error", match="is not in "),
    Rule(
        "value gradient",
        SEGMENTS,
        "TensorFlow leaves an empty sum and its gradient unset",
        when=_empty,
    ),
    Rule(
        "accepted",
        "SparseSliceGrad",
        "rows that the input had not are left out",
        match="rows of output_indices",
    ),
    Rule("value gradient", "TopK TopKV2", "without `sorted` the order is free", when=_unsorted),
    Rule(
        "refused",
        "BroadcastArgs BroadcastGradientArgs",
        "a negative size is an error",
        match="cannot be broadcast",
    ),
    Rule(
        "value",
        "Mean",
        "the mean of no complex numbers is NaN, as that of floats",
        match="nan",
        when=_empty,
    ),
    Rule(
        "accepted", "MatrixDiagV3", "surplus rows of diagonals are left out", match="does not match"
    ),
    Rule(
        "accepted",
        "*",
        "TensorFlow's kernel for the CPU serves fewer dtypes, layouts, strides or dilations",
        match="only support|not yet support|not in the list of allowed values|has constraint on attr"
        "|No OpKernel|not supported|Wrong types for|Signature mismatch|does not support",
    ),
    Rule(
        "accepted",
        "*",
        "attributes below their least value that make no difference",
        match="must be at least minimum",
    ),
    Rule("accepted", "*", "many kernels of TensorFlow refuse empty inputs", when=_empty),
    Rule(
        "accepted",
        "Div FloorDiv FloorMod Mod TruncateDiv TruncateMod",
        "an integer divided by zero gives 0 (a device cannot raise in the middle of a kernel)",
        match="division by zero",
    ),
    Rule(
        "accepted",
        GRADIENTS,
        "operands of a gradient's formula are broadcast",
        match="must have same number|same shape|incompatible|dimensions",
    ),
    Rule("accepted", "ClipByValue", "the limits are broadcast", match="same shape as input"),
    Rule("accepted", REDUCTIONS, "an axis named twice counts once", match="duplicate dimension"),
    Rule(
        "accepted",
        WINDOWS,
        "a window that does not fit anywhere gives an empty result",
        match="would be negative|incompatible size|output dimension",
    ),
    Rule(
        "accepted",
        FOURIER,
        "the input is cut or padded with zeros, as the Python function does",
        match="length of at least",
    ),
    Rule("accepted", "OneHot", "any negative axis counts from the end", match="Expected axis"),
    Rule("accepted", "Requantize", "a range of the output may be above 0", match="must be <= 0"),
    Rule(
        "accepted",
        "CropAndResizeGradImage",
        "the sizes of the image are taken as they are",
        match="incompatible",
    ),
    Rule(
        "accepted",
        "MatrixSetDiagV3",
        "surplus rows of diagonals are left out",
        match="not consistent",
    ),
    Rule("accepted", SPARSE, "dense tensors of any rank are taken", match="ranks between 1 and 5"),
    Rule(
        "accepted",
        "SparseDenseCwiseDiv",
        "an integer divided by zero gives 0",
        match="divide by zero",
    ),
    Rule(
        "accepted",
        "SparseSliceGrad",
        "gradients for elements that the slice had not are left out",
        match="propagated",
    ),
    Rule(
        "accepted",
        "Substr",
        "a negative length gives an empty text",
        match="out of range",
        when=_negative_length,
    ),
    Rule(
        "refused",
        WINDOWS,
        "a window or an image without pixels is an error",
        match="must be at least 1",
    ),
    Rule(
        "refused",
        "*",
        "a range whose minimum is above its maximum is an error",
        match="is no range",
    ),
    Rule(
        "refused",
        SPARSE,
        "sparse indices outside the dense shape are an error",
        match="is not inside shape",
    ),
    Rule(
        "refused",
        "AvgPoolGrad AvgPool3DGrad",
        "the gradient's shape is checked",
        match="but the gradient has shape",
    ),
    Rule("refused", "*", "axes, indices and shapes are checked for empty tensors too", when=_empty),
    Rule("refused", "SparseSlice", "a start below 0 is an error", match="start "),
    Rule(
        "refused",
        "TensorStridedSliceUpdate",
        "an empty slice takes no elements",
        match="cannot take a value",
    ),
    Rule(
        "refused", "GatherV2", "batch_dims came with TensorFlow 1.14", match="batch_dims must be 0"
    ),
    Rule(
        "refused",
        "AudioSummary AudioSummaryV2",
        "a sample rate below 1 is an error",
        match="sampling rate",
    ),
    Rule("value", "AudioSummary AudioSummaryV2", "the header of the sound holds whole rates"),
    Rule(
        "value",
        UNSET,
        "TensorFlow leaves the result of an empty input, or of a window that fits nowhere, unset",
        when=_empty,
    ),
    Rule(
        "value gradient",
        WINDOWS,
        "TensorFlow leaves a result that nothing flows into unset",
        when=_outside,
    ),
    Rule("value", "BroadcastGradientArgs", "axes of size 1 on both sides are not summed over"),
    Rule("value", "ClipByValue", "NaN limits give NaN", when=_special),
    Rule(
        "value",
        "ReluGrad Relu6Grad FakeQuantWithMinMaxArgsGradient EluGrad SeluGrad LeakyReluGrad SigmoidGrad TanhGrad",
        "what flows back where the function is flat is 0, also if it is infinite or NaN",
        when=_special,
    ),
    Rule(
        "value",
        "Digamma",
        "a pole is infinite at -0",
        when=lambda c: any((a == 0).any() for a in c.arrays()),
    ),
    Rule(
        "value",
        "Digamma Erf Lgamma Erfc Erfinv Ndtri",
        "poles and infinities have the values of C's functions",
        when=_special,
    ),
    Rule(
        "value",
        "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsGradient"
        " FakeQuantWithMinMaxVarsPerChannelGradient FakeQuantWithMinMaxArgs",
        "an inverted or infinite range has no meaning",
        when=_inverted,
    ),
    Rule("value", "Round", "integers stay as they are; TensorFlow 2 gives 0 for large ones"),
    Rule("value", "ComputeAccidentalHits", "every place of a candidate drawn twice is found"),
    Rule(
        "value gradient accepted",
        SPARSE,
        "sparse indices that repeat or are out of order mean nothing",
        when=_untidy,
    ),
    Rule(
        "value gradient",
        "LRNGrad MaxPoolGrad MaxPoolGradGrad MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradWithArgmax"
        " MaxPoolGradGradWithArgmax",
        "the result of the forward operation is computed again, not read from the input that holds it",
    ),
    Rule(
        "value",
        "DecodeJpeg DecodeAndCropJpeg DecodeImage",
        "the decoder's attributes for speed have no effect",
    ),
    Rule(
        "value",
        "QuantizedBiasAdd Requantize QuantizeDownAndShrinkRange RequantizationRange",
        "rounding to the neighbouring step",
    ),
    Rule("value", "SelfAdjointEigV2", "TensorFlow leaves the vectors nobody asked for unset"),
    Rule("value", "Svd Qr", "of full_matrices the rows past the rank are any orthogonal ones"),
    Rule(
        "value",
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
        "TensorFlow's CPU ignores dilations",
    ),
    Rule("value", BATCH_NORM, "what reserve_space holds is the implementation's own"),
    Rule(
        "gradient",
        BATCH_NORM,
        "the gradients of the batch's mean and variance count; TensorFlow leaves them out",
    ),
    Rule("gradient", "SparseToDense", "the gradient of a single value has its shape"),
)

# why generated cases do not reach an op -> the ops
ELSEWHERE: dict[str, str] = {
    "has no counterpart in TensorFlow": (
        "LabelTerm ResizeAreaGrad ResizeLines ResizeTaps LoopStack LoopStackPop LoopStackPush ReaderNumRecordsSkipped"
        " LoopProducts LoopProductsAdd LoopProductsSum"
        " ScatterRows WindowSum"
    ),
    "makes random numbers: distributions and seeds are tested in tests/ops/test_random.py and test_candidates.py": (
        "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler"
        " ExtractGlimpse Multinomial ParameterizedTruncatedNormal RandomGamma RandomPoisson RandomPoissonV2 RandomShuffle"
        " RandomStandardNormal RandomUniform RandomUniformInt SampleDistortedBoundingBox"
        " SampleDistortedBoundingBoxV2 ThreadUnsafeUnigramCandidateSampler TruncatedNormal UniformCandidateSampler"
    ),
    "updates a variable: compared step by step in tests/oracle/test_optimizers.py and test_training.py": (
        " ".join(n for n in CATALOG if n.startswith(("Apply", "SparseApply")))
        + " Assign AssignAdd AssignSub CountUpTo IsVariableInitialized ScatterAdd ScatterDiv ScatterMax ScatterMin"
        " ScatterMul ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate"
        " StridedSliceAssign Variable VariableV2"
    ),
    "writes into a stream or file whose bytes are free: read back in tests/oracle/test_images.py": "EncodePng",
    "takes lists of several dtypes or a function: compared in tests/oracle/test_records.py and test_client.py": (
        "ParseExample ParseSingleExample ParseSingleSequenceExample PyFunc PyFuncStateless"
    ),
    "its value is an attribute: every other comparison makes constants": "Const",
    "queues, readers, files and TensorArrays are state of the host: tests/ops/test_records.py, tests/runtime": (
        " ".join(
            n
            for n in CATALOG
            if (
                "Queue" in n
                or "Reader" in n
                or "TensorArray" in n
                or "Accumulator" in n
                or "Mutex" in n
                or "Barrier" in n
            )
            and n != "ReaderNumRecordsSkipped"
        )
        + " MatchingFiles MergeV2Checkpoints ReadFile RestoreV2 SaveV2 WriteFile"
    ),
    "lists, optionals and stacks of TensorFlow's own graphs: whole graphs in test_functional_control_flow.py": " ".join(
        n for n in CATALOG if n.startswith(("TensorList", "EmptyTensorList", "Optional", "Variant", "Stack", "FakeParam"))
    ),
    "datasets and their iterators are state of the host: tests/data": " ".join(
        n for n in CATALOG if n.endswith(("Dataset", "DatasetV2")) or "Iterator" in n
    ),
    "TensorFlow ends the process for places outside the image; tests/oracle/test_windows.py has the valid ones": (
        "MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax"
    ),
    "moves control, not values: compared as whole programs in tests/oracle/test_control_flow.py": (
        "Assert CheckNumerics ControlTrigger Enter Exit LoopCond Merge NextIteration NoOp Placeholder"
        " PlaceholderWithDefault Print RefEnter RefExit RefMerge RefNextIteration RefSwitch Switch"
    ),
}


def listed(case: Case, kind: str, what: str) -> Rule | None:
    """The rule that explains a difference."""
    return next((r for r in RULES if r.holds(case, kind, what)), None)


def generated_ops(with_cases: Iterable[str]) -> list[str]:
    """The ops that generated cases reach."""
    out = {n for names in ELSEWHERE.values() for n in names.split()}
    return sorted(n for n in CATALOG if n in with_cases and n not in out)
