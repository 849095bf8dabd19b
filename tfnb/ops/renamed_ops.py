"""Operations that TensorFlow renamed during 0.x and 1.x, under the names that graphs of the time hold.

Queues, readers, tables, stacks, accumulators and tensor arrays had handles that were references to strings, and the
operations on stacks of matrices had a prefix. Invariant: an operation here is the current one under another name, with
the same kernels and gradient; only inputs and outputs that the old one lacks are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.array import identity
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.io import readers
from tfnb.ops.linalg import band_part, decompositions, diag, diag_band, inverse_solve
from tfnb.ops.math import fft
from tfnb.ops.state import stacks, tables, tensor_array
from tfnb.ops.sync import accumulators, queues
from tfnb.types import Shape

__all__ = ["OPS"]

_FAMILIES: tuple[ModuleType, ...] = (
    accumulators,
    band_part,
    decompositions,
    diag,
    diag_band,
    fft,
    identity,
    inverse_solve,
    queues,
    readers,
    stacks,
    tables,
    tensor_array,
)
_CURRENT: dict[str, OpDef] = {op.name: op for family in _FAMILIES for op in family.OPS}

# Operations whose present names end in "V2".
_WITHOUT_V2 = """
FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue QueueClose QueueDequeue QueueDequeueMany QueueDequeueUpTo
QueueEnqueue QueueEnqueueMany QueueIsClosed QueueSize
IdentityReader TFRecordReader TextLineReader WholeFileReader ReaderNumRecordsProduced
ReaderNumWorkUnitsCompleted ReaderRead ReaderReadUpTo ReaderReset ReaderRestoreState ReaderSerializeState
HashTable InitializeTable InitializeTableFromTextFile LookupTableExport LookupTableFind LookupTableImport
LookupTableInsert LookupTableSize MutableDenseHashTable MutableHashTable MutableHashTableOfTensors
StackClose StackPop
"""
_ARRAYS = "Close Concat Gather Read Scatter Size Split Write"
_MATRICES = """
Cholesky CholeskyGrad MatrixDeterminant MatrixDiag MatrixDiagPart MatrixInverse MatrixSetDiag MatrixSolve
MatrixSolveLs MatrixTriangularSolve SelfAdjointEigV2 Svd
"""
_TRANSFORMS = "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D"
_ACCUMULATORS = "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient"


def _old(name: str, current: str, **changes: Any) -> OpDef[Tensor]:
    """The operation `current` under the name `name`, with other fields where `changes` has them."""
    op = _CURRENT[current]
    doc = f"{current} under an older name.\n\n{op.doc}"
    return replace(op, **{"name": name, "api": "", "doc": doc, **changes})


def _renamed() -> list[OpDef]:
    found = [_old(name, f"{name}V2") for name in _WITHOUT_V2.split()]
    found += [_old(f"TensorArray{n}{v}", f"TensorArray{n}V3") for n in _ARRAYS.split() for v in ("", "V2")]
    found += [_old(f"Batch{name}", name) for name in _MATRICES.split()]
    found += [_old(name, f"Resource{name}") for name in ("ConditionalAccumulator", *_ACCUMULATORS.split())]
    found += [
        _old(f"Batch{name}", name, inputs="input: complex64", outputs="output: complex64", types={})
        for name in _TRANSFORMS.split()
    ]
    limits = "input: T, num_lower: int64, num_upper: int64"
    types = {"T": _CURRENT["MatrixBandPart"].types["T"]}
    make = _CURRENT["StackV2"].host
    assert make is not None
    found.append(_old("StackPush", "StackPushV2", grad=NOT_DIFFERENTIABLE))
    found.append(_old("Stack", "StackV2", inputs="", host=lambda call: make(call, np.int32(-1))))
    found.append(_old("BatchMatrixBandPart", "MatrixBandPart", inputs=limits, types=types))
    return found


@record
class OldFixedAttrs:
    """`record_bytes`, `header_bytes`, `footer_bytes`, `hop_bytes`, `container`, `shared_name`: see the present op."""

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    hop_bytes: int = 0
    container: str = ""
    shared_name: str = ""

    @property
    def encoding(self) -> str:
        return ""


_FIXED = _old("FixedLengthRecordReader", "FixedLengthRecordReaderV2", attrs=OldFixedAttrs)

# ---- tensor arrays whose creation gave a handle alone -------------------------------------------------------------


@record
class OldTensorArrayAttrs:
    """`element_shape`, `dynamic_size`, `clear_after_read`, `tensor_array_name`: see TensorArrayV3."""

    element_shape: Shape | None = None
    dynamic_size: bool = False
    clear_after_read: bool = True
    tensor_array_name: str = ""

    @property
    def identical_element_shapes(self) -> bool:
        return False


def _first_of(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def host(call: HostCall, *inputs: object) -> Any:
        return tuple(kernel(call, *inputs))[:1]

    return host


def _first_shape(rule: Callable[[Infer], Any]) -> Callable[[Infer], Any]:
    return lambda c: rule(c)[0]


def _handle_alone(name: str, current: str, output: str, **changes: object) -> OpDef:
    op = _CURRENT[current]
    assert op.host is not None and op.infer is not None
    kept = {"outputs": f"{output}: resource", "host": _first_of(op.host), "infer": _first_shape(op.infer)}
    return _old(name, current, **kept, **changes)


_ARRAY_HANDLES = [
    _handle_alone(f"TensorArray{v}", "TensorArrayV3", "handle", attrs=OldTensorArrayAttrs) for v in ("", "V2")
] + [_handle_alone(f"TensorArrayGrad{v}", "TensorArrayGradV3", "grad_handle") for v in ("", "V2")]

# ---- eigenvalues above eigenvectors, in one tensor ----------------------------------------------------------------


def _infer_packed(c: Infer) -> Shape:
    rule = _CURRENT["SelfAdjointEigV2"].infer
    assert rule is not None
    _, vectors = rule(replace(c, attrs=decompositions.EigAttrs()))
    if vectors.sizes is None:
        return Shape(None)
    *lead, m, n = vectors.sizes
    return Shape((*lead, None if m is None else m + 1, n))


def _host_packed(call: HostCall, x: np.ndarray) -> np.ndarray:
    kernel = _CURRENT["SelfAdjointEigV2"].host
    assert kernel is not None
    shapes = call.outputs * 2
    e, v = kernel(replace(call, attrs=decompositions.EigAttrs(), outputs=shapes), x)
    return np.concatenate([e[..., None, :], v], axis=-2)


def _grad_packed(op: Operation, dy: Tensor) -> Any:
    """The gradient of the form with two outputs, of which the packed one is a concatenation."""
    e = decompositions.SELF_ADJOINT_EIG(op.inputs[0])[0]
    assert callable(decompositions.SELF_ADJOINT_EIG.grad)
    return decompositions.SELF_ADJOINT_EIG.grad(e.op, dy[..., 0, :], dy[..., 1:, :])


def _expand_packed(op: Operation, x: Tensor) -> Tensor:
    e, v = decompositions.SELF_ADJOINT_EIG(x)
    return CONCAT_V2([EXPAND_DIMS(e, np.int32(-2)), v], np.int32(-2))


_PACKED_EIGEN = [
    OpDef(
        name,
        inputs="input: T",
        outputs="output: T",
        types={"T": _CURRENT["SelfAdjointEigV2"].types["T"][:2]},
        doc="""The eigenvalues and eigenvectors of symmetric matrices, in one tensor.

        input: float32 or float64, shape (..., m, m), of which the lower triangle is read. output: (..., m + 1, m): a
        row of eigenvalues, ascending, and below it the eigenvectors as columns. Errors: a matrix is not square.""",
        infer=_infer_packed,
        host=_host_packed,
        expand=_expand_packed,
        grad=_grad_packed,
    )
    for name in ("SelfAdjointEig", "BatchSelfAdjointEig")
]

OPS: tuple[OpDef, ...] = (*_renamed(), _FIXED, *_ARRAY_HANDLES, *_PACKED_EIGEN)
