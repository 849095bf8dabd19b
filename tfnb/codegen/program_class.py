"""Program classes: one compiled program for all shapes of a class (OSDI'16, section 3.3: specialisation to shapes).

The sizes in the program of a class are formulas. For the shapes of a run they are evaluated, the recipes of library
kernels are asked for their launches, and the memory plan is made. Many steps take less time than that would take step
by step, so it is prepared once for the class: the numbers, tensors and arguments of all kernels stand in tables without
repetition, and a template of each step has the places of its own. For a run's shapes each table is filled in one pass.
Invariant: the program for some shapes is the one that a compilation for these shapes alone would give, so no result
depends on which shapes came before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from tfnb.caches import Cache
from tfnb.codegen.class_steps import Call, Choice, ClassStep
from tfnb.codegen.memory import NO_BLOCK, Block, places_of, plan_arena
from tfnb.codegen.program import Copy, Launch, Module, Program, Slot, Step
from tfnb.codegen.schedules.chain import joined
from tfnb.codegen.step_templates import (
    Answer,
    CallTemplate,
    ChainTemplate,
    ChoiceTemplate,
    CopyTemplate,
    LaunchTemplate,
    Numbers,
    Picker,
    Site,
    Template,
    picker,
)
from tfnb.ir.bounds import Bound, Check
from tfnb.ir.kernelcall import F32, F64, I32, KernelCall, KernelSite, TensorInfo, i32
from tfnb.size_trace import SizeTrace
from tfnb.sizes import AnySize, Size
from tfnb.types import DType

__all__ = ["ProgramClass"]


_MAX_PLANS = 32  # memory plans of one class: small blocks often need the same places for several shapes

# A new shape brings many slots, and the function that makes a named tuple takes twice as long.
_new = tuple.__new__

_NO_SLOTS: Mapping[str, Slot] = {}
_NO_STEPS: list[Sequence[Step]] = [()]


class ProgramClass:
    """The program of a cluster for all shapes that fulfil the conditions of `trace`.

    `steps` are those of the class, and `program` has everything else. Slots of the arena have the numbers of their
    `blocks` instead of offsets, and each block lives from its first to its last step. Not for use by several threads at
    once.
    """

    def __init__(self, program: Program, steps: Sequence[ClassStep], blocks: Sequence[Block], trace: SizeTrace) -> None:
        tables = _Tables()
        self._program, self._tables = program, tables
        self._templates = [tables.template(k, s) for k, s in enumerate(steps)]
        self._choices = picker(sorted({n for t in self._templates for n in t.decides()}))
        places = {b.key: k for k, b in enumerate(blocks)}
        self._blocks = [(k, b.first, b.last, tuple([places[key] for key in b.reuse])) for k, b in enumerate(blocks)]
        self._bytes = picker([tables.number(b.nbytes) for b in blocks])
        self._inputs = picker(map(tables.info, program.inputs))
        self._outputs = picker(map(tables.info, program.outputs))
        self._variables = [(v, tables.info(v.info) if _is_sized(v.info) else None) for v in program.variables]
        self._has_sized_variables = any(k is not None for _, k in self._variables)
        self._checks = [_check_of(c, tables) for c in program.checks]
        self._modules = {m: k for k, m in enumerate(program.modules)}
        self._chosen: tuple[Numbers, _Chosen] | None = None  # what the latest program has, and the reason for it
        self._answers: _Answers | None = None  # for the latest program
        self._latest: _Made | None = None
        self._plans: Cache[tuple[object, ...], tuple[Mapping[Any, int], int]] = Cache("plans of memory", _MAX_PLANS)
        self._evaluate = trace.function(tables.sizes)
        trace.forget_results()

    def program(self, values: Sequence[int]) -> Program | None:
        """Returns the program for these values of the symbols, or None if the class does not serve them.

        Raises the errors of recipes with the node to blame.
        """
        numbers = self._evaluate(values)
        if numbers is None:
            return None
        infos = self._tables.infos_of(numbers)
        chosen = self._chosen_for(numbers)
        answers = self._answers_for(chosen, numbers, infos)
        offsets, total = self._planned(self._bytes(numbers), answers)
        steps, modules = self._placed(chosen, answers, numbers, offsets)
        p = self._program
        return Program(
            p.name,
            modules,
            steps,
            self._inputs(infos),
            self._outputs(infos),
            tuple([v if k is None else replace(v, info=infos[k]) for v, k in self._variables])
            if self._has_sized_variables
            else p.variables,
            p.consts,
            p.random,
            total,
            p.info,
            p.reads,
            tuple([check(numbers) for check in self._checks]) if self._checks else (),
        )

    def _chosen_for(self, numbers: Numbers) -> _Chosen:
        """Returns the templates that make the steps for these numbers."""
        decided = self._choices(numbers)
        if self._chosen is None or self._chosen[0] != decided:
            templates: list[Template] = []
            for template in self._templates:
                template.choose(numbers, templates)
            self._chosen = decided, _chosen(templates)
        return self._chosen[1]

    def _answers_for(self, chosen: _Chosen, numbers: Numbers, infos: Sequence[TensorInfo]) -> _Answers:
        """Returns the answers of recipes; the same object as before if all of them are."""
        dims = chosen.dims(numbers)
        if self._answers is None or self._answers.chosen is not chosen or self._answers.dims != dims:
            answers = [t.ask(numbers, infos) for _, t in chosen.calls]
            temps = [(t.k, n) for (_, t), a in zip(chosen.calls, answers, strict=True) for n in a.temps.values()]
            places = tuple([k for k, _ in temps]), places_of([n for _, n in temps])
            self._answers = _Answers(
                chosen, dims, {k: a for (k, _), a in zip(chosen.calls, answers, strict=True)}, temps, places
            )
        return self._answers

    def _planned(self, sizes: Sequence[int], answers: _Answers) -> tuple[Mapping[Any, int], int]:
        """Returns the memory plan: the offset of each block by its number, and the bytes of all.

        `sizes` are the bytes of the blocks of the class. The blocks of temporary memory follow them.
        """
        temps = answers.temps
        key = places_of(sizes), answers.places
        plan = self._plans.find(key)
        if plan is None:
            blocks = [_new(Block, (k, n, a, b, reuse)) for (k, a, b, reuse), n in zip(self._blocks, sizes, strict=True)]
            blocks += [_new(Block, (k, n, first, first, ())) for k, (first, n) in enumerate(temps, len(sizes))]
            offsets, total = plan_arena(blocks)
            plan = self._plans.put(key, ({NO_BLOCK: 0, **offsets}, total))
        return plan

    def _placed(
        self, chosen: _Chosen, answers: _Answers, numbers: Numbers, offsets: Mapping[Any, int]
    ) -> tuple[tuple[Step, ...], tuple[Module, ...]]:
        """Returns the steps and the modules of a program, when the places of all blocks are known."""
        latest, self._latest = self._latest, None
        arguments, changed = self._tables.arguments_of(numbers, offsets)
        templates = chosen.templates
        slots: dict[int, dict[str, Slot]] = {}
        if answers.temps and (latest is None or latest.answers is not answers or latest.offsets is not offsets):
            slots = self._temporary(answers, offsets)
        again: Iterable[int] = range(len(templates))
        if latest is None or latest.answers.chosen is not chosen:
            modules, parts = self._modules.copy(), _NO_STEPS * len(templates)
        else:
            # Only what uses the changed arguments and numbers differs, and calls of which the recipe has other answers.
            parts = latest.parts.copy()
            calls: Collection[int] = slots
            modules = latest.modules
            if latest.answers is not answers:
                modules, calls = self._modules.copy(), answers.of
            again = [k for k, t in enumerate(templates) if not t.uses.isdisjoint(changed) or k in calls]
        for k in again:
            template = templates[k]
            if isinstance(template, CallTemplate):
                parts[k] = template.launches(answers.of[k], arguments, slots.get(k, _NO_SLOTS), modules)
            else:
                parts[k] = (template.step(numbers, arguments),)
        self._latest = _Made(answers, offsets, modules, parts)
        steps = _with_chains(templates, parts) if chosen.has_chains else [s for part in parts for s in part]
        return tuple(steps), tuple(modules) if len(modules) > len(self._modules) else self._program.modules

    def _temporary(self, answers: _Answers, offsets: Mapping[Any, int]) -> dict[int, dict[str, Slot]]:
        """Returns the temporary memory of calls, by the numbers of their templates, for those that have any."""
        slots = {}
        block = len(self._blocks)  # the next block of temporary memory
        for k, answer in answers.of.items():
            if answer.temps:
                numbered = enumerate(answer.temps.items(), block)
                slots[k] = {key: _new(Slot, ("arena", 0, offsets[n], nbytes)) for n, (key, nbytes) in numbered}
                block += len(answer.temps)
        return slots


class _Chosen(NamedTuple):
    """Templates that make the steps of a program.

    `calls` are the calls among them, with their places, and `dims` picks the numbers on which the answers depend.
    """

    templates: list[Template]
    calls: list[tuple[int, CallTemplate]]
    dims: Picker
    has_chains: bool


def _chosen(templates: list[Template]) -> _Chosen:
    calls = [(k, t) for k, t in enumerate(templates) if isinstance(t, CallTemplate)]
    dims = picker(sorted(set().union(*(t.site.dims for _, t in calls))))
    return _Chosen(
        templates, calls, dims, any(isinstance(t, LaunchTemplate) and t.chain is not None for t in templates)
    )


class _Answers(NamedTuple):
    """The answers `of` the recipes of calls, by the places of their templates, for the numbers `dims`.

    `temps` has the step and the bytes of each block of their temporary memory, and `places` what a memory plan depends
    on of these.
    """

    chosen: _Chosen
    dims: Numbers
    of: dict[int, Answer]
    temps: list[tuple[int, int]]
    places: tuple[tuple[int, ...], tuple[int, ...]]


class _Made(NamedTuple):
    """What the latest program was made of: its steps, `parts`, belong to the templates that were chosen."""

    answers: _Answers
    offsets: Mapping[Any, int]
    modules: dict[Module, int]
    parts: list[Sequence[Step]]


def _with_chains(templates: Sequence[Template], parts: Sequence[Sequence[Step]]) -> list[Step]:
    """Returns the steps of templates, in which parts of a chain that follow each other are joined if they can be."""
    steps: list[Step] = []
    chain: Launch | None = None  # the chain of which the step before is a part
    for template, part in zip(templates, parts, strict=True):
        its_chain = template.chain if isinstance(template, LaunchTemplate) else None
        both = joined(chain, steps[-1], part[0]) if chain is not None and chain is its_chain else None
        if both is None:
            steps += part
        else:
            steps[-1] = both
        chain = its_chain
    return steps


def _check_of(check: Check, tables: _Tables) -> Callable[[Numbers], Check]:
    """Returns a function from the numbers to the check with numbers for sizes."""
    position, bound, node = check.position, check.bound, check.node
    highs = bound.high if isinstance(bound.high, tuple) else (bound.high,)
    if not any(isinstance(n, Size) for n in (bound.low, *highs)):
        return lambda numbers: check
    low, high = tables.value(bound.low), tables.value(bound.high)
    return lambda numbers: Check(position, Bound(bound.input, high(numbers), low(numbers), bound.what), node)


def _is_sized(info: TensorInfo) -> bool:
    return any(isinstance(n, Size) for n in info.shape)


class _Tables:
    """The numbers, tensors and arguments that the steps of a class use, each once.

    `sizes` are the numbers, as formulas or plain. The methods that return a place enter what is not there yet.
    """

    def __init__(self) -> None:
        self.sizes: list[AnySize | Size] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self._infos: list[TensorInfo] = []
        self._sized_infos: list[tuple[int, DType, Picker]] = []
        self._arguments: list[Slot | I32 | F32 | F64] = []
        self._numbers: list[tuple[int, type[I32 | F32 | F64], int]] = []  # place, type, and place of the number
        self._slots: list[tuple[int, Slot, int]] = []  # place, slot, and place of its bytes
        self._arena: list[tuple[int, int, int]] = []  # place, block, and place of its bytes
        self._geometry: set[int] = set()  # the numbers of work-groups, work-items and copied bytes
        self._sites: dict[tuple[Any, ...], Site] = {}
        self._latest: tuple[Numbers, list[Any]] | None = None  # the numbers and arguments of the latest program
        self._latest_infos: list[TensorInfo] = []

    def number(self, n: AnySize | Size) -> int:
        """Returns the place of a number."""
        key = ("size" if isinstance(n, Size) else "number", n)
        if key not in self._places:
            self._places[key] = len(self.sizes)
            self.sizes.append(n)
        return self._places[key]

    def value(self, n: Any) -> Callable[[Numbers], Any]:
        """Returns a function from the numbers to the value of `n`: a size, a tuple with sizes, or anything else."""
        if isinstance(n, tuple):
            return picker(map(self.number, n))
        return itemgetter(self.number(n)) if isinstance(n, Size) else lambda numbers: n

    def info(self, info: TensorInfo) -> int:
        """Returns the place of a tensor."""
        dims = tuple(map(self.number, info.shape))
        key = ("info", info.dtype, dims)
        if key not in self._places:
            place = self._places[key] = len(self._infos)
            self._infos.append(info)
            if _is_sized(info):
                self._sized_infos.append((place, info.dtype, picker(dims)))
        return self._places[key]

    def argument(self, a: Slot | I32 | F32 | F64) -> int:
        """Returns the place of an argument of a kernel."""
        if isinstance(a, Slot):
            n = self.number(a.nbytes)
            key: tuple[Any, ...] = ("slot", a.kind, a.index, a.offset, n)
            if key not in self._places:
                self._places[key] = len(self._arguments)
                self._arguments.append(a)
                if a.kind == "arena":
                    self._arena.append((self._places[key], a.index, n))
                elif isinstance(a.nbytes, Size):
                    self._slots.append((self._places[key], a, n))
            return self._places[key]
        key = ("argument", type(a), a.value) if isinstance(a.value, Size) else ("constant", len(self._arguments))
        if key not in self._places:
            self._places[key] = len(self._arguments)
            self._arguments.append(a)
            if isinstance(a.value, Size):
                self._numbers.append((self._places[key], type(a), self.number(a.value)))
        return self._places[key]

    def site(self, recipe: Callable[[KernelSite], Sequence[KernelCall]], site: KernelSite) -> Site:
        """Returns the recipe's site; equal sites of several nodes are one."""
        inputs, outputs = tuple(map(self.info, site.inputs)), tuple(map(self.info, site.outputs))
        bias = None if site.epilogue.bias is None else self.info(site.epilogue.bias)
        values = {i: picker(map(self.number, v.flat)) for i, v in site.values.items() if v.dtype == object}
        dims = {self.number(n) for k in {*inputs, *outputs} for n in self._infos[k].shape}
        if bias is not None:
            dims |= {self.number(n) for n in self._infos[bias].shape}
        dims |= {self.number(n) for v in site.values.values() if v.dtype == object for n in v.flat}
        new_site = Site(recipe, site, picker(inputs), picker(outputs), bias, values, frozenset(dims))
        if site.values:
            return new_site
        # Equal attributes may differ: 0.0 and -0.0, 1 and True.
        attributes = type(site.attrs), repr(site.attrs)
        key = (recipe, site.op, inputs, outputs, attributes, bias, site.epilogue.activation, site.updated)
        try:
            return self._sites.setdefault((*key, site.attrs), new_site)
        except TypeError:  # an attribute is an array
            return new_site

    def template(
        self, k: int, step: ClassStep, chain: Launch | None = None
    ) -> Template | ChoiceTemplate | ChainTemplate:
        """Returns the template of step number `k`, or of a part of `chain`."""
        if isinstance(step, Launch):
            args = list(map(self.argument, step.args))
            groups, local = list(map(self.number, step.groups)), list(map(self.number, step.local))
            self._geometry.update((*groups, *local))
            uses = frozenset([*args, *(~n for n in (*groups, *local))])
            return LaunchTemplate(step, picker(args), picker(groups), picker(local), chain, uses)
        if isinstance(step, Copy):
            source, target, n = self.argument(step.source), self.argument(step.target), self.number(step.nbytes)
            self._geometry.add(n)
            return CopyTemplate(source, target, n, step.nodes, frozenset((source, target, ~n)))
        if isinstance(step, Call):
            slots = [*step.ins, *step.outs, *([] if step.bias is None else [step.bias])]
            places = list(map(self.argument, slots))
            n, m = len(step.ins), len(step.ins) + len(step.outs)
            site = self.site(step.recipe, step.site)
            bias = places[m] if places[m:] else None
            return CallTemplate(k, step, site, frozenset(places), picker(places), places[:n], places[n:m], bias, [])
        if isinstance(step, Choice):
            launch, otherwise = self.template(k, step.launch, chain), self.template(k, step.otherwise, chain)
            return ChoiceTemplate(self.number(step.when), launch, otherwise)
        choices = [p for p in step.parts if isinstance(p, Choice)]
        launches = [p.launch if isinstance(p, Choice) else p for p in step.parts]
        return ChainTemplate(
            self.template(k, step.whole),
            [self.template(k, p, step.whole) for p in step.parts],
            [self.number(p.groups[0]) for p in launches if isinstance(p, Launch)],
            [self.number(p.when) for p in choices],
            all(isinstance(p, Launch) for p in launches),
        )

    # the shapes of a run

    def infos_of(self, numbers: Numbers) -> list[TensorInfo]:
        """Returns all tensors with numbers for sizes, in a list that the next call changes.

        A tensor that equals the one of the latest program is the same object.
        """
        if not self._latest_infos:
            self._latest_infos = self._infos.copy()
            for place, dtype, _ in self._sized_infos:
                self._latest_infos[place] = TensorInfo(dtype, ())
        infos = self._latest_infos
        for place, dtype, dims in self._sized_infos:
            shape = dims(numbers)
            if infos[place].shape != shape:
                infos[place] = TensorInfo(dtype, shape)
        return infos

    def arguments_of(self, numbers: Numbers, offsets: Mapping[Any, int]) -> tuple[list[Any], set[int]]:
        """Returns all arguments with numbers for sizes, and offsets in the arena for blocks.

        An argument that equals the one of the latest program is the same object, so that equal steps are found fast.
        The second result has the places of those that do not, and `~n` for each changed number n of steps.
        """
        latest, self._latest = self._latest, None  # until all arguments are those of the same program
        before, arguments = latest or (None, list[Any](self._arguments))
        places: set[int] = set()
        for place, number, n in self._numbers:
            if before is None or before[n] != numbers[n]:
                arguments[place] = i32(numbers[n]) if number is I32 else number(numbers[n])
                places.add(place)
        for place, slot, n in self._slots:
            if before is None or before[n] != numbers[n]:
                arguments[place] = _new(Slot, (slot.kind, slot.index, slot.offset, numbers[n]))
                places.add(place)
        for place, block, n in self._arena:
            if before is None or before[n] != numbers[n] or arguments[place].offset != offsets[block]:
                arguments[place] = _new(Slot, ("arena", 0, offsets[block], numbers[n]))
                places.add(place)
        for n in self._geometry:
            if before is not None and before[n] != numbers[n]:
                places.add(~n)
        self._latest = numbers, arguments
        return arguments, places
