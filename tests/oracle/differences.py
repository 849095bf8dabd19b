"""What stays different from TensorFlow, and which ops generated cases do not reach: each with its reason.

`docs/differences.md` is written from these tables by `scripts/difference_page.py`. Nothing here needs TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from belonging import FORWARD, together
from building import CATALOG
from cases import Case

from tfnb.ops import FOLDERS
from tfnb.ops.catalog import later_ops_of

__all__ = ["ELSEWHERE", "KINDS", "NOTES", "RULES", "Rule", "generated_ops", "listed"]

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
    floats = [a for a in case.arrays() if a.dtype.kind in "fc"]
    return any(not np.isfinite(a).all() for a in floats)


def _untidy(case: Case) -> bool:
    """Has it sparse indices that are outside the shape, repeated or out of order?"""
    for a in case.arrays():
        if a.dtype == np.int64 and a.ndim == 2:
            rows = [tuple(r) for r in a.tolist()]
            if rows != sorted(set(rows)) or (a < 0).any():
                return True
    return False


def _unread(case: Case) -> bool:
    """Are there images or filters without elements, or a filter that no window uses?"""
    return case.attrs.get("padding") in ("VALID", "EXPLICIT") or _empty(case)


def _apart(case: Case) -> bool:
    """Is what stands for the forward operation's output another?"""
    rng = np.random.default_rng(0)
    given, true = (Case.arrays(c) for c in (case, together(case, rng)))
    return not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, true, strict=True))


def _inverted(case: Case) -> bool:
    low, high = case.arrays()[-2:]
    with np.errstate(invalid="ignore"):
        return bool(_special(case) or np.any(low >= high) or np.any(np.abs(high - low) > 1e20))


def _unsorted(case: Case) -> bool:
    return not case.attrs.get("sorted", True)


def _mixed(case: Case) -> bool:
    return len({case.arrays()[i].dtype for i in (1, 6)}) > 1


def _complex(case: Case) -> bool:
    return _special(case) and any(a.dtype.kind == "c" for a in case.arrays())


def _cut(case: Case) -> bool:
    x, lengths = case.arrays()
    wanted = lengths.tolist()
    if case.op.startswith("IRFFT"):
        wanted[-1] = wanted[-1] // 2 + 1
    return list(x.shape[x.ndim - len(wanted) :]) != wanted


def _narrow(case: Case) -> bool:
    """Is the beam narrower than the sequences there are?"""
    x = np.asarray(case.inputs[0])
    return bool(case.attrs["beam_width"] < max(x.shape[2] - 1, 1) ** x.shape[0])


def _larger(case: Case) -> bool:
    """Is the window larger than the image, so that the result has no elements?"""
    image, size = case.arrays()[0].shape, case.attrs.get("ksize", ())
    return case.attrs.get("padding") == "VALID" and any(n < k for n, k in zip(image, size, strict=False))


def _negative_length(case: Case) -> bool:
    return bool((np.asarray(case.inputs[2]) < 0).any())


def _integers(case: Case) -> bool:
    return all(a.dtype.kind in "iu" for a in case.arrays())


SPARSE = (
    "SparseAddGrad SparseConcat SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul"
    " SparseFillEmptyRows SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse"
    " SparseReshape SparseSlice SparseSliceGrad SparseSoftmax SparseSplit"
    " SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense SparseCross CTCLoss EditDistance"
)
SEGMENTS = " ".join(n for n in CATALOG if n.startswith("SparseSegment"))
REAL_FOURIER = "IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D"
BATCH_NORM = " ".join(n for n in CATALOG if n.startswith("FusedBatchNorm"))
QUANTIZED = " ".join(n for n in CATALOG if "Quantize" in n or n.startswith("Requant"))
CONVOLUTIONS = " ".join(n for n in CATALOG if n.startswith(("Conv2D", "Conv3D", "DepthwiseConv")))
POOLS = " ".join(n for n in CATALOG if "Pool" in n and "Quantized" not in n and "Argmax" not in n)

