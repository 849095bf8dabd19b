"""A graph evaluated by host kernels alone: no passes, no session, no device.

The reference for tests of ops and gradients. `evaluate(fetches, feeds)` takes tensors (or None, IndexedSlices
and lists of them) and gives arrays. Variables take their values from `variables`, by operation; ops that write
give the new value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import HostCall, Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.tensor import Tensor

__all__ = ["evaluate"]

_KEYS = np.array([7, 11, 0, 0], np.uint32)  # the state of every random node


def evaluate(
    fetches: Any,
    feeds: Mapping[Tensor, Any] | None = None,
    variables: Mapping[Any, Any] | None = None,
) -> Any:
    """The values of `fetches`, in the same structure."""
    known = {(t.op, t.index): np.asarray(v, t.dtype.np) for t, v in (feeds or {}).items()}
    state = dict(variables or {})
    for op in _needed(fetches, known):
        _run(op, known, state)
    return _read(fetches, known)


def _tensors(fetches: Any) -> list[Tensor]:
    if fetches is None:
        return []
    if isinstance(fetches, IndexedSlices):
        return _tensors([fetches.values, fetches.indices, fetches.dense_shape])
    if isinstance(fetches, (list, tuple)):
        return [t for f in fetches for t in _tensors(f)]
    return [fetches]


def _needed(fetches: Any, known: Mapping[Any, Any]) -> list[Any]:
    """The operations to run, each after its inputs."""
    found: set[Any] = set()
    stack = [t for t in _tensors(fetches) if (t.op, t.index) not in known]
    while stack:
        op = stack.pop().op
        if op not in found:
            found.add(op)
            stack.extend(t for t in op.inputs if (t.op, t.index) not in known)
    return sorted(found, key=lambda op: op.id)


def _run(op: Any, known: dict[Any, Any], state: dict[Any, Any]) -> None:
    if op.opdef.kind is Kind.VARIABLE:
        known[op, 0] = state[op]
        return
    kernel = host_kernel(op.opdef)
    assert kernel is not None, f"{op.type} has no host kernel"
    inputs = [known[t.op, t.index] for t in op.inputs]
    for x in inputs:
        x.flags.writeable = False  # a kernel must not change its inputs
    result = kernel(HostCall(op.attrs, op.types, op.specs, op, rng=lambda: _KEYS), *inputs)
    values = result if isinstance(result, (tuple, list)) else (result,)
    if op.opdef.writes:
        for i, v in zip(op.opdef.writes, values, strict=True):
            source = op.inputs[i].op
            state[source] = known[source, 0] = np.asarray(v)
        values = values[:1]
    assert len(values) == len(op.outputs), f"{op.type}: {len(values)} values for {len(op.outputs)} outputs"
    for i, v in enumerate(values):
        known[op, i] = np.asarray(v)


def _read(fetches: Any, known: Mapping[Any, Any]) -> Any:
    if fetches is None:
        return None
    if isinstance(fetches, IndexedSlices):
        values, indices, shape = (_read(t, known) for t in (fetches.values, fetches.indices, fetches.dense_shape))
        dense = np.zeros(tuple(shape), values.dtype)
        np.add.at(dense, indices, values)
        return dense
    if isinstance(fetches, (list, tuple)):
        return [_read(f, known) for f in fetches]
    return known[fetches.op, fetches.index]
