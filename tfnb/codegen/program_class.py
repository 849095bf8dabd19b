"""Program classes: one compiled program for all shapes of a class (OSDI'16, section 3.3: specialisation to shapes).

The sizes in the program of a class are formulas. For the shapes of a run they are evaluated, the recipes of library
kernels are asked for their launches, and the memory plan is made. Many steps take less time than that would take step
by step, so it is prepared once for the class: the numbers, tensors and arguments of all kernels stand in tables without
repetition, and a template of each step has the places of its own (`step_templates.py`). A program is made from the one
before it: what depends on the sizes that differ is looked up once for each set of these, and only the rows of the
tables that use them are renewed.
Invariant: the program for some shapes is the one that a compilation for these shapes alone would give, so no result
depends on which shapes came before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress, count
from operator import itemgetter, ne
from typing import Any, NamedTuple

from tfnb.caches import Cache
from tfnb.codegen.memory import NO_BLOCK, Block, places_of, plan_arena
from tfnb.codegen.program import Copy, Launch, Module, Program, Resized, Slot, Step
from tfnb.codegen.schedules.chain import joined
from tfnb.codegen.step_templates import (
    Answer,
    Call,
    CallTemplate,
    ChainTemplate,
    Choice,
    ChoiceTemplate,
    ClassStep,
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


_NOWHERE = -1  # the offset of a slot in the arena before the first program
_MAX_PLANS = 32  # memory plans of one class: small blocks often need the same places for several shapes
_MAX_CHOSEN = 16  # ways in which the templates of one class are chosen
_MAX_CHANGES = 32  # sets of numbers that differ between one program of a class and the next
_MAX_CHANGED = 1 << 14  # templates in all these sets together; if the class has more, fewer sets are kept

# A new shape brings many slots, and the function that makes a named tuple takes twice as long.
_new = tuple.__new__

_NO_SLOTS: Mapping[str, Slot] = {}
_NO_SLOTS_OF_CALLS: Mapping[int, Mapping[str, Slot]] = {}
_NO_OFFSETS: Mapping[Any, int] = {}
_NO_STEPS: list[Sequence[Step]] = [()]


InfoRow = tuple[int, DType, Picker]
"""The place of a tensor, its dtype, and what picks its dimensions from the numbers."""

NumberRow = tuple[int, type[I32 | F32 | F64], int]
"""The place of an argument, its type, and the place of its number."""

SlotRow = tuple[int, Slot, int]
"""The place of an argument, the slot, and the place of the number of its bytes."""

ArenaRow = tuple[int, int, int]
"""The place of an argument in the arena, its block, and the place of the number of its bytes."""


class Rows(NamedTuple):
    """Rows of arguments: those that are numbers, those that point to sized memory, and those in the arena."""

    numbers: list[NumberRow]
    slots: list[SlotRow]
    arena: list[ArenaRow]


def is_sized(info: TensorInfo) -> bool:
    """Returns whether a dimension of the tensor is a formula."""
    return any(isinstance(n, Size) for n in info.shape)


class Tables:
    """The numbers, tensors and arguments that the steps of a class use, each once.

    `sizes` are the numbers, as formulas or plain. The methods that return a place enter what is not there yet.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self.sizes: list[AnySize | Size] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self._infos: list[TensorInfo] = []
        self._sized_infos: list[tuple[InfoRow, frozenset[int]]] = []  # with the places of their numbers
        self._arguments: list[Slot | I32 | F32 | F64] = []
        self._numbers: list[NumberRow] = []
        self._slots: list[SlotRow] = []
        self._arena: list[ArenaRow] = []
        self._sites: dict[tuple[Any, ...], Site] = {}

    def number(self, n: AnySize | Size) -> int:
        """Returns the place of a number."""
        key = ("size" if isinstance(n, Size) else "number", n)
        if key not in self._places:
            self._places[key] = len(self.sizes)
            self.sizes.append(n)
        return self._places[key]

    def value(self, n: object) -> Callable[[Numbers], Any]:
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
            if is_sized(info):
                self._sized_infos.append(((place, info.dtype, picker(dims)), frozenset(dims)))
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
            uses = frozenset([*args, *(~n for n in (*groups, *local))])
            nbytes = self._accessed_bytes(step)
            return LaunchTemplate(step, args, picker(args), picker(groups), picker(local), nbytes, chain, uses)
        if isinstance(step, Copy):
            source, target, n = self.argument(step.source), self.argument(step.target), self.number(step.nbytes)
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

    def _accessed_bytes(self, launch: Launch) -> int | None:
        """Returns the place of the number of bytes that a launch accesses; None if that is not known beforehand."""
        if launch.nbytes is not None:
            return self.number(launch.nbytes)
        if self._modules[launch.module].file:
            return None
        total: Any = 0
        for a in launch.args:
            if isinstance(a, Slot):
                total = total + a.nbytes
        return self.number(total)

    # the shapes of a run

    def unsized(self) -> tuple[list[TensorInfo], list[Any]]:
        """Returns all tensors and arguments; those that have sizes, or are in the arena, are to be replaced."""
        arguments = list[Any](self._arguments)
        for place, _, _ in self._arena:
            arguments[place] = Slot("arena", 0, _NOWHERE, arguments[place].nbytes)
        return self._infos.copy(), arguments

    def using(self, numbers: frozenset[int]) -> tuple[list[InfoRow], Rows]:
        """Returns the rows of all tables that use any of these numbers."""
        return [row for row, dims in self._sized_infos if not dims.isdisjoint(numbers)], Rows(
            [row for row in self._numbers if row[2] in numbers],
            [row for row in self._slots if row[2] in numbers],
            [row for row in self._arena if row[2] in numbers],
        )

    def renew(
        self, arguments: list[Any], rows: Rows, numbers: Numbers, offsets: Mapping[Any, int], has_moved: bool
    ) -> Collection[int]:
        """Replaces the arguments of `rows`, and returns the places of those that only lie elsewhere in the arena.

        `has_moved` says that blocks may have other offsets than before.
        """
        for place, number, n in rows.numbers:
            arguments[place] = i32(numbers[n]) if number is I32 else number(numbers[n])
        for place, slot, n in rows.slots:
            arguments[place] = _new(Slot, (slot.kind, slot.index, slot.offset, numbers[n]))
        for place, block, n in rows.arena:
            arguments[place] = _new(Slot, ("arena", 0, offsets[block], numbers[n]))
        if not has_moved:
            return ()
        moved = [(place, block, n) for place, block, n in self._arena if arguments[place].offset != offsets[block]]
        for place, block, n in moved:
            arguments[place] = _new(Slot, ("arena", 0, offsets[block], numbers[n]))
        return {place for place, _, _ in moved}


