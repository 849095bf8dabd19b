"""Epilogues: a library kernel adds a bias and applies an activation when it stores its result.

The pattern is matched by the expressions, not by the names of ops: `result + vector` along the last dimension, then
max(x, 0), tanh or sigmoid. Invariant: the values in between have no other reader, and one kernel at most takes over the
work of a definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfnb.codegen.fusion.indexing import Indexing, index_vars
from tfnb.codegen.fusion.inline import bodies_of
from tfnb.codegen.fusion.values import (
    CallDef,
    CopyDef,
    Definition,
    Lowered,
    PointwiseDef,
    Value,
    View,
    loads_of,
)
from tfnb.codegen.whynot import WhyNot
from tfnb.ir.kernelcall import Epilogue
from tfnb.ir.scalar import Expr
from tfnb.sizes import same

__all__ = ["fuse_epilogues"]


def fuse_epilogues(lowered: Lowered) -> tuple[Lowered, list[WhyNot]]:
    """Moves biases and activations into the stores of the library kernels whose results they use.

    Returns the new definitions, and a reason for each library kernel that takes over no work.
    """
    readers = _readers(lowered.definitions)
    outputs = {v.value for v in lowered.outputs}
    call_at: dict[Definition, CallDef] = {}
    absorbed: set[Definition] = set()
    reasons: list[WhyNot] = []
    for call in lowered.definitions:
        if not isinstance(call, CallDef) or not call.epilogue or len(call.outs) != 1:
            continue
        fused_call, last = call, None
        while True:
            value_readers = readers.get(fused_call.outs[0], [])
            if fused_call.outs[0] in outputs or len(value_readers) != 1:
                reason = f"its result has {len(value_readers)} readers"
                break
            if value_readers[0] in absorbed or value_readers[0] in call_at:
                # x @ a + x @ b for one row: each product could be the bias of the other, but only one of them is.
                reason = "another kernel does the work of what follows"
                break
            extended = _fused(fused_call, value_readers[0])
            if isinstance(extended, str):
                reason = extended
                break
            absorbed.add(last or call)
            fused_call, last = extended, value_readers[0]
        if last is None:
            reasons.append(WhyNot("epilogue", call.label, reason))
        else:
            call_at[last] = fused_call  # the call moves to the position of the definition of its last input
    definitions = [call_at.get(d, d) for d in lowered.definitions if d not in absorbed]
    return replace(lowered, definitions=definitions), reasons


def _readers(roots: Sequence[Definition]) -> dict[Value, list[Definition]]:
    readers: dict[Value, list[Definition]] = {}
    for d in roots:
        if isinstance(d, CallDef):
            values = {v.value for v in d.ins}
        elif isinstance(d, CopyDef):
            values = {d.source.value}
        else:
            values = {x.value.value for b in bodies_of(d) for x in loads_of(b)}
        for v in values:
            readers.setdefault(v, []).append(d)
    return readers


def _fused(call: CallDef, reader: Definition) -> CallDef | str:
    """Returns the call that also does the work of its reader, or the reason why the call cannot do that work."""
    if not isinstance(reader, PointwiseDef) or len(reader.values) != 1:
        return "what follows is not elementwise"
    value = reader.values[0]
    if value.kind != "computed" or value.info.dtype is not call.outs[0].info.dtype or not reader.domain:
        return "what follows stores another type, or a variable"
    if not same(value.info.size, call.outs[0].info.size):
        return "what follows uses a part of it"
    epilogue = call.site.epilogue
    if epilogue.activation != "none":
        return "it has an activation already"
    activation, inner = _activation(reader.bodies[0])
    bias = _bias(inner, call.outs[0], reader.domain)
    if isinstance(bias, str):
        return bias
    if bias is not None and epilogue.bias is not None:
        return "it has a bias already"
    bias = bias or call.bias
    info = None if bias is None else bias.info
    site = replace(call.site, epilogue=Epilogue(info, activation))
    return replace(
        call,
        position=reader.position,
        nodes=(*call.nodes, *reader.nodes),
        values=(value,),
        outs=(value,),
        site=site,
        bias=bias,
    )


def _activation(e: Expr) -> tuple[str, Expr]:
    if e.op in ("tanh", "sigmoid"):
        return e.op, e.args[0]
    if e.op == "max" and _is_zero(e.args[1]):
        return "relu", e.args[0]
    if e.op == "where" and _is_zero(e.args[2]):
        condition = e.args[0]
        if condition.op in ("gt", "ge") and condition.args[0] is e.args[1] and _is_zero(condition.args[1]):
            return "relu", e.args[1]
    return "none", e


def _is_zero(e: Expr) -> bool:
    return e.op == "const" and e.value == 0


def _bias(e: Expr, result: Value, domain: tuple[int, ...]) -> View | None | str:
    """Returns the vector that `e` adds to the result along its last dimension; None if `e` is the result itself.

    If `e` is neither, the returned text is the reason why no bias can be fused.
    """
    ix = Indexing({f"i{d}": n for d, n in enumerate(domain)})
    idx = index_vars(len(domain))
    result_position = ix.linear(idx, domain)

    def is_result(x: Expr) -> bool:
        return x.op == "load" and x.value.value is result and ix.linear(x.args, x.value.shape) is result_position

    if is_result(e):
        return None
    if e.op != "add" or domain[-1:] != result.info.shape[-1:]:
        return "what follows is more than a bias and an activation"
    a, b = e.args if is_result(e.args[0]) else e.args[::-1]
    if not is_result(a) or b.op != "load" or b.value.value is result:
        return "what follows is more than a bias and an activation"
    if b.value.value.info.size != domain[-1] or ix.linear(b.args, b.value.shape) is not idx[-1]:
        return "what is added is no vector along the last dimension"
    return View(b.value.value, (domain[-1],))
