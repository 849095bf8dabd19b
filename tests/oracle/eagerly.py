"""One case on both sides, TensorFlow's at once (eagerly), so that each may be refused by itself."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from against import RENAMED, _is_float, _weights
from belonging import FORWARD
from building import CATALOG, backprop, build
from cases import Case
from evaluate import evaluate

from tfnb.errors import OpError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE
from tfnb.types import Shape

__all__ = ["differences"]

PLAIN = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32}
KINDS = {t.name: t for t in PLAIN}
TOLERANCE = {
    "float16": (5e-3, 5e-3),
    "bfloat16": (4e-2, 4e-2),
    "float32": (2e-5, 4e-6),
    "float64": (1e-9, 1e-11),
    "complex64": (5e-5, 1e-5),
    "complex128": (1e-9, 1e-11),
}

SINGLE = (  # computed in float32
    "CTCBeamSearchDecoder",
    "CTCLoss",
    "CropAndResize",
    "CropAndResizeGradImage",
    "ResizeBilinear",
    "ResizeBilinearGrad",
)
DIFFERENTIATED = {  # how many of the outputs, where TensorFlow passes nothing on from the others
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), 1),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), 3),
}
UP_TO_SIGN = ("Qr", "SelfAdjointEigV2", "Svd")  # either sign of a vector is right


class Outcome(NamedTuple):
    """The values and gradients (None: has none), or the error."""

    values: list[Any] | None
    grads: list[Any] | None
    error: BaseException | None = None


def _dys(case: Case, values: list[Any]) -> list[Any]:
    """What flows back from each output: None where it is no float, or TensorFlow passes nothing on."""
    count = DIFFERENTIATED.get(case.op, len(values))
    return [_weights(v) if _is_float(v) and k < count else None for k, v in enumerate(values)]


def _names(case: Case) -> list[str]:
    """The argument that each flat input belongs to."""
    args = zip(CATALOG[case.op].input_args, case.inputs, strict=True)
    return [a.name for a, x in args for _ in (x if isinstance(x, list) else [x])]


def ours(case: Case, gradients: bool) -> Outcome:
    """tfnb's, by the host kernels.

    A window that is too large is refused while a graph is built, by TensorFlow too. Eagerly it looks at no shapes before it
    runs an operation, so the run is compared with one here whose shapes are unknown.
    """
    try:
        try:
            built = build(case)
        except ShapeError as e:
            if "Negative dimension size" not in str(e) or case.op in FORWARD:
                raise
            built = build(case, "ranks")
        values = evaluate(built.outputs, built.feeds())
    except Exception as e:
        return Outcome(None, None, e)
    grad = CATALOG[case.op].grad
    floats = [i for i, x in enumerate(built.arrays) if _is_float(x)]
    weights = _dys(case, values)
    if not gradients or grad in (None, NOT_DIFFERENTIABLE, GRADIENT_MISSING) or not floats:
        return Outcome(values, None)
    if all(w is None for w in weights):
        return Outcome(values, None)
    dys = [None if w is None else built.op.graph.constant(w) for w in weights]
    try:
        found = evaluate(backprop(built.outputs, dys, [built.inputs[i] for i in floats]), built.feeds())
    except Exception as e:
        return Outcome(values, None, e)
    pairs = zip(floats, found, strict=True)
    grads = {i: np.zeros_like(built.arrays[i]) if g is None else g for i, g in pairs}
    if case.op.startswith("FusedBatchNormGrad") and case.attrs.get("is_training", True):
        _through_moments(case, grads)
    return Outcome(values, list(grads.values()))


def _through_moments(case: Case, grads: dict[int, Any]) -> None:
    """In training TensorFlow takes the mean and variance for functions of x, which has their gradients too."""
    x, mean = case.arrays()[1], case.arrays()[3]
    if 1 not in grads or 3 not in grads:
        return
    first = case.attrs.get("data_format") == "NCHW"
    like = (-1, 1, 1) if first else (-1,)
    n = max(x.size // max(mean.size, 1), 1)
    by_mean, by_variance = (grads[i].reshape(like) for i in (3, 4))
    away = x - x.mean((0, 2, 3) if first else (0, 1, 2)).reshape(like)
    grads[1] = (grads[1] + by_mean / n + 2 / n * away * by_variance).astype(x.dtype)
    grads[3], grads[4] = np.zeros_like(grads[3]), np.zeros_like(grads[4])


def _tensor(x: Any) -> Any:
    kind = (np.asarray(x).dtype.metadata or {}).get("quantized")
    return tf.bitcast(tf.constant(np.asarray(x)), KINDS[kind]) if kind else tf.constant(x)


def _array(t: Any) -> np.ndarray:
    t = tf.bitcast(t, PLAIN[t.dtype]) if t.dtype in PLAIN else t
    return np.asarray(t.numpy(), object) if t.dtype == tf.string else np.asarray(t.numpy())


def _call(case: Case, inputs: list[Any]) -> list[Any]:
    call = getattr(tf.raw_ops, case.op)
    names = [a.name for a in CATALOG[case.op].input_args]
    known = inspect.signature(call).parameters
    attrs = {k: list(v.sizes) if isinstance(v, Shape) else v for k, v in case.attrs.items()}
    given = dict(zip(names, inputs, strict=True)) | attrs
    outputs = call(**{k if k in known else RENAMED[k]: v for k, v in given.items()})
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return [t for o in outputs for t in (o if isinstance(o, list) else [o])]


def theirs(case: Case, gradients: bool) -> Outcome:
    """TensorFlow's."""
    try:
        inputs = [[_tensor(y) for y in x] if isinstance(x, list) else _tensor(x) for x in case.inputs]
        flat = [t for x in inputs for t in (x if isinstance(x, list) else [x])]
        floats = [t for t in flat if _is_float(np.zeros(0, t.dtype.as_numpy_dtype))]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            outputs = _call(case, inputs)
        values = [_array(t) for t in outputs]
    except Exception as e:
        return Outcome(None, None, e)
    pairs = [(t, w) for t, w in zip(outputs, _dys(case, values), strict=True) if w is not None]
    if not gradients or not floats or not pairs:
        return Outcome(values, None)
    try:
        dys = [tf.constant(w) for _, w in pairs]
        found = tape.gradient([t for t, _ in pairs], floats, output_gradients=dys)
        if all(g is None for g in found):  # TensorFlow has no gradient
            return Outcome(values, None)
        zipped = zip(floats, found, strict=True)
        return Outcome(
            values,
            [_array(tf.zeros_like(x) if g is None else tf.convert_to_tensor(g)) for x, g in zipped],
        )
    except Exception as e:
        return Outcome(values, None, e)


