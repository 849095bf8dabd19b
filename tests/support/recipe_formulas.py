"""Compares what a recipe answers for sizes that are formulas with what it answers for numbers."""

from __future__ import annotations

from tfnb.ir.kernelcall import F32, I32, KernelCall, KernelSite, Temp, TensorInfo
from tfnb.size_trace import SizeTrace
from tfnb.sizes import Size


def site_of(op, inputs, outputs, attrs, dtype, units=2):
    """Returns a site on a CPU, whose tensors have these shapes."""
    infos = [tuple(TensorInfo(dtype, tuple(shape)) for shape in shapes) for shapes in (inputs, outputs)]
    return KernelSite(op, *infos, attrs, {}, units, "cpu")


def answers(recipe, make_site, example, others):
    """Returns the answers for each of `others` by the formulas for `example`, beside those for the numbers themselves.

    `make_site` makes a site of sizes. Sizes to which the conditions of making it, as of the inference of its shapes,
    do not apply are left out. Returns None if the recipe needs conditions of its own.
    """
    trace = SizeTrace()
    site = make_site([trace.symbol(n) for n in example])
    if any([0 in t.shape for t in (*site.inputs, *site.outputs)]):  # noqa: C419 - each is a condition
        return None
    calls = trace.without_conditions(lambda: recipe(site))
    if calls is None:
        return None
    sizes = dict.fromkeys(n for n in _values(calls) if isinstance(n, Size))
    evaluate = trace.function(list(sizes))
    pairs = []
    for values in (example, *others):
        numbers = evaluate(values)
        if numbers is not None:
            found = dict(zip(sizes, numbers, strict=True))
            pairs.append((tuple(_with(found, c) for c in calls), recipe(make_site(values))))
    return pairs


def _values(calls):
    for c in calls:
        yield from (*c.groups, *c.local)
        yield c.nbytes
        yield from (a.value for a in c.args if isinstance(a, (I32, F32)))
        yield from (a.nbytes for a in c.args if isinstance(a, Temp))


def _with(found, c):
    def number(n):
        return found[n] if isinstance(n, Size) else n

    def argument(a):
        if isinstance(a, (I32, F32)):
            return type(a)(number(a.value))
        return Temp(a.key, number(a.nbytes)) if isinstance(a, Temp) else a

    groups, local = tuple(map(number, c.groups)), tuple(map(number, c.local))
    return KernelCall(
        c.file, c.entry, tuple(map(argument, c.args)), groups, local, c.defines, c.source, number(c.nbytes)
    )
