"""compile_cluster: the way from a cluster to a program, stage by stage (white paper, sections 3.1 and 5).

Sizes may be formulas throughout, see `tfnb/sizes.py`. Invariant: the program does what its nodes do in their order;
equal clusters and shapes give equal programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tfnb.caches import forget_results
from tfnb.codegen.assemble import Assembler
from tfnb.codegen.fusion.bounds import checks_of
from tfnb.codegen.fusion.epilogue import fuse_epilogues
from tfnb.codegen.fusion.group import Cyclic, Group, group
from tfnb.codegen.fusion.inline import cost, inline
from tfnb.codegen.fusion.lower import lower
from tfnb.codegen.fusion.specialize import Specialized, specialize
from tfnb.codegen.fusion.values import Lowered, size_of
from tfnb.codegen.initial import initial_program
from tfnb.codegen.modules import KernelTable
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.program_class import ProgramClass
from tfnb.codegen.reads import reads_of
from tfnb.codegen.whynot import WhyNot
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge
from tfnb.settings import Settings
from tfnb.size_trace import SizesAreEqual, SizeTrace

__all__ = ["compile_cluster"]


def compile_cluster(
    cluster: Cluster,
    inputs: Sequence[TensorInfo],
    shape_values: Mapping[Edge, np.ndarray],
    variables: Mapping[int, TensorInfo | None],
    facts: DeviceFacts,
    settings: Settings,
    kernels: KernelTable | None = None,
    trace: SizeTrace | None = None,
) -> ProgramClass:
    """Compiles `cluster` for inputs of these dtypes and shapes, which may have symbols of `trace`.

    Kernels that are in `kernels` already are used from there.

    `shape_values` gives the value of each edge in `cluster.shape_values`, and `variables` the dtype and shape of each
    variable, or None for a variable that is not initialised. Raises `ShapeError`, `InvalidArgumentError`,
    `UnimplementedError` or `FailedPreconditionError` with the node to blame, and `SizesAreEqual` if the compilation
    has to be repeated.
    """
    if settings.optimize and (initial := initial_program(cluster, facts)) is not None:
        return ProgramClass(replace(initial, steps=()), initial.steps, (), trace or SizeTrace())
    try:
        specialized = specialize(cluster, inputs, shape_values, variables, facts, settings.optimize)
        if trace is not None and trace.equal:
            raise SizesAreEqual
        checks = checks_of(cluster, specialized)
        lowered, groups, reasons = _scheduled(cluster, specialized, facts, settings)
        trace = trace or SizeTrace()
        assembler = Assembler(cluster, specialized, lowered, facts, kernels or KernelTable(), trace, settings.optimize)
        for g in groups:
            assembler.add(g)
        program, steps, blocks = assembler.program(tuple(inputs), tuple(reasons))
        variable_uses = tuple(replace(u, reads=True) if u.node in specialized.unset else u for u in program.variables)
        program = replace(program, variables=variable_uses, reads=reads_of(cluster, specialized), checks=checks)
        return ProgramClass(program, steps, blocks, trace)
    finally:
        # These results belong to expressions over values of this compilation, which no other compilation uses.
        for function in (size_of, cost):
            forget_results(function)


def _scheduled(
    cluster: Cluster, specialized: Specialized, facts: DeviceFacts, settings: Settings
) -> tuple[Lowered, list[Group], list[WhyNot]]:
    """Returns the lowered cluster, its groups, and the reasons for missed fusions.

    If the reads and writes of variables wait for each other, the cluster is lowered again with copies of variables.
    """
    for snapshots in (False, True):
        lowered = lower(cluster, specialized, facts, snapshots, settings.optimize)
        reasons: list[WhyNot] = []
        if settings.optimize:
            lowered, reasons = fuse_epilogues(lowered)
        roots, inline_reasons = inline(lowered, settings.optimize)
        try:
            groups, group_reasons = group(roots, lowered, facts, settings.optimize)
        except Cyclic:
            if snapshots:
                raise
            continue
        return lowered, groups, [*reasons, *inline_reasons, *group_reasons]
    raise AssertionError("unreachable")
