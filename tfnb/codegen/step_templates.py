"""The steps of a program class, and templates of them, by which those for the shapes of a run are made fast.

A step says everything about itself except the numbers for its sizes, which may be formulas. A template has the places
of its numbers and arguments in tables that are filled for each run (`program_class.py`).
Invariant: a step of which nothing has changed since the latest program is the same object, so that it is found fast.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from tfnb.codegen.program import Copy, Launch, Module, Slot
from tfnb.errors import InternalError, OpError
from tfnb.ir.kernelcall import I32, BiasIn, In, KernelCall, KernelSite, Out, Temp, TensorInfo
from tfnb.ir.step_graph.graph import Node

__all__ = [
    "Answer",
    "Call",
    "CallTemplate",
    "Chain",
    "ChainTemplate",
    "Choice",
    "ChoiceTemplate",
    "ClassStep",
    "CopyTemplate",
    "LaunchTemplate",
    "Numbers",
    "Picker",
    "Site",
    "Template",
    "picker",
]


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
    """Two ways of computing the same values: `launch` runs, or the step `otherwise` if the size `when` is 0."""

    when: int
    launch: Launch
    otherwise: ClassStep


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Small kernels that follow each other: `whole` runs instead of `parts` if each part has a single work-item.

    Else `parts` are launches of the same kernel, and those of neighbours with a single work-item are joined.
    """

    whole: Launch
    parts: tuple[ClassStep, ...]


ClassStep = Launch | Copy | Call | Choice | Chain

Numbers = tuple[int, ...]
"""The values of all sizes of a class for the shapes of a run."""

Picker = Callable[[Sequence[Any]], tuple[Any, ...]]
"""A function from a table to some of its elements."""


# The function that makes a named tuple takes twice as long.
_new = tuple.__new__


def picker(places: Iterable[int]) -> Picker:
    """Returns a function that picks the elements at these places."""
    chosen = tuple(places)
    if len(chosen) > 1:
        return itemgetter(*chosen)
    return (lambda table: (table[chosen[0]],)) if chosen else (lambda table: ())


class LaunchTemplate(NamedTuple):
    """`uses` has the places of the arguments, and `~n` for the place n of each number; `nbytes` is the place of the
    number of bytes that the launch accesses, or None. `args` picks the arguments at `places`.
    """

    launch: Launch
    places: Sequence[int]
    args: Picker
    groups: Picker
    local: Picker
    nbytes: int | None
    chain: Launch | None
    uses: frozenset[int]

    def decides(self) -> Sequence[int]:
        """Returns the places of the numbers on which the result of `choose` depends."""
        return ()

    def choose(self, numbers: Numbers, chosen: list[Template]) -> None:
        """Adds those templates to `chosen` that make the step for these numbers."""
        chosen.append(self)

    def found(self, places: Collection[int]) -> Sequence[int]:
        """Returns which arguments are at some of these places of the table."""
        return tuple([k for k, place in enumerate(self.places) if place in places])

    def step(self, numbers: Numbers, arguments: Sequence[Any]) -> Launch:
        """Returns the step."""
        launch, _, pick_args, pick_groups, pick_local, n, _, _ = self
        module, entry, _, _, _, nodes, label, _ = launch
        args, groups, local = pick_args(arguments), pick_groups(numbers), pick_local(numbers)
        nbytes = None if n is None else numbers[n]
        return _new(Launch, (module, entry, args, groups, local, nodes, label, nbytes))


class CopyTemplate(NamedTuple):
    source: int
    target: int
    nbytes: int
    nodes: tuple[int, ...]
    uses: frozenset[int]

    def decides(self) -> Sequence[int]:
        return ()

    def choose(self, numbers: Numbers, chosen: list[Template]) -> None:
        chosen.append(self)

    def step(self, numbers: Numbers, arguments: Sequence[Any]) -> Copy:
        return Copy(arguments[self.source], arguments[self.target], numbers[self.nbytes], self.nodes)