class ProgramClass:
    """The program of a cluster for all shapes that fulfil the conditions of `trace`.

    `steps` are those of the class, and `program` has everything else. Slots of the arena have the numbers of their
    `blocks` instead of offsets, and each block lives from its first to its last step. Not for use by several threads at
    once.
    """

    def __init__(self, program: Program, steps: Sequence[ClassStep], blocks: Sequence[Block], trace: SizeTrace) -> None:
        tables = Tables(program.modules)
        self._program, self._tables = program, tables
        self._templates = [tables.template(k, s) for k, s in enumerate(steps)]
        self._deciding = frozenset(n for template in self._templates for n in template.decides())
        self._choices = picker(sorted(self._deciding))
        places = {b.key: k for k, b in enumerate(blocks)}
        self._blocks = [(k, b.first, b.last, tuple([places[key] for key in b.reuse])) for k, b in enumerate(blocks)]
        block_bytes = [tables.number(b.nbytes) for b in blocks]
        self._bytes, self._planning = picker(block_bytes), frozenset(block_bytes)
        self._inputs = picker(map(tables.info, program.inputs))
        self._outputs = picker(map(tables.info, program.outputs))
        self._variables = [(v, tables.info(v.info) if is_sized(v.info) else None) for v in program.variables]
        self._has_sized_variables = any(k is not None for _, k in self._variables)
        self._checks = [_check_of(c, tables) for c in program.checks]
        self._modules = {m: k for k, m in enumerate(program.modules)}
        self._latest: _Made | None = None
        self._chosen: Cache[Numbers, _Chosen] = Cache("choices of steps", _MAX_CHOSEN)
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
        made, resized = self._made(numbers)
        p, infos = self._program, made.infos
        return Program(
            p.name,
            made.modules,
            made.steps,
            self._inputs(infos),
            self._outputs(infos),
            tuple([v if k is None else replace(v, info=infos[k]) for v, k in self._variables])
            if self._has_sized_variables
            else p.variables,
            p.consts,
            p.random,
            made.nbytes,
            p.info,
            p.reads,
            tuple([check(numbers) for check in self._checks]) if self._checks else (),
            resized,
        )

    def _made(self, numbers: Numbers) -> tuple[_Made, Resized | None]:
        """Returns what a program for these numbers is made of, and how it differs from the latest one.

        What has not changed since that is the same objects, so that it is found fast.
        """
        latest, self._latest = self._latest, None  # which is changed now, and does not fit if a recipe raises an error
        if latest is None:
            latest = self._nothing(numbers)
        former, infos, arguments, chosen, answers, offsets, nbytes, _, modules, _, before = latest
        which = tuple(compress(count(), map(ne, former, numbers)))
        change = chosen.changes.find(which)
        if change is None:
            change = chosen.changes.put(which, self._change(chosen, which))
        for place, dtype, dims in change.infos:
            infos[place] = TensorInfo(dtype, dims(numbers))
        if change.decides:
            chosen = self._chosen_for(numbers)
        if change.asks or chosen is not latest.chosen:
            answers = _answers_of(chosen, numbers, infos)
        if change.plans or answers is not latest.answers:
            offsets, nbytes = self._planned(self._bytes(numbers), answers)
        moved = self._tables.renew(arguments, change.rows, numbers, offsets, offsets is not latest.offsets)
        numbered, parts, again = self._parts(numbers, latest, change, chosen, answers, offsets, moved)
        if numbered is not latest.numbered:
            modules = tuple(numbered) if len(numbered) > len(self._modules) else self._program.modules
        steps = tuple(_with_chains(chosen.templates, parts) if chosen.has_chains else chain.from_iterable(parts))
        made = self._latest = _new(
            _Made, (numbers, infos, arguments, chosen, answers, offsets, nbytes, numbered, modules, parts, steps)
        )
        if chosen is not latest.chosen or chosen.has_chains or offsets is not latest.offsets:
            return made, None
        if not len(parts) == len(steps) == len(before):
            return made, None  # a recipe has answered with several launches or none
        known = change.arguments if again is change.again else [change.launches.get(k) for k in again]
        return made, _new(Resized, (before, again, known))

    def _parts(
        self,
        numbers: Numbers,
        latest: _Made,
        change: _Change,
        chosen: _Chosen,
        answers: _Answers,
        offsets: Mapping[Any, int],
        moved: Collection[int],
    ) -> tuple[dict[Module, int], list[Sequence[Step]], Sequence[int]]:
        """Returns the modules and the steps of each template, and the numbers of the templates whose steps are new."""
        templates, arguments = chosen.templates, latest.arguments
        slots = _NO_SLOTS_OF_CALLS
        if answers.temps and (answers is not latest.answers or offsets is not latest.offsets):
            slots = self._temporary(answers, offsets)
        again: Collection[int] = change.again
        if chosen is not latest.chosen:
            again, modules, parts = range(len(templates)), self._modules.copy(), _NO_STEPS * len(templates)
        else:
            modules, parts = latest.numbered, latest.parts.copy()
            if answers is not latest.answers:
                asked = latest.answers.of
                others = [k for k, answer in answers.of.items() if answer is not asked[k]]
                again = {*again, *others}
                if any([answers.of[k].modules != asked[k].modules for k in others]):  # noqa: C419 - takes longer
                    again, modules = {*again, *answers.of}, self._modules.copy()
            if moved or slots:
                again = {*again, *slots, *(k for k, t in enumerate(templates) if not t.uses.isdisjoint(moved))}
        in_order = again if again is change.again else sorted(again)
        for k in in_order:
            template = templates[k]
            if isinstance(template, CallTemplate):
                parts[k] = template.launches(answers.of[k], arguments, slots.get(k, _NO_SLOTS), modules)
            else:
                parts[k] = (template.step(numbers, arguments),)
        return modules, parts, in_order

    def _nothing(self, numbers: Numbers) -> _Made:
        """Returns the state before the first program, from which every number differs."""
        infos, arguments = self._tables.unsized()
        none = _chosen_of([])
        answers = _Answers({}, [], ((), ()))
        return _Made((None,) * len(numbers), infos, arguments, none, answers, _NO_OFFSETS, 0, {}, (), [], ())

    def _change(self, chosen: _Chosen, which: Collection[int]) -> _Change:
        """Returns what depends on the numbers at these places, when the steps are made by `chosen`."""
        numbers = frozenset(which)
        infos, rows = self._tables.using(numbers)
        in_numbers, in_slots, in_arena = ({row[0] for row in some} for some in rows)
        uses = {*in_numbers, *in_slots, *in_arena, *(~n for n in which)}
        launches = {
            k: (t.found(in_numbers), t.found(in_arena)) if isinstance(t, LaunchTemplate) else None
            for k, t in enumerate(chosen.templates)
            if not t.uses.isdisjoint(uses)
        }
        return _Change(
            infos,
            rows,
            launches,
            list(launches),
            list(launches.values()),
            not numbers.isdisjoint(self._deciding) or not chosen.templates,
            not numbers.isdisjoint(chosen.asking),
            not numbers.isdisjoint(self._planning),
        )

    def _chosen_for(self, numbers: Numbers) -> _Chosen:
        """Returns the templates that make the steps for these numbers."""
        decided = self._choices(numbers)
        chosen = self._chosen.find(decided)
        if chosen is None:
            templates: list[Template] = []
            for template in self._templates:
                template.choose(numbers, templates)
            chosen = self._chosen.put(decided, _chosen_of(templates))
        return chosen

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