RULES: tuple[Rule, ...] = (
    # ---- taken here, refused by TensorFlow ----------------------------------------------------
    Rule(
        "accepted",
        "Div FloorDiv FloorMod Mod TruncateDiv TruncateMod SparseDenseCwiseDiv",
        "an integer divided by zero gives 0: a device cannot raise in the middle of a kernel",
        match="[Dd]ivi(sion|de) by zero",
    ),
    Rule(
        "accepted",
        "Div TruncateDiv TruncateMod",
        "the least integer divided by 0 or -1, as other integers",
        match="Unexpected error in binary",
    ),
    Rule(
        "accepted",
        "Pow",
        "an integer to a negative power is 0, or 1 or -1: a device cannot raise",
        match="negative integer powers",
    ),
    Rule(
        "accepted",
        "FusedBatchNorm FusedBatchNormGrad LRN LRNGrad MaxPool3D MaxPool3DGrad MaxPool3DGradGrad",
        "float64 images, which TensorFlow's definitions leave out",
        match="not in the list of allowed values",
    ),
    Rule(
        "accepted",
        f"{CONVOLUTIONS} {POOLS} {BATCH_NORM} QuantizedConv2D QuantizedAvgPool QuantizedMaxPool",
        "layouts, dilations and unequal strides that TensorFlow has for GPUs only",
        match="only support|not yet support|does not support|not supported|CPU implementation of|could not create a primitive",
    ),
    Rule(
        "accepted",
        "TopK",
        "of the old op TensorFlow 2 has lost the kernel",
        match="has constraint on attr",
    ),
    Rule(
        "accepted",
        "CTCBeamSearchDecoder CTCGreedyDecoder GatherNd MaxPoolWithArgmax MaxPool3DGradGrad QuantizedBiasAdd QuantizedMul"
        " QuantizedAvgPool QuantizedMaxPool Reverse"
        " ScatterNd ScatterNdNonAliasingAdd SparseAdd SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul"
        " SparseSoftmaxCrossEntropyWithLogits SparseSparseMaximum SparseSparseMinimum TensorScatterAdd TensorScatterSub"
        " TensorScatterMax TensorScatterMin TensorScatterUpdate UnravelIndex ResizeArea ResizeBicubic ResizeBicubicGrad"
        " ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor Dilation2DBackpropFilter"
        f" Dilation2DBackpropInput {CONVOLUTIONS} DrawBoundingBoxes CropAndResizeGradImage MirrorPad MirrorPadGrad",
        "empty inputs give empty results or zeros; these kernels refuse some of them",
        when=_empty,
    ),
    Rule(
        "accepted",
        f"ComplexAbs {REAL_FOURIER}",
        "real and complex numbers of unlike widths",
        match="Signature mismatch|Wrong types for",
    ),
    Rule(
        "accepted",
        REAL_FOURIER,
        "a shorter input is filled with zeros, as TensorFlow's Python function does before the operation",
        match="length of at least",
    ),
    Rule(
        "accepted",
        "Substr",
        "a position before the end of UTF-8 text with a negative length gives nothing, as one from the start does",
        match="out of range",
        when=_negative_length,
    ),
    # ---- refused here, taken by TensorFlow ----------------------------------------------------
    Rule(
        "refused",
        BATCH_NORM,
        "images of three dimensions (NDHWC, NCDHW) came with TensorFlow 2",
        match="data_format must be",
    ),
    Rule(
        "refused",
        SEGMENTS,
        "segment numbers that fall or are negative, and indices into an empty tensor, are an error",
        match="must not be negative|is not in ",
    ),
    Rule(
        "refused",
        "CTCGreedyDecoder CTCBeamSearchDecoder",
        "a negative length of a sequence is an error, not 0",
        match="must be in",
    ),
    Rule(
        "refused",
        "QuantizedMaxPool QuantizedAvgPool",
        "strides of the channels must be 1: TensorFlow does not read them",
        match="must be .1, height",
    ),
    Rule(
        "refused",
        f"{QUANTIZED} Dequantize",
        "a range whose minimum is above its maximum is an error; TensorFlow computes with it",
        match="is no range",
    ),
    Rule(
        "refused",
        SPARSE,
        "sparse indices outside the dense shape are an error, where TensorFlow does not look",
        match="does not index into param|is not inside shape|a row is outside of",
    ),
    Rule(
        "refused",
        "SparseAdd SparseReorder SparseSparseMaximum SparseSparseMinimum",
        "a negative sparse index is an error, where TensorFlow does not look",
        match="is not inside shape",
    ),
    Rule(
        "refused",
        " ".join(FORWARD),
        "a window that is larger than its image is an error in gradients as in a graph of the operation itself",
        match="Negative dimension size",
    ),
    Rule(
        "refused",
        "DecodeJpeg DecodeAndCropJpeg",
        "the decoder does not say how many lines a damaged file has lost",
        match="acceptable_fraction",
    ),
    Rule(
        "refused",
        "SparseCross",
        "a type of output that `hashed_output` contradicts is an error; TensorFlow reads the type alone",
        match="hashed_output=",
    ),
    Rule(
        "refused",
        CONVOLUTIONS,
        "groups of channels (an image with several times the channels of the filter) came to TensorFlow's CPU with version 2",
        match=r"the input has \d+ channels",
    ),
    Rule(
        "refused",
        f"{CONVOLUTIONS} {POOLS} Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
        "windows without pixels, and shapes that do not fit together, are an error for empty images too",
        match="ShapeError|each must be at least 1|does not fit along",
        when=lambda c: _empty(c) or any(0 in a for a in c.arrays() if a.dtype == np.int32),
    ),
    Rule(
        "refused",
        "MaxPool MaxPoolGrad MaxPoolGradGrad",
        "explicit paddings beside another kind of padding are an error, where TensorFlow does not read them",
        match="explicit_paddings",
    ),
    Rule(
        "refused",
        "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
        "a rate of 0 is an error, where TensorFlow reads one pixel again and again",
        match="rates must be four integers",
    ),
    Rule(
        "refused",
        f"{POOLS} {CONVOLUTIONS} MaxPoolGradWithArgmax MaxPoolGradGradWithArgmax MaxPoolWithArgmax",
        "steps over batch and channels are an error where TensorFlow does not read them",
        match="integers of at least 1|must be 1 for batch and channels",
    ),
    Rule(
        "refused",
        "CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage Gather GatherV2 UnsortedSegmentMax"
        " UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum TensorStridedSliceUpdate ReverseV2",
        "indices and shapes are checked where nothing is read or written, too",
        match="is not in|must be|is not below|cannot take a value|is out of range",
        when=_empty,
    ),
    Rule(
        "refused",
        "TensorStridedSliceUpdate",
        "an empty slice takes no value of another shape",
        match="cannot take a value",
    ),
    Rule(
        "refused",
        "ResizeNearestNeighborGrad",
        "images without pixels, and two ways to align corners at once, are an error as in the operation itself",
        match="have no pixels|exclude each other",
    ),
    Rule("refused", "UnravelIndex", "an index below 0 is an error", match="is not inside shape"),
    Rule(
        "refused",
        "QuantizeV2 Dequantize",
        "ranges of single slices (axis) came with TensorFlow 2",
        match="axis must be -1",
    ),
    Rule(
        "accepted",
        "*",
        "a reduction along an axis that is named twice reduces it once, as TensorFlow did until 1.15",
        match="Axes contains duplicate dimension",
    ),
    # ---- other values -------------------------------------------------------------------------
    Rule("value gradient", "TopK TopKV2", "where NaN stands in the order is not defined", when=_special),
    Rule("value gradient", "TopK TopKV2", "without `sorted` the order is free", when=_unsorted),
    Rule(
        "value",
        "SparseAdd",
        "a threshold of another dtype counts as its number, not its bits",
        when=_mixed,
    ),
    Rule(
        "value gradient",
        SEGMENTS,
        "of an empty sum, and of no rows, TensorFlow leaves memory as it finds it",
        when=_empty,
    ),
    Rule(
        "value",
        "ReluGrad Relu6Grad FakeQuantWithMinMaxArgsGradient EluGrad SeluGrad LeakyReluGrad",
        "where the function is flat an infinite or NaN gradient gives 0, as on TensorFlow's GPUs; its CPU multiplies by 0",
        when=_special,
    ),
    Rule(
        "value",
        "Erf Erfc Lgamma Erfinv Ndtri",
        "at infinities and poles the values of C's functions; those of TensorFlow depend on the number of elements",
        when=_special,
    ),
    Rule(
        "value",
        "Ndtri",
        "below 1e-7 the function is -infinity",
        when=lambda c: bool((c.arrays()[0] < 1e-7).any()),
    ),
    Rule(
        "value",
        "Reciprocal Inv RealDiv Div Xdivy Exp Expm1 Log Log1p Sqrt Rsqrt Sinh Cosh Tanh Sigmoid Pow Mul Square Sin Cos Tan",
        "infinite and NaN parts of complex numbers follow NumPy",
        match="nan|inf",
        when=_complex,
    ),
    Rule(
        "value gradient",
        CONVOLUTIONS,
        "of images or filters without elements TensorFlow's shape is another, or its memory as found",
        when=_unread,
    ),
    Rule(
        "gradient",
        "DepthwiseConv2dNative",
        "dilations count; TensorFlow's CPU does not read them",
        when=lambda c: set(c.attrs.get("dilations", (1,))) != {1},
    ),
    Rule(
        "value",
        "MaxPoolGrad RequantizationRange QuantizeDownAndShrinkRange QuantizedMaxPool QuantizedAvgPool Svd SelfAdjointEigV2"
        " EditDistance SparseAddGrad QuantizedMatMul",
        "of empty inputs TensorFlow leaves the result as memory is found",
        when=_empty,
    ),
    Rule(
        "value",
        "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsGradient"
        " FakeQuantWithMinMaxVarsPerChannelGradient FakeQuantWithMinMaxArgs",
        "a range that is inverted, empty or infinite has no meaning",
        when=_inverted,
    ),
    Rule(
        "value",
        "Round",
        "integers stay as they are, as in TensorFlow 1; version 2 gives 0 for them",
        when=_integers,
    ),
    Rule(
        "value gradient",
        POOLS,
        "a window with nothing but padding has the maximum 0; TensorFlow's is the least number, or memory as found",
        when=_empty,
    ),
    Rule(
        "gradient",
        POOLS,
        "of a result without elements TensorFlow leaves memory as it finds it; here it is 0",
        when=_larger,
    ),
    Rule(
        "value gradient",
        "SigmoidGrad",
        "numbers that no sigmoid gives: the order of the product's factors decides what overflows",
        when=_special,
    ),
    Rule(
        "value gradient accepted",
        f"{SPARSE} SetSize SerializeManySparse SparseAdd SparseReorder SparseSparseMaximum SparseSparseMinimum",
        "sparse indices that repeat or are out of order break what a sparse tensor is",
        when=_untidy,
    ),
    Rule(
        "value gradient",
        "LRNGrad MaxPoolGrad MaxPoolGradGrad MaxPool3DGrad MaxPool3DGradGrad",
        "the output of the forward operation is computed again; another array in its place is not read",
        when=_apart,
    ),
    Rule(
        "value",
        "DecodeJpeg DecodeAndCropJpeg DecodeImage",
        "the attributes that trade exactness for speed have no effect: the decoder is Pillow's",
    ),
    Rule(
        "value",
        "QuantizedBiasAdd Requantize QuantizeDownAndShrinkRange",
        "rounding to the neighbouring step",
        match="output 0",
    ),
    Rule(
        "value",
        "SelfAdjointEigV2",
        "vectors that were not asked for are empty or 0; TensorFlow leaves memory as it finds it",
        match="output 1",
        when=lambda c: not c.attrs.get("compute_v", True),
    ),
    Rule(
        "value",
        "Svd Qr",
        "with `full_matrices` the vectors past the rank are any orthogonal ones; with `compute_uv` off there are none",
        when=lambda c: c.attrs.get("full_matrices", False) or not c.attrs.get("compute_uv", True),
    ),
    Rule(
        "value accepted refused",
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
        "dilations count; TensorFlow's CPU does not read them",
        when=lambda c: set(c.attrs.get("dilations", (1,))) != {1},
    ),
    Rule(
        "value",
        BATCH_NORM,
        "what the spare outputs hold (reserve spaces, and in inference the moments) is the implementation's own",
        match="output [345]",
    ),
    Rule(
        "value",
        BATCH_NORM,
        "the moments of inference are those given; for empty images TensorFlow has none",
        match="output [12]",
        when=_empty,
    ),
    Rule(
        "value accepted",
        "CTCBeamSearchDecoder",
        "a leaf grows even where its siblings' leaves put it out of a narrow beam; TensorFlow forgets it half way",
        when=_narrow,
    ),
    # ---- other gradients ----------------------------------------------------------------------
    Rule(
        "gradient",
        "MatrixDiagV2 MatrixDiagPartV2",
        "of several diagonals: each begins at the left of its row, as in the operation itself and in TensorFlow 1.15; "
        "version 2 takes the gradient of the third form, whose upper diagonals end at the right",
        when=lambda c: c.arrays()[1].size > 1,
    ),
    Rule(
        "gradient",
        BATCH_NORM,
        "mean and variance are inputs like others and have gradients; TensorFlow gives them none",
        match="^of (mean|variance|reserve_space_[12]):",
    ),
    Rule(
        "gradient",
        BATCH_NORM,
        "reserve spaces are read; for the second derivative TensorFlow computes the moments from x again",
        when=_apart,
    ),
    Rule(
        "gradient",
        "SparseToDense",
        "without values the default has all of the gradient",
        match="^of default_value",
        when=_empty,
    ),
    Rule(
        "gradient",
        "SparseToDense",
        "the gradient of a single value has its shape, ()",
        match="^of sparse_values: shape",
    ),
    Rule(
        "gradient",
        "IRFFT IRFFT2D RFFT RFFT2D",
        "what is cut off has no gradient; TensorFlow broadcasts there",
        when=_cut,
    ),
    Rule(
        "value gradient",
        "MatrixSquareRoot MatrixLogarithm",
        "the root of a negative number may have either sign, and TensorFlow's gradient of complex ones lacks a conjugate",
        when=lambda c: c.arrays()[0].dtype.kind == "c",
    ),
    Rule(
        "accepted",
        "UnsortedSegmentJoin",
        "strings of negative segments are left out",
        match="not allowed to exceed",
    ),
    Rule(
        "refused",
        "SerializeSparse SerializeManySparse",
        "sparse indices are checked before they are written",
        match="indices of shape|is not inside shape|does not index into param",
    ),
)