class CallTemplate(NamedTuple):
    """`uses` are the places of all arguments, of `ins`, `outs` and `bias`, and `args` picks these.

    `latest` has the latest launches after what they were made of.
    """

    k: int
    call: Call
    site: Site
    uses: frozenset[int]
    args: Picker
    ins: list[int]
    outs: list[int]
    bias: int | None
    latest: list[Any]

    def decides(self) -> Sequence[int]:
        return ()

    def choose(self, numbers: Numbers, chosen: list[Template]) -> None:
        chosen.append(self)

    def ask(self, numbers: Numbers, infos: Sequence[TensorInfo]) -> Answer:
        """Returns the answer of the recipe. Raises its errors with the node of the call."""
        try:
            return self.site.answer(numbers, infos)
        except OpError as e:
            raise e.with_op(self.call.node) from None

    def launches(
        self, answer: Answer, arguments: Sequence[Any], temps: Mapping[str, Slot], modules: dict[Module, int]
    ) -> list[Launch]:
        """Returns the launches for the answer of the recipe; equal ones are the same objects as before."""
        numbers = [modules.setdefault(m, len(modules)) for m in answer.modules]
        made_of = numbers, self.args(arguments), temps
        # Not an equal but the same answer: 0.0 equals -0.0, and a comparison would take longer.
        if self.latest and self.latest[0] is answer and self.latest[1] == made_of:
            launches: list[Launch] = self.latest[2]
            return launches
        nodes, label = self.call.nodes, self.call.label
        launches = []
        for c, module, pointers in zip(answer.calls, numbers, answer.pointers, strict=True):
            args: list[Any] = list(c.args)
            for place in pointers:
                a = args[place]
                kind = type(a)
                if kind is In:
                    slot = args[place] = arguments[self.ins[a.index]]
                    if slot[0] == "none":
                        raise InternalError(f"{label}: the recipe points to input {a.index}, whose sizes it is given")
                elif kind is Out:
                    args[place] = arguments[self.outs[a.index]]
                elif kind is Temp:
                    args[place] = temps[a.key]
                elif kind is BiasIn:
                    if self.bias is None:
                        raise InternalError(f"{label}: the recipe uses a bias, and the call has none")
                    args[place] = arguments[self.bias]
            launches.append(_new(Launch, (module, c.entry, tuple(args), c.groups, c.local, nodes, label, c.nbytes)))
        self.latest[:] = answer, made_of, launches
        return launches


Template = LaunchTemplate | CopyTemplate | CallTemplate


class ChoiceTemplate(NamedTuple):
    when: int
    launch: Any
    otherwise: Any

    def decides(self) -> Sequence[int]:
        return [self.when, *self.launch.decides(), *self.otherwise.decides()]

    def choose(self, numbers: Numbers, chosen: list[Template]) -> None:
        (self.launch if numbers[self.when] else self.otherwise).choose(numbers, chosen)


class ChainTemplate(NamedTuple):
    """`groups` are the numbers of work-groups of the parts, `choices` the sizes on which parts depend."""

    whole: Any
    parts: list[Any]
    groups: list[int]
    choices: list[int]
    has_launches_only: bool

    def decides(self) -> Sequence[int]:
        own = [*self.groups, *self.choices] if self.has_launches_only else self.choices
        return [*own, *(n for part in (self.whole, *self.parts) for n in part.decides())]

    def choose(self, numbers: Numbers, chosen: list[Template]) -> None:
        is_single = self.has_launches_only and all(numbers[k] == 1 for k in self.groups)
        if is_single and all(numbers[k] for k in self.choices):
            self.whole.choose(numbers, chosen)
        else:
            for part in self.parts:
                part.choose(numbers, chosen)


class Answer(NamedTuple):
    """What a recipe has answered: `calls`, the program of each, and the bytes of their temporary memory by its key.

    `pointers` has for each call the places of the arguments that are no numbers.
    """

    calls: Sequence[KernelCall]
    modules: tuple[Module, ...]
    temps: Mapping[str, int]
    pointers: Sequence[Sequence[int]]


def _answer(calls: Sequence[KernelCall]) -> Answer:
    temps: dict[str, int] = {}
    pointers = []
    for call in calls:
        args = call.args
        places = [k for k, a in enumerate(args) if type(a) is not I32]
        for k in places:
            a = args[k]
            if type(a) is Temp:
                temps[a.key] = max(a.nbytes, temps.get(a.key, 0))
        pointers.append(places)
    return Answer(calls, tuple([_new(Module, (c.source, c.file, c.defines, ())) for c in calls]), temps, pointers)


class Site:
    """A site whose tensors and values have sizes; it keeps the recipe's last answer, which depends on these alone.

    `dims` are the places of these sizes among the numbers.
    """

    def __init__(
        self,
        recipe: Callable[[KernelSite], Sequence[KernelCall]],
        site: KernelSite,
        inputs: Picker,
        outputs: Picker,
        bias: int | None,
        values: Mapping[int, Picker],
        dims: frozenset[int],
    ) -> None:
        self._recipe, self._site = recipe, site
        self._inputs, self._outputs, self._bias, self._values = inputs, outputs, bias, values
        self.dims = dims
        self._pick_dims = picker(sorted(dims))
        self._last: tuple[Numbers, Answer] | None = None

    def answer(self, numbers: Numbers, infos: Sequence[TensorInfo]) -> Answer:
        """Returns the answer of the recipe. Raises its errors."""
        dims = self._pick_dims(numbers)
        if self._last is None or self._last[0] != dims:
            self._last = dims, _answer(self._recipe(self._with_numbers(numbers, infos)))
        return self._last[1]

    def _with_numbers(self, numbers: Numbers, infos: Sequence[TensorInfo]) -> KernelSite:
        s = self._site
        values = s.values
        for i, picker in self._values.items():
            array = np.asarray(picker(numbers), s.inputs[i].dtype.np).reshape(s.values[i].shape)
            values = {**values, i: array}
        epilogue = s.epilogue if self._bias is None else replace(s.epilogue, bias=infos[self._bias])
        return KernelSite(
            s.op, self._inputs(infos), self._outputs(infos), s.attrs, values, s.units, s.kind, epilogue, s.updated
        )
