"""Assembly: makes a `Program` of groups. Each group becomes launches, equal kernels share an entry, values get slots.

Invariant: the steps are in an order in which one queue may run them one after the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tfnb.codegen.fusion.cuts import regions_of
from tfnb.codegen.fusion.group import Group, is_large
from tfnb.codegen.fusion.specialize import Specialized
from tfnb.codegen.fusion.values import CallDef, CopyDef, Lowered, Value
from tfnb.codegen.memory import NO_BLOCK, Block
from tfnb.codegen.modules import KernelKey, KernelTable, Modules
from tfnb.codegen.opencl_c.emission import Generated
from tfnb.codegen.opencl_c.kerneltext import Scratch
from tfnb.codegen.program import Copy, DeviceFacts, Launch, Module, Program, Slot, VariableUse
from tfnb.codegen.schedules.chain import selection
from tfnb.codegen.schedules.columns import emit_columns
from tfnb.codegen.schedules.pointwise import biggest, emit_pointwise, nest_of, stores_of
from tfnb.codegen.schedules.product import emit_product, emit_small_product, is_small_product
from tfnb.codegen.schedules.rows import emit_rows
from tfnb.codegen.schedules.transpose import emit_transpose
from tfnb.codegen.step_templates import Call, Chain, Choice, ClassStep
from tfnb.codegen.whynot import WhyNot
from tfnb.errors import FailedPreconditionError, InternalError, OpError
from tfnb.ir.kernelcall import F32, F64, I32, Arg, BiasIn, In, KernelCall, Out, Temp, TensorInfo
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.size_trace import SizeTrace
from tfnb.sizes import AnySize, largest, plain, same, typical

__all__ = ["Assembler"]

CHAIN_PARTS, CHAIN_ARGS = 8, 100  # the most parts and the most arguments of one chain

Place = Value | Scratch | int  # an int is the id of a random node


@dataclass(frozen=True, slots=True)
class _Temp:
    """Scratch memory of one group, which its generated kernels or its library calls identify by `key`."""

    group: int
    key: int | str


@dataclass(frozen=True, slots=True)
class _Part:
    """A value, and the largest number of its bytes that a kernel reads."""

    value: Value
    nbytes: int


@dataclass(frozen=True, slots=True)
class _Step:
    """A step whose pointers have no addresses yet."""

    nodes: tuple[int, ...]
    label: str
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    kernel: KernelKey | None = None  # of a launch of a generated kernel
    args: tuple[object, ...] = ()
    groups: tuple[int, int, int] = (1, 1, 1)
    local: tuple[int, int, int] = (1, 1, 1)
    aligned: frozenset[Value] = frozenset()
    copy: tuple[Value, int] | None = None
    piece_of: int | None = None  # the number of a pointwise group, which may be cut into pieces
    parameters: tuple[str, ...] = ()  # of a generated kernel that can be a part of a chain
    parts: tuple[_Step, ...] = ()  # of a chain
    call: CallDef | None = None  # library kernels do the work, which are known when sizes are numbers
    library: KernelCall | None = None  # this launch of a library kernel does the work
    when: AnySize = 1  # if this is 0, the step `otherwise` runs instead
    otherwise: _Step | None = None


class Assembler:
    """Collects the steps of one program."""

    def __init__(
        self,
        cluster: Cluster,
        specialized: Specialized,
        lowered: Lowered,
        facts: DeviceFacts,
        kernels: KernelTable,
        trace: SizeTrace,
        fuse: bool = True,
    ) -> None:
        self._trace = trace
        self.fuse, self.apart = fuse and facts.kind == "cpu", not fuse
        self.cluster, self.specialized, self.lowered, self.facts = cluster, specialized, lowered, facts
        self.steps: list[_Step] = []
        self.temps: dict[_Temp, list[int]] = {}
        self.temp_bytes: dict[_Temp, int] = {}
        self.modules = Modules(facts, kernels, self.apart)
        self.readers: dict[Value, set[int]] = {}
        self.outputs: dict[Value, int] = {}
        for k, view in enumerate(lowered.outputs):
            if view.value.kind == "computed":
                self.outputs.setdefault(view.value, k)
        self.groups: list[Group] = []
        self.nodes = cluster.by_id()

    def add(self, group: Group) -> None:
        """Appends the steps of a group to those of the program."""
        self.groups.append(group)
        for v in group.reads:
            self.readers.setdefault(v, set()).add(group.number)

    # steps

    def _emit(self, group: Group, beside_small: bool) -> None:
        first = group.members[0].definition
        if group.kind == "call" and isinstance(first, CallDef):
            call = _Step(first.nodes, first.label, first.reads, first.values, call=first)
            if beside_small and first.product is not None and is_small_product(first):
                small = self._generated(group, emit_small_product(first))
                self.steps.append(_either(first.product.small, small, call))
            elif (calls := self._known_calls(first)) is not None:
                for c in calls:
                    self.steps.append(self._library(group, first, c))
            else:
                self.steps.append(call)
        elif isinstance(first, CopyDef):
            self._copy(first)
        else:
            needed = self._needed(group)
            for kernel in self._kernels(group, needed):
                self.steps.append(self._generated(group, kernel))  # one by one: its scratch is noted for the next step

    def _known_calls(self, d: CallDef) -> Sequence[KernelCall] | None:
        """Returns the answer of the recipe if it is the same formulas for all shapes of the class, else None."""
        if not d.takes_formulas or self.facts.kind == "gpu":  # where the tiles depend on numbers
            return None
        if any([0 in t.shape for t in (*d.site.inputs, *d.site.outputs)]):  # noqa: C419 - each is a condition
            return None
        try:
            return self._trace.without_conditions(partial(d.recipe, d.site))
        except OpError:  # which comes again, with the node to blame, when sizes are numbers
            return None

    def _library(self, group: Group, d: CallDef, call: KernelCall) -> _Step:
        args = tuple([self._library_arg(group, d, a) for a in call.args])
        return _Step(d.nodes, d.label, d.reads, d.values, None, args, call.groups, call.local, library=call)

    def _library_arg(self, group: Group, d: CallDef, a: Arg) -> object:
        if isinstance(a, In):
            value = d.ins[a.index].value
            if value.kind == "none":
                raise InternalError(f"{d.label}: the recipe points to input {a.index}, whose sizes it is given")
            return value
        if isinstance(a, Out):
            return d.outs[a.index]
        if isinstance(a, Temp):
            return self._temp(_Temp(group.number, a.key), a.nbytes)
        if isinstance(a, BiasIn):
            if d.bias is None:
                raise InternalError(f"{d.label}: the recipe uses a bias, and the call has none")
            return d.bias.value
        return a

    def _needed(self, group: Group) -> frozenset[object]:
        """Returns the values of a group that other groups read, or that are outputs of the program."""
        candidates = (v for m in group.members for v in m.values)
        return frozenset(
            v
            for v in candidates
            if v.kind == "variable" or v in self.outputs or self.readers.get(v, set()) - {group.number}
        )

    def _kernels(self, group: Group, needed: frozenset[object]) -> list[Generated]:
        size = 1
        for n in group.domain:
            size *= n
        if size == 0 and group.kind == "pointwise":
            return []
        if group.kind == "pointwise":
            regions = regions_of(group.domain, stores_of(group, needed), biggest(group))
            nests = [nest_of(r) for r in regions]
            return [emit_transpose(*n, self.facts) or emit_pointwise(*n, self.facts) for n in nests]
        if group.kind == "product":
            return [emit_product(group, self.facts, needed)]
        if group.kind == "row":
            return emit_rows(group, self.facts, needed)
        return emit_columns(group, self.facts, needed)

    def _generated(self, group: Group, kernel: Generated) -> _Step:
        args: list[object] = []
        for target in kernel.pointers:
            if isinstance(target, Scratch):
                args.append(self._temp(_Temp(group.number, target.key), target.nbytes))
            elif isinstance(target, Value) and target in kernel.touched:
                args.append(_Part(target, kernel.touched[target]))
            else:
                args.append(target)
        args += [I32(n) for n in kernel.sizes] + [F32(x) for x in kernel.numbers]
        values = [(t, w) for t, w in zip(kernel.pointers, kernel.written, strict=True) if isinstance(t, Value)]
        written = {t.memory for t, w in values if w}
        results = [v for m in group.members for v in m.values if v.memory in written]
        return _Step(
            _node_ids(group),
            group.label,
            tuple(t for t, _ in values if t not in results),
            tuple(results),
            self.modules.kernel(kernel, group.label),
            tuple(args),
            (kernel.geometry.groups, 1, 1),
            (kernel.geometry.local, 1, 1),
            kernel.aligned,
            piece_of=group.number if group.kind == "pointwise" else None,
            parameters=kernel.parameters if kernel.local is None else (),
        )

    def _temp(self, temp: _Temp, nbytes: int) -> _Temp:
        self.temps.setdefault(temp, []).append(len(self.steps))
        self.temp_bytes[temp] = largest(nbytes, self.temp_bytes.get(temp, 0))
        return temp

    def _copy(self, d: CopyDef) -> None:
        if d.source.value.info.size:
            value = d.source.value
            self.steps.append(_Step(d.nodes, d.label, (value,), (), copy=(value, d.output)))

    # the program

    def program(
        self, inputs: tuple[TensorInfo, ...], reasons: tuple[WhyNot, ...]
    ) -> tuple[Program, list[ClassStep], list[Block]]:
        """Returns the program without its steps, its steps, and the blocks of its arena, see `ProgramClass`.

        Raises `FailedPreconditionError` for a variable without a value.
        """
        small = [False, *(g.kind in ("pointwise", "row", "column") and not is_large(g) for g in self.groups), False]
        for k, g in enumerate(self.groups):
            self._emit(g, self.fuse and (small[k] or small[k + 2]))
        if self.fuse:
            self._chain()
        blocks = self._blocks()
        places = self.modules.places({s.kernel for s in self.steps})
        of_library = [_module_of(s.library) for s in self.steps if s.library is not None]
        modules = {m: k for k, m in enumerate(dict.fromkeys([*(m for m, _ in places.values()), *of_library]))}
        kernels = {key: (modules[m], entry) for key, (m, entry) in places.items()}
        placement = _Placement(self, {b.key: k for k, b in enumerate(blocks)}, kernels, modules)
        steps = [placement.step(s) for s in self.steps]
        program = Program(
            self.cluster.name,
            tuple(modules),
            (),
            inputs,
            tuple(v.info for v in self.lowered.outputs),
            self._variables(),
            tuple(self.lowered.consts),
            self.cluster.random,
            0,
            reasons,
        )
        return program, steps, blocks

    def _chain(self) -> None:
        """Makes one launch of generated kernels that follow each other and have one work-item each.

        Equal kernels and the pieces of one group stay launches of their own: there may be many of them, and in a chain
        they would be compiled once for each place.
        """
        runs: list[list[_Step]] = []
        run_of_step = []
        for step in self.steps:
            previous = runs[-1] if runs else []
            is_short = sum(len(s.args) for s in previous) + len(step.args) <= CHAIN_ARGS and len(previous) < CHAIN_PARTS
            is_repeated = any(_is_again(s, step) or _same_piece(s, step) for s in previous)
            if not (previous and is_short and _is_link(previous[-1]) and _is_link(step)) or is_repeated:
                runs.append([])
            runs[-1].append(step)
            run_of_step.append(len(runs) - 1)
        self.steps = [run[0] if len(run) == 1 else self._chained(run) for run in runs]
        self.temps = {t: [run_of_step[k] for k in steps] for t, steps in self.temps.items()}

    def _chained(self, run: list[_Step]) -> _Step:
        kernels = [s.kernel for s in run if s.kernel is not None]
        return replace(
            run[0],
            kernel=self.modules.chain(kernels, [s.parameters for s in run]),
            args=(I32(selection(range(len(run)))), *(a for s in run for a in s.args)),
            groups=(1, 1, 1),
            nodes=tuple(dict.fromkeys(n for s in run for n in s.nodes)),
            reads=tuple(dict.fromkeys(v for s in run for v in s.reads)),
            writes=tuple(dict.fromkeys(v for s in run for v in s.writes)),
            aligned=frozenset(),
            parameters=(),
            parts=tuple(run),
            when=1,
            otherwise=None,
        )

    def _blocks(self) -> list[Block]:
        first: dict[Value, int] = {}
        last: dict[Value, int] = {}
        for k, step in enumerate(self.steps):
            for v in step.writes:
                first.setdefault(v, k)
                last[v] = max(last.get(v, k), k)
            for v in step.reads:
                last[v] = max(last.get(v, k), k)
        blocks = []
        for v, k in first.items():
            if v.kind == "computed" and v not in self.outputs:
                size = v.info.dtype.size
                dead = tuple(
                    r
                    for r in sorted(self.steps[k].aligned, key=lambda r: r.number)
                    if r in first
                    and r not in self.outputs
                    and same(r.info.nbytes, v.info.nbytes)
                    and r.info.dtype.size == size
                    and r.kind == "computed"
                )
                blocks.append(Block(v, v.info.nbytes, k, last[v], dead))
        for t, steps in self.temps.items():
            blocks.append(Block(t, self.temp_bytes[t], min(steps), max(steps)))
        return blocks

    def _variables(self) -> tuple[VariableUse, ...]:
        reads, writes = set(), set()
        for step in self.steps:
            reads |= {v.index for v in step.reads if v.kind == "variable" and not v.version}
            writes |= {v.index for v in step.writes if v.kind == "variable"}
        uses = []
        for k, node in enumerate(self.cluster.variables):
            info = self.specialized.variables.get(node)
            if info is None:
                raise FailedPreconditionError("the variable has no value", self.nodes[node])
            # No step writes a variable that has no elements, but an assignment must still make it initialised.
            uses.append(VariableUse(node, info, k in reads, k in writes or not info.size))
        return tuple(uses)


def _module_of(call: KernelCall) -> Module:
    return Module(call.source, call.file, call.defines)


def _either(when: AnySize, one: _Step, other: _Step) -> _Step:
    """Returns a step that runs `one`, or `other` if the size `when` is 0."""
    reads = tuple(dict.fromkeys((*one.reads, *other.reads)))
    if plain(when):
        return replace(one, reads=reads, when=when)
    return replace(one, reads=reads, when=when, otherwise=other, aligned=frozenset())


@dataclass(frozen=True, slots=True)
class _Placement:
    """Gives steps the numbers of their modules and of their blocks of the arena."""

    assembler: Assembler
    blocks: Mapping[Hashable, int]
    kernels: Mapping[KernelKey, tuple[int, str]]
    modules: Mapping[Module, int]

    def step(self, step: _Step) -> ClassStep:
        if step.copy is not None:
            value, output = step.copy
            info = self.assembler.lowered.outputs[output].info
            return Copy(self._slot(value), Slot("output", output, 0, info.nbytes), info.nbytes, step.nodes)
        if any(not plain(s.groups[0]) or not plain(s.when) for s in step.parts):
            parts = [_alone(step, k) for k in range(len(step.parts))]
            return Chain(self._launch(step), tuple(map(self.step, parts)))
        if step.otherwise is not None:
            return Choice(step.when, self._launch(step), self.step(step.otherwise))
        return self._launch(step) if step.call is None else self._call(step.call)

    def _launch(self, step: _Step) -> Launch:
        args = tuple(
            a if isinstance(a, (I32, F32, F64, Slot)) else self._slot(a)  # type: ignore[arg-type]
            for a in step.args
        )
        nbytes = None
        if step.library is not None:
            module, entry, nbytes = self.modules[_module_of(step.library)], step.library.entry, step.library.nbytes
        elif step.kernel is not None:
            module, entry = self.kernels[step.kernel]
        else:
            raise InternalError(f"{step.label}: a launch without a kernel")
        return Launch(module, entry, args, step.groups, step.local, step.nodes, step.label, nbytes)

    def _call(self, d: CallDef) -> Call:
        return Call(
            self.assembler.nodes[d.nodes[0]],
            d.nodes,
            d.label,
            d.recipe,
            d.site,
            tuple(self._slot(v.value) for v in d.ins),
            tuple(map(self._slot, d.outs)),
            None if d.bias is None else self._slot(d.bias.value),
        )

    def _slot(self, place: Place | _Temp | _Part) -> Slot:
        a = self.assembler
        if isinstance(place, _Part):
            return self._slot(place.value)._replace(nbytes=place.nbytes)
        if isinstance(place, int):
            return Slot("rng", a.cluster.random.index(place), 0, 16)
        if isinstance(place, _Temp):
            return Slot("arena", self.blocks[place], 0, a.temp_bytes[place])
        if isinstance(place, Scratch):
            raise InternalError("a scratch without a group")
        nbytes = place.info.nbytes
        if place.kind != "computed":
            return Slot(place.kind, place.index, 0, nbytes)
        if place in a.outputs:
            return Slot("output", a.outputs[place], 0, nbytes)
        # No step writes a value that has no elements.
        return Slot("arena", self.blocks.get(place, NO_BLOCK), 0, nbytes)


def _alone(chain: _Step, number: int) -> _Step:
    """Returns the part of a chain with this number, launched by itself.

    It is a launch of the chain's kernel all the same, so that no other kernel has to be compiled for it.
    """
    args: list[object] = [I32(selection([number]))]
    for k, part in enumerate(chain.parts):
        args += part.args if k == number else map(_nothing, part.args)
    return replace(chain.parts[number], kernel=chain.kernel, args=tuple(args))


def _nothing(arg: object) -> object:
    """Returns the argument for a part that is not selected, in place of `arg`."""
    return type(arg)(0) if isinstance(arg, (I32, F32, F64)) else Slot("none")


def _is_link(step: _Step) -> bool:
    """Returns whether the step can be a part of a chain: a generated kernel of one work-item for typical sizes."""
    is_single = tuple(map(typical, step.groups)) == step.local == (1, 1, 1)
    return bool(step.parameters) and is_single and typical(step.when) == 1


def _is_again(before: _Step, step: _Step) -> bool:
    """Returns whether two steps run the same kernel, and the same of their size arguments are equal to each other.

    The updates of several variables by an optimizer are such steps.
    """
    return before.kernel == step.kernel and _equal_sizes(before) == _equal_sizes(step)


def _same_piece(before: _Step, step: _Step) -> bool:
    return before.piece_of is not None and before.piece_of == step.piece_of


def _equal_sizes(step: _Step) -> list[int]:
    """Returns for each size argument of a step the position of the first size argument that is equal to it."""
    first: dict[AnySize, int] = {}
    sizes = [a.value for a in step.args if isinstance(a, I32)]
    return [first.setdefault(n, len(first)) for n in sizes]


def _node_ids(group: Group) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n for m in group.members for n in m.definition.nodes))