# Differences in words, of what is no single operation or lies outside of the generated cases.
NOTES: tuple[str, ...] = (
    "An index, label, start or length that is out of range is an error where the host holds it: where it is constant, fed, "
    "or made by an operation of the host, also through casts to wider integers, reshapes and the negative indices of "
    "`x[i]`. Where a device has computed it there is no error: nothing outside of a tensor is read or written, a read "
    "gives 0 (a loss NaN), an update is dropped, a window is the nearest one. TensorFlow's CPU raises an error there, too; "
    "its GPU kernels do as tfnb's.",
    "A number is fed as it is or not at all: `InvalidArgumentError` (a `TypeError`) for integers outside of the dtype, for "
    "fractions, NaN and infinity where integers are needed, and for complex numbers with an imaginary part where real ones "
    "are needed. TensorFlow raises `TypeError` for a Python integer and converts all else as NumPy does, without a word.",
    "Two fetches of one tensor are two arrays, and a partial run goes on with the values that were fed. In TensorFlow such "
    "fetches are one array, and a fed array that is changed between two calls of `partial_run` may count as changed.",
    "The graphs that tfnb writes of loops, branches and functions are TensorFlow's. Those of a loop's gradients are not: "
    "they keep tensors in `LoopStack` and add products up in `LoopProducts`, which TensorFlow does not have. Write the graph "
    "before `tf.gradients` is called, and take the gradients where the graph is imported.",
    "The functions of tf.data stand in the library of a written graph under names made of their content; TensorFlow numbers "
    "them. Data sets of Python functions (`from_generator`, `tf.py_func`) run in the process that made them alone, as in "
    "TensorFlow; the node of a generator is tfnb's own.",
    "`SaveSlices` and `Save` of graphs from before 1.0 write tfnb's checkpoints, as `SaveV2` does; those that TensorFlow "
    "wrote in its first format are read.",
    "Each channel of `AudioSpectrogram` is computed by itself. TensorFlow 1.15.5 begins the second one with the samples that "
    "are left of the first one, and fails where that makes one window more.",
    "`tf.contrib.timeseries` is missing: it is a library of models on top of estimators, which uses none of TensorFlow's "
    "operations that tfnb lacks.",
    'JPEG files are decoded by the accurate transform. With `dct_method="INTEGER_ACCURATE"` the pixels are TensorFlow\'s to the '
    "bit; by default it takes the fast transform, which is mostly within 20 of 255 levels, and `fancy_upscaling=False` has no "
    "effect here.",
    "Transparent pixels of a GIF's frames show what the file's disposal method leaves of the frames before, and the first "
    "frame may be smaller than the canvas. TensorFlow 1.15.5 gives such pixels the colour that the palette has for them, and "
    "refuses such a first frame.",
    "In an imported graph, a loop that assigns a variable and reads it through an operation outside of the loop has the "
    "value from before the loop. TensorFlow's reference variables share their memory with what was read, so that the value "
    "may be a newer one there. Loops that are built here read the variable in each iteration.",
    "`Cast` with `Truncate=True` of float64 to complex64 cuts off the 29 bits that float32 lacks, as it does to float32. "
    "TensorFlow cuts off all 52 there, so that only powers of two keep their value.",
    "float16 is computed in float32 and rounded once: `tf.nn.elu(-1.0)` is -0.63232, the float16 nearest to exp(-1) - 1. "
    "TensorFlow's CPU rounds exp(-1) first, and gives -0.63184.",
    "A `tf.Variable` that is used under `tf.control_dependencies` is read after them, as TensorFlow reads resource "
    "variables; what a reference variable gives there may also be what it held before.",
    "What an operation has read of a variable remains what the variable held then, also when the same step assigns it "
    "afterwards. TensorFlow's reference variables share their memory with what was read, so that operations behind the read "
    "may see the newer value: the optimizer of BERT, which assigns the global step beside its updates, then takes the "
    "learning rate of the next step, and gradients that are fetched with an update are of either weights.",
    "`tf.nn.softmax_cross_entropy_with_logits(a, b)` and its kin take positional arguments as TensorFlow 0.x did, the "
    "logits first. TensorFlow 1.x refuses them there and wants both by keyword, which is the better way here, too.",
    "The gradient of `BlockLSTMV2` is that of its function. TensorFlow 1.15.5 computes it with the gates in the order of "
    "`BlockLSTM`, which is wrong. What `BlockLSTM` gives for the gates of steps from `seq_len_max` on is 0; TensorFlow "
    "leaves memory as it finds it.",
    "`tf.contrib.learn` estimators predict the data of a `tf.data` iterator to their end. TensorFlow 1.15.5 stops after the "
    "first batch of any input without queue runners, and so do these for constants and random numbers.",
    "The builder's code of a `tf.Graph` says `tf.get_default_graph().colocate_with_name(name)` where a node was put beside "
    "one that was made after it, as the initial value of a variable is. TensorFlow has no function that makes such a node "
    "again, only private ones; there, leave these blocks out, which changes nothing but the device of the initial value.",
    "A card of the viewer says that it waits for the kernel until a thread of the kernel has sent what it shows. While a "
    "cell trains, that thread shares the processor and Python's lock with the training, so pictures take a second or two.",
    "A gesture in the builder executes the statements again, so its code takes longer to arrive the more there are: half a "
    "second of processor time with 290 statements of a network of 29 layers. A graph cannot be taken back to before a "
    "statement that is edited, so nothing of the former execution is used.",
)