class _Change(NamedTuple):
    """What depends on some of the numbers: `infos` and `rows` of the tables, and `launches`.

    These have the numbers of the templates that use them, in order, each with the places of its arguments that are such
    numbers, and of those in the arena, or None for a call of a recipe and for a copy; `again` are their keys, and
    `arguments` their values. `decides`, `asks` and `plans` say whether other templates may make the steps, whether the
    answers of recipes are others, and whether blocks have other sizes.
    """

    infos: list[InfoRow]
    rows: Rows
    launches: dict[int, tuple[Sequence[int], Sequence[int]] | None]
    again: Sequence[int]
    arguments: Sequence[tuple[Sequence[int], Sequence[int]] | None]
    decides: bool
    asks: bool
    plans: bool


class _Chosen(NamedTuple):
    """Templates that make the steps of a program.

    `calls` are the calls among them, with their places, and `asking` the places of the numbers on which the answers
    depend. `changes` are those from one program to the next, by the places of the numbers that differ.
    """

    templates: list[Template]
    calls: list[tuple[int, CallTemplate]]
    asking: frozenset[int]
    has_chains: bool
    changes: Cache[tuple[int, ...], _Change]


def _chosen_of(templates: list[Template]) -> _Chosen:
    calls = [(k, t) for k, t in enumerate(templates) if isinstance(t, CallTemplate)]
    most = min(_MAX_CHANGES, _MAX_CHANGED // (len(templates) + 1) + 1)
    return _Chosen(
        templates,
        calls,
        frozenset[int]().union(*(t.site.dims for _, t in calls)),
        any(isinstance(t, LaunchTemplate) and t.chain is not None for t in templates),
        Cache("changes of sizes", most),
    )


class _Answers(NamedTuple):
    """The answers `of` the recipes of calls, by the places of their templates.

    `temps` has the step and the bytes of each block of their temporary memory, and `places` what a memory plan depends
    on of these.
    """

    of: dict[int, Answer]
    temps: list[tuple[int, int]]
    places: tuple[tuple[int, ...], tuple[int, ...]]


def _answers_of(chosen: _Chosen, numbers: Numbers, infos: Sequence[TensorInfo]) -> _Answers:
    """Returns the answers of recipes. Raises their errors."""
    answers = {k: t.ask(numbers, infos) for k, t in chosen.calls}
    temps = [(t.k, n) for k, t in chosen.calls for n in answers[k].temps.values()]
    return _Answers(answers, temps, (tuple([k for k, _ in temps]), places_of([n for _, n in temps])))


class _Made(NamedTuple):
    """What the latest program was made of: `parts`, of which its steps consist, belong to the chosen templates.

    The next program changes the lists `infos` and `arguments`. `numbered` has the numbers of the `modules`.
    """

    numbers: Sequence[int | None]
    infos: list[TensorInfo]
    arguments: list[Any]
    chosen: _Chosen
    answers: _Answers
    offsets: Mapping[Any, int]
    nbytes: int
    numbered: dict[Module, int]
    modules: tuple[Module, ...]
    parts: list[Sequence[Step]]
    steps: tuple[Step, ...]


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


def _check_of(check: Check, tables: Tables) -> Callable[[Numbers], Check]:
    """Returns a function from the numbers to the check with numbers for sizes."""
    position, bound, node = check.position, check.bound, check.node
    highs = bound.high if isinstance(bound.high, tuple) else (bound.high,)
    if not any(isinstance(n, Size) for n in (bound.low, *highs)):
        return lambda numbers: check
    low, high = tables.value(bound.low), tables.value(bound.high)
    return lambda numbers: Check(position, Bound(bound.input, high(numbers), low(numbers), bound.what), node)