def unequal(case: Case, a: Any, b: Any) -> str | None:
    """How two arrays differ beyond rounding, or None."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {a.shape}, TensorFlow's {b.shape}"
    if a.dtype != b.dtype:
        return f"{a.dtype}, TensorFlow's {b.dtype}"
    if a.dtype.name not in TOLERANCE:
        return None if np.array_equal(a, b) else f"{a!r}, TensorFlow's {b!r}"
    if case.op in UP_TO_SIGN:
        a, b = np.abs(a), np.abs(b)
    rtol, atol = TOLERANCE[a.dtype.name]
    if case.op in SINGLE:
        rtol, atol = max(rtol, 2e-5), max(atol, 2e-6)
    if a.dtype in (np.float32, np.complex64):
        rtol, atol = max(rtol, case.rtol), max(atol, case.atol)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, float(finite.max())) if finite.size and np.ptp(finite) < 1e6 else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = np.isclose(a, b, rtol=rtol, atol=atol * scale, equal_nan=True)
    return None if same.all() else f"{a[~same][:5]}, TensorFlow's {b[~same][:5]}"


def differences(case: Case, gradients: bool = True) -> list[tuple[str, str]]:
    """(kind, what) of each difference: "accepted" and "refused" (by us alone), "value", "gradient"; and "fault", an
    error that is none of ours.

    Gradients are compared where the values that they flow back from agree.
    """
    gradients = gradients and case.grad and case.op not in UP_TO_SIGN
    mine, other = ours(case, gradients), theirs(case, gradients)
    if mine.values is None or other.values is None:
        if mine.error is not None and not isinstance(mine.error, OpError):
            return [("fault", f"{type(mine.error).__name__}: {mine.error}")]
        if mine.values is None and other.values is None:
            return []
        if mine.values is None:
            return [("refused", f"{type(mine.error).__name__}: {mine.error}")]
        absent = isinstance(other.error, (tf.errors.NotFoundError, tf.errors.UnimplementedError))
        return [] if absent else [("accepted", str(other.error)[:300])]
    if len(mine.values) != len(other.values):
        return [("value", f"{len(mine.values)} outputs, TensorFlow has {len(other.values)}")]
    pairs = enumerate(zip(mine.values, other.values, strict=True))
    unlike = {k: what for k, (a, b) in pairs if (what := unequal(case, a, b))}
    found = [("value", f"output {k}: {what}") for k, what in unlike.items()]
    if other.grads is None or any(k < DIFFERENTIATED.get(case.op, k + 1) for k in unlike):
        return found
    if mine.error is not None:
        return [*found, ("gradient", f"{type(mine.error).__name__}: {mine.error}")]
    names = [n for n, x in zip(_names(case), case.arrays(), strict=True) if _is_float(x)]
    triples = zip(names, mine.grads or [], other.grads, strict=False)
    found += [("gradient", f"of {n}: {what}") for n, a, b in triples if (what := unequal(case, a, b))]
    return found
