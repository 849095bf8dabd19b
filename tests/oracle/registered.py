"""The operations that TensorFlow 1.15.5 registers, and why some of them, or some of their dtypes, are missing here.

`tests/data/ops_1_15.json` is made by `scripts/registered_ops.py`. Invariant: each operation that is missing has one
reason, and so has each dtype that 1.15.5 has a kernel for and the catalogue lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from building import CATALOG

from tfnb.ops import all_families
from tfnb.types import ANY

__all__ = ["MISSING", "TYPES", "lacking_types", "missing_ops", "reason_of", "registered", "wider_types"]

_DATA = json.loads((Path(__file__).parents[1] / "data" / "ops_1_15.json").read_text(encoding="utf-8"))

# pattern of the whole name -> why there is no such operation; the first that matches counts
MISSING = {
    r"(Resource\w+|VarHandleOp|\w+VariableOp|VarIsInitializedOp|VariableShape|DestroyResourceOp)": "read from graphs as "
    "the operation on a reference variable, as tf.raw_ops makes them, too",
    r"If|StatelessIf|Case|While|StatelessWhile|PartitionedCall|StatefulPartitionedCall|RemoteCall|SymbolicGradient": "read "
    "from graphs as branches, loops and calls of functions; no program of 1.x makes such nodes by a public name",
    r"_.*": "made by TensorFlow itself while it prepares a step, so files hold them only where a program has written such a step",
    r"For|EagerPyFunc|BatchFunction|TPUPartitionedCall|MapDefun|GraphDefVersion": "no function of 1.15's graph mode "
    "makes such nodes",
    r"Xla\w+": "of XLA's own compiler",
    r"\w*(TPU|Infeed|Outfeed)\w*|AllToAll|CrossReplicaSum|CollectivePermute|Prelinearize\w*|WorkerHeartbeat": "of TPUs",
    r"Nccl\w+|Collective\w+": "of several GPUs of one machine, or of collectives over tasks",
    r"Cudnn\w+": "of cuDNN, which TensorFlow has on GPUs alone",
    r"(Big|Gcs)\w+|GenerateBigQuery\w+|LMDB\w+|ExperimentalLMDBDataset|\w*SqlDataset": "of services and libraries that "
    "tfnb does not read",
    r"(Is)?BoostedTrees\w+|TensorForest\w+|IsTensorForest\w+|Sdca\w+": "of estimators that are refused by name",
    r"(Create)?Summary\w+|Write\w*Summary|(Close|Flush)SummaryWriter|CreateSummary\w+|ImportEvent": "summaries that a "
    "step writes itself came with tf.contrib.summary, which is refused",
    r"(Stage|Unstage|StageClear|StagePeek|StageSize|(Ordered)?Map(Clear|IncompleteSize|Peek|Size|Stage|Unstage\w*))": "staging areas, which hide copies to a GPU",
    r"(Stateful\w*|Rng\w*|NonDeterministicInts|\w*RandomSeedGenerator)": "of the generators of TensorFlow 2",
    r"\w*(Dataset\w*|Iterator\w*|MemoryCache|StatsAggregator\w*|ThreadPoolHandle)": "data sets of programs are made by "
    "tf.data here; graphs with these come from functions of tf.data that tfnb lacks",
    r"Quantized\w+|Requant\w+|XlaDequantize": "made by Intel's MKL, or by tools that quantise a graph for it",
    r"Ragged\w+|TensorListConcat\w*|TensorListPushBackBatch": "of ragged tensors and lists of later versions",
    r"ParseSequenceExample": "of tf.io.parse_sequence_example, which is missing; parse_single_sequence_example is there",
    r"AudioMicrofrontend": "of a library of tf.lite's examples",
    r"(Add|TakeMany|AddMany)Sparse(To|From)TensorsMap|\w*SparseFromTensorsMap": "sparse tensors kept between steps",
    r"Copy|CopyHost|Debug\w+": "made by tfdbg, which is refused",
    r"(Try)?Rpc|RecvTPU\w*|RemoteFusedGraphExecute": "calls of other services",
    r"Batch|Unbatch|UnbatchGrad": "batching in a server",
    r"Kmeans\w+|KMC2\w+|Skipgram|NegTrain": "of tf.contrib.factorization and word2vec, whose functions are "
    "made of other operations here",
    r"LoadAndRemapMatrix|GenerateVocabRemapping": "warm starts, which the loader does itself",
    r"RecordInput|RandomCrop|PlaceholderV2|FakeQueue|ImmutableConst|HostConst|TensorArray(Pack|Unpack|GradWithShape)": "no "
    "public function of 1.15 makes such nodes",
    r"Ref(Identity|Select)|(Destroy)?TemporaryVariable|Abort|GetSessionHandleV2|UnicodeScript": "rare, and in none of the "
    "graphs and programs of the collections",
    r"KernelLabel\w*|Old|None|Simple|Unary|Binary|Polymorphic\w*|Restrict|[AB]|Foo\d|\w*(Int|Float|Ref)(In|Out|put)\w*|"
    r"\w*(In|Out)(Put|put)\w*|Attr\w*|TypeList\w*|\w*Polymorphic\w*|N\w*(In|Out)\w*|Reserved\w+|OutT\w*|RefOut|RefIn|"
    r"TwoRefsIn|\w*Struct|CopyOp|Int(Attr|Input|Output)|ListInput|ListOutput|StringListAttr|FuncAttr|FuncListAttr|"
    r"DefaultAttrs|OpWith\w+|RequiresOlder\w+|Test\w+|Construction\w+|DevicePlacementOp|StubResourceHandleOp|"
    r"ResourceUsingOp|InPolymorphicTwice|NIntsIn|Attr": "registered by TensorFlow's own tests",
}
_NO_RESOURCE = (
    "handles and variants pass through the operations that pass values on, and through lists; not through others"
)
# reason -> (dtypes, operations and attributes as a pattern)
TYPES = {
    _NO_RESOURCE: ("resource variant", r".*"),
    "tables have keys of strings and integers, in TensorFlow too": (
        "bfloat16 bool complex128 complex64 float16 float32 float64 int16 int8 qint16 qint32 qint8 quint16 quint8 uint16 "
        "uint32 uint64 uint8",
        r"(LookupTable|InitializeTable)\w*\.(Tin|Tkeys|Tkey)",
    ),
    "no table of TensorFlow holds quantised values": (
        "qint16 qint32 qint8 quint16 quint8",
        r"(LookupTable|InitializeTable)\w*\.(Tout|Tvalues|Tval)",
    ),
    "the accumulators of TensorFlow hold floats": ("qint32 qint8 quint8", r"\w*Accumulator\w+\.dtype"),
    "TensorFlow registers the kernel for all dtypes, and fails in the step": (
        "bool qint16 qint32 qint8 quint16 quint8 string",
        r"(TileGrad|InplaceAdd|InplaceSub)\.T|Cast\.(SrcT|DstT)",
    ),
    "the square of a complex difference, and products of complex segments, are not served": (
        "complex64 complex128",
        r"(SquaredDifference|UnsortedSegmentProd)\.T",
    ),
    "a norm of integers is not an integer": (
        "complex128 complex64 int16 int32 int64 int8 uint16 uint8",
        r"EuclideanNorm\.T",
    ),
    "16-bit floats of these old or fused operations are not served": (
        "float16",
        r"(BatchNormWithGlobalNormalization(Grad)?|FusedResizeAndPadConv2D|FusedPadConv2D)\.T",
    ),
    "16-bit floats and images of these functions are not served": (
        "bfloat16 float16 uint16 int32 int8 uint8",
        r"(StatelessRandom\w+|StatelessTruncatedNormal)\.dtype|(ScaleAndTranslate|ResizeNearestNeighborGrad)\.T",
    ),
    "rows of bools and strings are not summed, which scattering does": (
        "bool string",
        r"ScatterNd(NonAliasingAdd)?\.T",
    ),
    "quantised numbers are added and sliced as what they stand for": (
        "qint8 qint32 quint8",
        r"QuantizedBiasAdd\.T[12]|SparseTensorSliceDataset\.Tvalues",
    ),
}


def registered() -> dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]]:
    """Returns for each operation and type attribute the dtypes that are allowed, and those with a kernel for CPUs."""
    known = {d.name for d in ANY}
    texts = [frozenset(t.split()) & known for t in _DATA["dtypes"]]
    return {
        op: {a: (texts[allowed], texts[served]) for a, (allowed, served) in types.items()}
        for op, types in _DATA["ops"].items()
    }


def missing_ops() -> list[str]:
    """Returns the operations of 1.15.5 that the catalogue lacks."""
    all_families()
    return [op for op in registered() if op not in CATALOG]


def reason_of(op: str) -> str | None:
    """Returns why an operation is missing; None if no reason stands above."""
    return next((why for pattern, why in MISSING.items() if re.fullmatch(pattern, op)), None)


def lacking_types() -> Iterator[tuple[str, str]]:
    """Yields (operation.attribute, dtype) for each dtype that 1.15.5 has a kernel for, and the catalogue lacks."""
    all_families()
    for op, types in registered().items():
        for attribute, (_, served) in types.items():
            if op in CATALOG and attribute in CATALOG[op].types:
                here = {d.name for d in CATALOG[op].types[attribute]}
                yield from ((f"{op}.{attribute}", dtype) for dtype in sorted(served - here))


def wider_types() -> Iterator[tuple[str, str]]:
    """Yields (operation.attribute, dtype) for each dtype that the catalogue allows, and 1.15.5 does not."""
    for op, types in registered().items():
        for attribute, (allowed, _) in types.items():
            if op in CATALOG and attribute in CATALOG[op].types:
                here = {d.name for d in CATALOG[op].types[attribute]}
                yield from ((f"{op}.{attribute}", dtype) for dtype in sorted(here - allowed))