# why generated cases do not reach an op -> the ops
ELSEWHERE: dict[str, str] = {
    "has no counterpart in TensorFlow": (
        "LabelTerm ResizeAreaGrad ResizeLines ResizeTaps LoopStack LoopStackPop LoopStackPush ReaderNumRecordsSkipped"
        " CompareAndBitpack GatherTree"
        " LoopProducts LoopProductsAdd LoopProductsSum"
        " PartitionRows ScatterRows StitchRows TakeRows WindowSum "
        + " ".join(n for n in CATALOG if n.startswith("SparseApply") and n.endswith("Summed"))
    ),
    "makes random numbers: distributions and seeds are tested in tests/ops/random/test_random.py and test_candidate_samplers.py": (
        "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler"
        " ExtractGlimpse Multinomial ParameterizedTruncatedNormal RandomGamma RandomPoisson RandomPoissonV2 RandomShuffle"
        " RandomStandardNormal RandomUniform RandomUniformInt SampleDistortedBoundingBox"
        " SampleDistortedBoundingBoxV2 ThreadUnsafeUnigramCandidateSampler TruncatedNormal UniformCandidateSampler"
    ),
    "updates a variable: compared step by step in tests/oracle/train/test_optimizers.py and test_training.py": (
        " ".join(n for n in CATALOG if n.startswith(("Apply", "SparseApply")) and not n.endswith("Summed"))
        + " Assign AssignAdd AssignSub CountUpTo IsVariableInitialized ScatterAdd ScatterDiv ScatterMax ScatterMin"
        " ScatterMul ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate"
        " StridedSliceAssign Variable VariableV2"
    ),
    "writes into a stream or file whose bytes are free: read back in tests/oracle/ops/test_images.py": "EncodePng",
    "takes lists of several dtypes or a function: compared in tests/oracle/ops/test_records.py and test_client.py": (
        "ParseExample ParseSingleExample ParseSingleSequenceExample PyFunc PyFuncStateless"
    ),
    "its value is an attribute: every other comparison makes constants": "Const",
    "queues, readers, files and TensorArrays are state of the host: tests/ops/io/test_hostile_records.py, tests/runtime": (
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
                or "Table" in n
            )
            and n != "ReaderNumRecordsSkipped"
        )
        + " MatchingFiles MergeV2Checkpoints ReadFile RestoreV2 SaveV2 WriteFile"
    ),
    "lists, optionals and stacks of TensorFlow's own graphs: whole graphs in test_functional_control_flow.py": " ".join(
        n
        for n in CATALOG
        if n.startswith(("TensorList", "EmptyTensorList", "Optional", "Variant", "Stack", "FakeParam"))
    ),
    "draws its windows at random, and its gradient takes them: pooled with TensorFlow's in test_static_values_printing.py": (
        "FractionalMaxPool FractionalMaxPoolGrad FractionalAvgPool FractionalAvgPoolGrad"
    ),
    "datasets and their iterators are state of the host: tests/data": " ".join(
        n for n in CATALOG if n.endswith(("Dataset", "DatasetV2")) or "Iterator" in n
    ),
    "moves control, not values: compared as whole programs in tests/oracle/client/test_control_flow.py": (
        "Assert CheckNumerics ControlTrigger Enter Exit LoopCond Merge NextIteration NoOp Placeholder"
        " PlaceholderWithDefault Print PrintV2 RefEnter RefExit RefMerge RefNextIteration RefSwitch Switch"
    ),
    "its value is the time: tests/v1/python_internals": "Timestamp",
    "a session keeps its value between runs: tests/session/test_tensor_handle.py": (
        "DeleteSessionTensor GetSessionHandle GetSessionTensor"
    ),
    "a message has several encodings: what is parsed from it is compared in tests/oracle/ops/test_records.py": (
        "DecodeJSONExample"
    ),
}
# The other operations of late families.
_LATE = {name for folder in FOLDERS for name in later_ops_of(folder)}
ELSEWHERE["few programs use it: compared on the written cases in tests/oracle/test_ops.py"] = " ".join(
    sorted(_LATE - {name for names in ELSEWHERE.values() for name in names.split()})
)


def listed(case: Case, kind: str, what: str) -> Rule | None:
    """The rule that explains a difference."""
    return next((r for r in RULES if r.holds(case, kind, what)), None)


def generated_ops(with_cases: Iterable[str]) -> list[str]:
    """The ops that generated cases reach."""
    out = {n for names in ELSEWHERE.values() for n in names.split()}
    return sorted(n for n in CATALOG if n in with_cases and n not in out)
