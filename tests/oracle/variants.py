"""Generated cases: the hand-written ones, varied.

A variant changes sizes (0 and 1 among them, the same new size wherever the old one stood), values, dtypes, broadcasting,
attributes or indices. It need not be valid: TensorFlow says whether it is, and tfnb must then say the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from belonging import ALWAYS, together
from building import CATALOG
from cases import Case, op_cases
from hypothesis import assume
from hypothesis import strategies as st
from tensorflow.python.framework import dtypes, op_def_registry

from tfnb.types import as_dtype

__all__ = ["BASES", "variants"]

SIZES = (0, 1, 1, 2, 3, 4, 5, 7)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 2.5, -3.5)
BASES = op_cases()


def _map_arrays(case: Case, change: Any) -> Case:
    """The case with `change(argument number, array)` for every input array."""
    inputs = tuple(
        [change(i, np.asarray(y)) for y in x] if isinstance(x, list) else change(i, np.asarray(x))
        for i, x in enumerate(case.inputs)
    )
    return replace(case, inputs=inputs)


def _is_permutation(a: np.ndarray) -> bool:
    return a.ndim == 1 and a.dtype.kind == "i" and a.size > 1 and sorted(a.tolist()) == list(range(a.size))


def _distinct_rows(a: np.ndarray) -> bool:
    wide = a.ndim == 2 and a.dtype in (np.int32, np.int64) and a.size and a.min() >= 0
    return bool(wide and np.prod(a.max(axis=0) + 1) < 10000 and len(np.unique(a, axis=0)) == len(a) > 1)


def _is_sorted(a: np.ndarray) -> bool:
    rows = a.tolist()
    return a.ndim in (1, 2) and a.dtype.kind in "iu" and len(a) > 1 and rows == sorted(rows)


def _floats(rng: Any, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    finite = a[np.isfinite(a)] if a.size else np.zeros(0)
    low, high = (finite.min(), finite.max()) if finite.size > 1 else (0.3, 1.7)
    found = np.asarray(rng.uniform(float(low), max(float(high), float(low) + 1e-3), shape))
    return found.astype(a.dtype)


def _rows(rng: Any, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Distinct rows within the limits of those of `a`; in order where those are."""
    limits = a.max(axis=0) + 1
    limits = np.resize(limits, shape[1])
    flat = rng.permutation(int(np.prod(limits)))[: shape[0]]
    found = np.stack(np.unravel_index(np.sort(flat) if _is_sorted(a) else flat, limits), axis=1)
    return found.astype(a.dtype)


