"""One comparison with TensorFlow: values and gradients of cases of one op, all in one graph of theirs."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from building import CATALOG, backprop, build_in
from cases import Case
from differences import listed
from evaluate import evaluate

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

RENAMED = {  # TensorFlow's Python names of arguments that its graphs call otherwise
    "reduction_indices": "axis",
    "dim": "axis",
    "split_dim": "axis",
    "squeeze_dims": "axis",
    "t": "x",
    "e": "y",
    "input": "condition",
}
REFUSED = "a gradient for which the graph cannot be made"
REPLACED = {"MatrixExponential": tensorflow.linalg.expm}  # ops that TensorFlow's new graphs may not have


def _weights(value):
    return np.random.default_rng(3).uniform(0.5, 1.5, np.shape(value)).astype(np.asarray(value).dtype)


def _is_float(x):
    return np.asarray(x).dtype in (np.float32, np.float64, np.complex64)


def _differentiable(case):
    grad = CATALOG[case.op].grad
    return grad not in (None, NOT_DIFFERENTIABLE, GRADIENT_MISSING)


def _theirs(case):
    """(outputs, gradients by the float inputs) of TensorFlow, as tensors; gradients of the outputs that are
    floats.
    """
    opdef = CATALOG[case.op]
    inputs = [[tf1.constant(y) for y in x] if isinstance(x, list) else tf1.constant(x) for x in case.inputs]
    call = REPLACED.get(case.op) or getattr(tensorflow.raw_ops, case.op)
    given = dict(zip([a.name for a in opdef.input_args], inputs, strict=True)) | case.attrs
    known = inspect.signature(call).parameters
    outputs = call(**{k if k in known else RENAMED[k]: v for k, v in given.items()})
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    outputs = [t for o in outputs for t in (o if isinstance(o, list) else [o])]
    return [t for x in inputs for t in (x if isinstance(x, list) else [x])], outputs


def _their_gradients(inputs, outputs, weights):
    floats = [t for t in inputs if t.dtype in (tf1.float32, tf1.float64, tf1.complex64)]
    pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if w is not None]
    if not floats or not pairs:
        return []
    try:
        found = tf1.gradients([y for y, _ in pairs], floats, [w for _, w in pairs])
    except (LookupError, NotImplementedError, ValueError):  # TensorFlow has no gradient, or none for these shapes
        return None
    return [tf1.zeros_like(x) if g is None else tf1.convert_to_tensor(g) for x, g in zip(floats, found, strict=True)]


def _ours(case):
    built = build_in(GraphBuilder(), case)
    values = evaluate(built.outputs, built.feeds())
    weights = [_weights(v) if _is_float(v) else None for v in values]
    if not _differentiable(case):
        return values, weights, None
    dys = [None if w is None else built.op.graph.constant(w) for w in weights]
    floats = [i for i, x in enumerate(built.arrays) if _is_float(x)]
    if not floats or all(w is None for w in weights):
        return values, weights, []
    try:
        grads = backprop(built.outputs, dys, [built.inputs[i] for i in floats])
    except NotFoundError:  # PreventGradient
        return values, weights, None
    except InvalidArgumentError:
        return values, weights, REFUSED
    found = evaluate(grads, built.feeds())
    return (
        values,
        weights,
        [np.zeros_like(built.arrays[i]) if g is None else g for i, g in zip(floats, found, strict=True)],
    )


def _close(case, ours, theirs, what):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    theirs = theirs.astype(object) if theirs.dtype.kind == "S" else theirs  # a scalar string
    assert ours.shape == theirs.shape, f"{case.id}, {what}: shape {ours.shape}, TensorFlow's {theirs.shape}"
    assert ours.dtype == theirs.dtype, f"{case.id}, {what}: {ours.dtype}, TensorFlow's {theirs.dtype}"
    if ours.dtype.kind in "cfV" or ours.dtype.name == "bfloat16":
        wide = ours.dtype == np.float64
        rtol, atol = (1e-9, 1e-12) if wide else (max(case.rtol, 2e-5), max(case.atol, 2e-6))
        exact = np.complex128 if ours.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            ours.astype(exact),
            theirs.astype(exact),
            rtol=rtol,
            atol=atol,
            err_msg=f"{case.id}, {what}",
        )
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{case.id}, {what}")


def check(cases: list[Case]) -> None:
    """Values equal, and gradients wherever both sides have them."""
    mine, fetches = [], []
    with tf1.Graph().as_default(), tf1.Session() as session:
        for case in cases:
            values, weights, grads = _ours(case)
            inputs, outputs = _theirs(case)
            found = None if grads is None else _their_gradients(inputs, outputs, weights)
            assert grads is not REFUSED or found is None, f"{case.id}: the gradient is refused here alone"
            mine.append((case, values, grads if found is not None else None))
            fetches.append((outputs, found or []))
        results = session.run(fetches)
    for (case, values, grads), (their_values, their_grads) in zip(mine, results, strict=True):
        for k, (a, b) in enumerate(zip(values, their_values, strict=True)):
            _close(case, a, b, f"output {k}")
        for k, (a, b) in enumerate(zip(grads or [], their_grads, strict=True)):
            what = f"gradient of float input {k}"
            if listed(case, "gradient", what) is None:
                _close(case, a, b, what)
