"""Program classes: one compiled program for all shapes of a class (OSDI'16, section 3.3: specialisation to shapes).

The sizes in the program of a class are formulas. For the shapes of a run they are evaluated, the recipes of library
kernels are asked for their launches, and the memory plan is made. Invariant: the program for some shapes is the one
that a compilation for these shapes alone would give, so no result depends on which shapes came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfnb.codegen.memory import NO_BLOCK, Block, plan_arena
from tfnb.codegen.program import Copy, Launch, Module, Program, Slot, Step, VariableUse
from tfnb.errors import InternalError, OpError
from tfnb.ir.bounds import Bound, Check
from tfnb.ir.kernelcall import F32, I32, BiasIn, Epilogue, In, KernelCall, KernelSite, Out, Temp, TensorInfo
from tfnb.ir.step_graph.graph import Node
from tfnb.sizes import Size, SizeTrace
from tfnb.types import DType

__all__ = ["Call", "Chain", "Choice", "ClassStep", "ProgramClass"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """The launches of library kernels for `node`, for which `recipe` is asked when sizes are numbers.

    `ins`, `outs` and `bias` are the memory of the operands.
    """

    node: Node
    nodes: tuple[int, ...]
    label: str
    recipe: Callable[[KernelSite], Sequence[KernelCall]]
    site: KernelSite
    ins: tuple[Slot, ...]
    outs: tuple[Slot, ...]
    bias: Slot | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Two ways of computing the same values: `launch` runs, or the steps `otherwise` if the size `when` is 0."""

    when: int
    launch: Launch
    otherwise: tuple[ClassStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Small kernels that follow each other: `whole` runs instead of `parts` if each part has a single work-item."""

    whole: Launch
    parts: tuple[ClassStep, ...]


ClassStep = Launch | Copy | Call | Choice | Chain


class ProgramClass:
    """The program of a cluster for all shapes that fulfil the conditions of `trace`.

    `steps` are those of the class, and `program` has everything else. Slots of the arena have the numbers of their
    `blocks` instead of offsets, and each block lives from its first to its last step.
    """

    def __init__(self, program: Program, steps: Sequence[ClassStep], blocks: Sequence[Block], trace: SizeTrace) -> None:
        self._program, self._steps, self._blocks = program, tuple(steps), tuple(blocks)
        sizes: dict[Size, None] = {}
        _collect(sizes, program.inputs, program.outputs, program.variables, program.checks, self._steps, self._blocks)
        self._sizes = tuple(sizes)
        self._evaluate = trace.function(self._sizes)
        trace.forget_results()

    def program(self, values: Sequence[int]) -> Program | None:
        """Returns the program for these values of the symbols, or None if the class does not serve them.

        Raises the errors of recipes with the node to blame.
        """
        numbers = self._evaluate(values)
        if numbers is None:
            return None
        return _Instance(dict(zip(self._sizes, numbers, strict=True))).program(self._program, self._steps, self._blocks)


def _collect(sizes: dict[Size, None], *parts: Any) -> None:
    """Adds to `sizes` those that the parts contain, which may be tuples, arrays or dataclasses of `_WITH_SIZES`."""
    for part in parts:
        if isinstance(part, Size):
            sizes[part] = None
        elif isinstance(part, tuple):
            _collect(sizes, *part)
        elif isinstance(part, dict):
            _collect(sizes, *(tuple(v.flat) for v in part.values() if v.dtype == object))
        elif isinstance(part, _WITH_SIZES):
            _collect(sizes, *(getattr(part, name) for name in part.__dataclass_fields__))


# The dataclasses whose fields may contain sizes.
_WITH_SIZES = (
    TensorInfo,
    VariableUse,
    Check,
    Bound,
    Launch,
    Copy,
    Call,
    Chain,
    Choice,
    Slot,
    I32,
    F32,
    Block,
    KernelSite,
    Epilogue,
)


class _Instance:
    """Makes the program of a class for one tuple of shapes; `numbers` are the values of all sizes.

    Slots of the arena have the numbers of their blocks until all blocks are known and have places.
    """

    def __init__(self, numbers: Mapping[Size, int]) -> None:
        self.numbers = numbers
        self.blocks: list[Block] = []
        self.modules: dict[Module, int] = {}

    def number(self, n: Any) -> Any:
        """Returns the value of a size; anything else is returned as it is."""
        return self.numbers[n] if isinstance(n, Size) else n

    def program(self, p: Program, steps: Sequence[ClassStep], blocks: Sequence[Block]) -> Program:
        """Returns `p` with the steps and numbers for sizes. Raises the errors of recipes."""
        self.modules = {m: k for k, m in enumerate(p.modules)}
        self.blocks = [Block(b.key, self.number(b.nbytes), b.first, b.last, b.reuse) for b in blocks]
        placed = [step for k, s in enumerate(steps) for step in self._steps(k, s)]
        offsets, total = plan_arena(self.blocks)
        at = [offsets[b.key] for b in self.blocks]
        return replace(
            p,
            modules=tuple(self.modules),
            steps=tuple(_addressed(s, at) for s in placed),
            inputs=tuple(map(self._info, p.inputs)),
            outputs=tuple(map(self._info, p.outputs)),
            variables=tuple(replace(v, info=self._info(v.info)) for v in p.variables),
            checks=tuple(replace(c, bound=self._bound(c.bound)) for c in p.checks),
            arena_nbytes=total,
        )

    def _steps(self, k: int, step: ClassStep) -> Iterator[Step]:
        """Returns the steps for step number `k` of the class, with numbers for sizes."""
        if isinstance(step, Chain):
            if all(self._is_single(part) for part in step.parts):
                yield self._launch(step.whole)
            else:
                for part in step.parts:
                    yield from self._steps(k, part)
        elif isinstance(step, Copy):
            yield Copy(self._slot(step.source), self._slot(step.target), self.number(step.nbytes), step.nodes)
        elif isinstance(step, Launch):
            yield self._launch(step)
        elif isinstance(step, Call):
            yield from self._calls(k, step)
        elif self.number(step.when):
            yield self._launch(step.launch)
        else:
            for other in step.otherwise:
                yield from self._steps(k, other)

    def _is_single(self, part: ClassStep) -> bool:
        """Returns whether a part of a chain is a kernel with one work-item."""
        if isinstance(part, Choice):
            return bool(self.number(part.when)) and self._is_single(part.launch)
        return isinstance(part, Launch) and self.number(part.groups[0]) == 1

    def _launch(self, launch: Launch) -> Launch:
        args = tuple(
            self._slot(a) if isinstance(a, Slot) else type(a)(self.numbers[a.value]) if isinstance(a.value, Size) else a
            for a in launch.args
        )
        groups, local = tuple(map(self.number, launch.groups)), tuple(map(self.number, launch.local))
        return Launch(launch.module, launch.entry, args, groups, local, launch.nodes, launch.label)

    def _calls(self, k: int, call: Call) -> Iterator[Launch]:
        site = call.site
        site = replace(
            site,
            inputs=tuple(map(self._info, site.inputs)),
            outputs=tuple(map(self._info, site.outputs)),
            values={i: self._values(v, site.inputs[i].dtype) for i, v in site.values.items()},
            epilogue=site.epilogue
            if site.epilogue.bias is None
            else replace(site.epilogue, bias=self._info(site.epilogue.bias)),
        )
        try:
            launches = call.recipe(site)
        except OpError as e:
            raise e.with_op(call.node) from None
        temps: dict[str, int] = {}
        for launch in launches:
            for a in launch.args:
                if isinstance(a, Temp):
                    temps[a.key] = max(a.nbytes, temps.get(a.key, 0))
        slots = {key: self._temp(k, key, nbytes) for key, nbytes in temps.items()}
        for launch in launches:
            module = self.modules.setdefault(Module(launch.source, launch.file, launch.defines), len(self.modules))
            args = tuple(self._argument(call, slots, a) for a in launch.args)
            yield Launch(module, launch.entry, args, launch.groups, launch.local, call.nodes, call.label)

    def _temp(self, k: int, key: str, nbytes: int) -> Slot:
        self.blocks.append(Block((k, key), nbytes, k, k))
        return Slot("arena", len(self.blocks) - 1, 0, nbytes)

    def _argument(self, call: Call, temps: Mapping[str, Slot], a: Any) -> Any:
        if isinstance(a, In):
            return self._slot(call.ins[a.index])
        if isinstance(a, Out):
            return self._slot(call.outs[a.index])
        if isinstance(a, BiasIn):
            if call.bias is None:
                raise InternalError(f"{call.label}: the recipe uses a bias, and the call has none")
            return self._slot(call.bias)
        return temps[a.key] if isinstance(a, Temp) else a

    def _slot(self, slot: Slot) -> Slot:
        if isinstance(slot.nbytes, Size):
            return Slot(slot.kind, slot.index, slot.offset, self.numbers[slot.nbytes])
        return slot

    def _info(self, info: TensorInfo) -> TensorInfo:
        if any(isinstance(n, Size) for n in info.shape):
            return TensorInfo(info.dtype, tuple(map(self.number, info.shape)))
        return info

    def _values(self, values: np.ndarray, dtype: DType) -> np.ndarray:
        """Returns a value of an input with numbers for sizes."""
        if values.dtype != object:
            return values
        return np.asarray([self.number(n) for n in values.flat], dtype.np).reshape(values.shape)

    def _bound(self, bound: Bound) -> Bound:
        high = tuple(map(self.number, bound.high)) if isinstance(bound.high, tuple) else self.number(bound.high)
        return replace(bound, low=self.number(bound.low), high=high)


def _addressed(step: Step, offsets: Sequence[int]) -> Step:
    """Returns the step with offsets in the arena instead of numbers of blocks."""
    if isinstance(step, Copy):
        return replace(step, source=_address(step.source, offsets), target=_address(step.target, offsets))
    args = tuple([_address(a, offsets) if isinstance(a, Slot) else a for a in step.args])
    return Launch(step.module, step.entry, args, step.groups, step.local, step.nodes, step.label)


def _address(slot: Slot, offsets: Sequence[int]) -> Slot:
    if slot.kind != "arena":
        return slot
    return Slot("arena", 0, 0 if slot.index == NO_BLOCK else offsets[slot.index], slot.nbytes)