def resample(rng: Any, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Other values of the kind of `a`: its range of floats, a permutation, sorted or distinct indices, ..."""
    if a.dtype.kind == "f" or a.dtype.name == "bfloat16":
        return _floats(rng, a, shape)
    if a.dtype.kind == "c":
        return (_floats(rng, a.real, shape) + 1j * _floats(rng, a.imag, shape)).astype(a.dtype)
    if _is_permutation(a) and len(shape) == 1:
        return rng.permutation(shape[0]).astype(a.dtype)
    if _distinct_rows(a) and len(shape) == 2 and 0 < shape[1] <= 4:
        found = _rows(rng, a, shape)
        return found if found.shape == shape else np.resize(found, shape)
    if not a.size:
        return np.zeros(shape, a.dtype) if a.dtype != object else np.full(shape, b"", object)
    found = rng.choice(a.reshape(-1), shape)
    found = np.asarray(found, a.dtype)  # keeps the metadata of quantised dtypes
    return np.sort(found) if _is_sorted(a) and found.ndim == 1 else found


def _renamed(value: Any, names: dict[int, int]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple)):
        return value
    if isinstance(value, int):
        return names.get(value, value)
    return type(value)(_renamed(v, names) for v in value)


def resized(draw: Any, case: Case) -> Case:
    """Other sizes: every size of the case becomes another, wherever it stands."""
    found = sorted({n for a in case.arrays() for n in a.shape})
    names = {n: draw(st.sampled_from((*SIZES, n, n))) for n in found}
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    deep = draw(st.booleans())  # also the sizes that stand as values
    shapes = CATALOG[case.op].shape_inputs

    def change(i: int, a: np.ndarray) -> np.ndarray:
        shape = tuple(names[n] for n in a.shape)
        if i in shapes or (deep and a.dtype.kind == "i" and a.ndim == 1 and _shape_name(case, i)):
            values = [names.get(int(n), int(n)) for n in a.reshape(-1)] if deep else a
            return np.asarray(values, a.dtype).reshape(a.shape)
        return a if shape == a.shape and a.dtype.kind == "i" else resample(rng, a, shape)

    changed = _map_arrays(case, change)
    return replace(changed, attrs=_renamed_attrs(case.attrs, names)) if deep else changed


def _renamed_attrs(attrs: dict[str, Any], names: dict[int, int]) -> dict[str, Any]:
    sizes = ("num", "num_split", "num_segments", "num_partitions", "N")
    return {k: _renamed(v, names) if k in sizes else v for k, v in attrs.items()}


def _shape_name(case: Case, i: int) -> bool:
    name = CATALOG[case.op].input_args[i].name
    return any(part in name for part in ("shape", "size", "sizes", "dims"))


def revalued(draw: Any, case: Case) -> Case:
    """Other values of the same kind; in elementwise ops also special ones."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    special = CATALOG[case.op].scalar is not None and draw(st.booleans())

    def change(i: int, a: np.ndarray) -> np.ndarray:
        if a.dtype.kind not in "fc" and not special:
            return a
        found = resample(rng, a, a.shape)
        if special and a.dtype.kind == "f":
            odd = rng.random(a.shape) < 0.5
            found = np.where(odd, rng.choice(SPECIAL, a.shape), found).astype(a.dtype)
        if special and a.dtype.kind in "iu" and not a.dtype.metadata:
            info = np.iinfo(a.dtype)
            odd = rng.random(a.shape) < 0.3
            found = np.where(odd, rng.choice([info.min, info.max, 0, 1], a.shape), found).astype(a.dtype)
        return found

    found = _map_arrays(case, change)
    return replace(found, grad=False) if special else found


THEIR_DEFS = {name: op_def_registry.get(name) for name in CATALOG}


def _allowed(name: str, variable: str) -> list[Any]:
    """The dtypes that both sides allow."""
    theirs = next((a for a in THEIR_DEFS[name].attr if a.name == variable), None)
    ours = CATALOG[name].types.get(variable, ())
    if theirs is None or not ours:
        return []
    listed = [dtypes.as_dtype(t).name for t in theirs.allowed_values.list.type]
    return [t for t in ours if (not listed or t.name in listed) and t.name[0] != "q"]


def _cast(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if "O" in (a.dtype.kind, dtype.kind) or a.dtype == dtype:
        return a
    if dtype.kind == "u" and a.dtype.kind in "if":
        a = np.abs(a)
    if a.dtype.kind == "c" and dtype.kind != "c":
        a = a.real
    if dtype.kind == "i" and a.dtype.kind == "f":
        a = np.round(np.nan_to_num(a, posinf=9, neginf=-9) * 3)
    return np.asarray(a, dtype)


def retyped(draw: Any, case: Case) -> Case:
    """Other dtypes, of those both sides allow."""
    op = CATALOG[case.op]
    free = [v for v in sorted(op.types) if len(_allowed(case.op, v)) > 1]
    if not free:
        return case
    variable = draw(st.sampled_from(free))
    dtype = as_dtype(draw(st.sampled_from(_allowed(case.op, variable)))).np
    if dtype.kind == "O":
        return case

    def change(i: int, a: np.ndarray) -> np.ndarray:
        arg = op.input_args[i]
        return _cast(a, dtype) if arg.type == variable and not arg.type_list else a

    attrs = {k: np.dtype(dtype).name if k == variable else v for k, v in case.attrs.items()}
    return replace(_map_arrays(case, change), attrs=attrs)


def broadcast(draw: Any, case: Case) -> Case:
    """Some dimensions of one input cut off or made 1."""
    if CATALOG[case.op].scalar is None or len(case.inputs) < 2:
        return resized(draw, case)
    which = draw(st.integers(0, len(case.inputs) - 1))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    cut = draw(st.integers(0, 2))

    def change(i: int, a: np.ndarray) -> np.ndarray:
        shape = tuple(1 if rng.random() < 0.4 else n for n in a.shape[cut:])
        return resample(rng, a, shape) if i == which else a

    return _map_arrays(case, change)


def _attr_value(draw: Any, attr: Any, value: Any) -> Any:
    """Another value of an attribute, or the same."""
    if attr.type == "bool":
        return draw(st.booleans())
    if attr.type == "string" and attr.allowed_values.list.s:
        return draw(st.sampled_from([s.decode() for s in attr.allowed_values.list.s]))
    if attr.type == "int" and isinstance(value, int):
        return value + draw(st.integers(-1, 2))
    if attr.type == "float" and isinstance(value, (int, float)):
        return value * draw(st.sampled_from((0.5, 1.0, 1.5, -1.0)))
    if attr.type == "list(int)" and isinstance(value, (list, tuple)) and value:
        k = draw(st.integers(0, len(value) - 1))
        step = draw(st.integers(-1, 1))
        return [v + step if i == k else v for i, v in enumerate(value)]
    return value


def reset(draw: Any, case: Case) -> Case:
    """Another value of one attribute."""
    defaults = CATALOG[case.op].attrs.__dataclass_fields__
    free = [
        a
        for a in THEIR_DEFS[case.op].attr
        if a.name in defaults and a.type in ("bool", "string", "int", "float", "list(int)")
    ]
    if not free:
        return revalued(draw, case)
    attr = draw(st.sampled_from(sorted(free, key=lambda a: a.name)))
    value = case.attrs.get(attr.name, defaults[attr.name].default)
    found = _attr_value(draw, attr, value)
    if attr.type == "list(int)" and not any(found or (1,)):
        return case
    return case if found is value else replace(case, attrs={**case.attrs, attr.name: found})


def shifted(draw: Any, case: Case) -> Case:
    """One number of an integer input is another: an axis, an index, a size."""
    inputs = case.arrays()
    free = [i for i, a in enumerate(inputs) if a.dtype in (np.int32, np.int64) and a.size]
    if not free:
        return revalued(draw, case)
    which = draw(st.sampled_from(free))
    place = draw(st.integers(0, inputs[which].size - 1))
    step = draw(st.sampled_from((-2, -1, 1, 2)))
    count = iter(range(len(inputs)))

    def change(i: int, a: np.ndarray) -> np.ndarray:
        if next(count) != which:
            return a
        found = a.copy()
        found.flat[place] += step
        return found

    return _map_arrays(case, change)


MATRICES = (
    "MatrixInverse MatrixDeterminant LogMatrixDeterminant Cholesky CholeskyGrad MatrixSolve MatrixTriangularSolve"
    " MatrixSolveLs Qr Svd SelfAdjointEigV2"
).split()


def _matrix(rng: Any, name: str, *shape: int) -> np.ndarray:
    """A well-conditioned matrix of the kind the op wants."""
    n = shape[-1]
    if name in ("MatrixSolveLs", "Qr", "Svd"):
        scale = np.arange(1.0, n + 1)  # singular values apart from each other
        return rng.uniform(-1, 1, shape) + 2 * scale * np.eye(shape[-2], n)
    a = 0.3 * rng.uniform(-1, 1, shape) + np.diag(np.arange(2.0, n + 2))
    if name == "Cholesky":
        return a @ a.swapaxes(-1, -2) + np.eye(n)
    if name == "SelfAdjointEigV2":
        return (a + a.swapaxes(-1, -2)) / 2
    return np.tril(a) if name == "CholeskyGrad" else a


@st.composite
def matrices(draw: Any, name: str) -> Case:
    """A case of linear algebra: other sizes of well-conditioned matrices."""
    case = draw(st.sampled_from(BASES[name]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    batch = tuple(draw(st.lists(st.sampled_from((0, 1, 2, 3)), max_size=2)))
    n, k = draw(st.sampled_from((1, 2, 3, 5))), draw(st.sampled_from((0, 1, 3)))
    m = draw(st.sampled_from((1, 2, 4))) if name in ("Qr", "Svd") else n + 2 * (name == "MatrixSolveLs")
    dtype = draw(st.sampled_from((np.float32, np.float64)))
    inputs = [_matrix(rng, name, *batch, m, n).astype(dtype)]
    if len(case.inputs) > 1:
        inputs.append(rng.uniform(-1, 1, (*batch, m, n if name == "CholeskyGrad" else k)).astype(dtype))
    made = replace(case, inputs=(*inputs, *case.inputs[2:]))
    return reset(draw, made) if case.attrs else made


def _crashes(case: Case) -> bool:
    """Does TensorFlow end the process?"""
    if "RFFT" in case.op:
        x, lengths = (np.asarray(a) for a in case.inputs)
        return bool(not x.size or lengths.ndim != 1 or x.ndim < lengths.size or (lengths < 1).any()) or any(
            have < want // 2 + 1 for have, want in zip(x.shape[-lengths.size :], lengths, strict=True)
        )
    if case.op.startswith("FakeQuantWithMinMaxVarsPerChannel"):
        return not case.arrays()[0].ndim
    if case.op.endswith(("BackpropInput", "BackpropInputV2")):
        return bool((np.asarray(case.inputs[0]) < 0).any()) and case.arrays()[0].ndim == 1
    if case.op == "SetSize":  # it writes where unchecked indices say
        indices, _, shape = case.arrays()
        return (
            indices.ndim != 2
            or shape.shape != indices.shape[1:]
            or bool((indices < 0).any() or (indices >= shape).any())
        )
    if case.op == "CTCLoss":
        return not np.asarray(case.inputs[0]).shape[-1]
    if case.op == "UnicodeDecodeWithOffsets":
        return str(case.attrs.get("Tsplits")) != "int64"
    return case.op == "Dequantize" and (case.attrs.get("axis", -1) != -1 or not case.arrays()[0].size)


CHANGES = (resized, resized, revalued, retyped, broadcast, reset, shifted)


@st.composite
def variants(draw: Any, name: str) -> Case:
    """Cases of the op `name`: one of the written ones after one to three changes."""
    if name in MATRICES:
        return draw(matrices(name))
    case = draw(st.sampled_from(BASES[name]))
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3)):
        case = change(draw, case)
    if name in ("LowerBound", "UpperBound"):
        rows, wanted = case.inputs
        case = replace(case, inputs=(np.sort(rows, -1), wanted))
    case = case.widened() if draw(st.booleans()) and not case.float32_only else case
    if name in ALWAYS or draw(st.integers(0, 9)) != 7:
        case = together(case, np.random.default_rng(draw(st.integers(0, 999))))
    assume(not _crashes(case) and case.attrs.get("num") != 0)
    return case
