"""Assembly: makes a `Program` of groups. Each group becomes launches, equal kernels share an entry, values get slots.

Invariant: the steps are in an order in which one queue may run them one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

from tfnb.codegen.fusion.group import Group, is_large
from tfnb.codegen.fusion.pieces import regions_of
from tfnb.codegen.fusion.specialize import Specialized
from tfnb.codegen.fusion.values import CallDef, CopyDef, Lowered, Value
from tfnb.codegen.memory import Block, plan_arena
from tfnb.codegen.opencl_c.emission import NAME, Generated
from tfnb.codegen.opencl_c.kerneltext import Scratch
from tfnb.codegen.program import Copy, DeviceFacts, Launch, Module, Program, Slot, Step, VariableUse
from tfnb.codegen.schedules.chain import as_part, chain_name, chain_text, part_name
from tfnb.codegen.schedules.columns import emit_columns
from tfnb.codegen.schedules.pointwise import biggest, emit_pointwise, nest_of, stores_of
from tfnb.codegen.schedules.product import emit_product, emit_small_product, is_small_product
from tfnb.codegen.schedules.rows import emit_rows
from tfnb.codegen.schedules.transpose import emit_transpose
from tfnb.codegen.whynot import WhyNot
from tfnb.errors import FailedPreconditionError, InternalError, OpError, UnimplementedError
from tfnb.ir.kernelcall import F32, F64, I32, BiasIn, In, KernelCall, Out, Temp, TensorInfo
from tfnb.ir.step_graph.cluster import Cluster

__all__ = ["Assembler"]

CHAIN_PARTS, CHAIN_ARGS = 8, 100  # the most parts and the most arguments of one chain
ALONE = "alone"  # the name of a kernel that is alone in its module
CHAINS = -1  # stands for the number of the module of chains until that is known

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

    module: int
    entry: str
    args: tuple[object, ...]
    groups: tuple[int, int, int]
    local: tuple[int, int, int]
    nodes: tuple[int, ...]
    label: str
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    aligned: frozenset[Value] = frozenset()
    copy: tuple[Value, int] | None = None
    group: int = 0
    parameters: tuple[str, ...] = ()  # of a generated kernel that can be a part of a chain


class Assembler:
    """Collects the steps of one program."""

    def __init__(
        self, cluster: Cluster, specialized: Specialized, lowered: Lowered, facts: DeviceFacts, fuse: bool = True
    ) -> None:
        self.fuse, self.apart = fuse and facts.kind == "cpu", not fuse
        self.cluster, self.specialized, self.lowered, self.facts = cluster, specialized, lowered, facts
        self.steps: list[_Step] = []
        self.temps: dict[_Temp, list[int]] = {}
        self.temp_bytes: dict[_Temp, int] = {}
        self.texts: dict[str, str] = {}
        self.needs: dict[tuple[str, str, int], None] = {}
        self.chains: dict[tuple[str, ...], str] = {}
        self.libraries: dict[Module, int] = {}
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
            if beside_small and is_small_product(first):
                self._generated(group, emit_small_product(first))
            else:
                self._call(group.number, first)
        elif isinstance(first, CopyDef):
            self._copy(first)
        else:
            needed = self._needed(group)
            for kernel in self._kernels(group, needed):
                self._generated(group, kernel)

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

    def _generated(self, group: Group, kernel: Generated) -> None:
        module, entry = self._entry(group, kernel)
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
        self.steps.append(
            _Step(
                module,
                entry,
                tuple(args),
                (kernel.geometry.groups, 1, 1),
                (kernel.geometry.local, 1, 1),
                _node_ids(group),
                group.label,
                tuple(t for t, _ in values if t not in results),
                tuple(results),
                kernel.aligned,
                group=group.number,
                parameters=() if kernel.has_local else kernel.parameters,
            )
        )

    def _entry(self, group: Group, kernel: Generated) -> tuple[int, str]:
        """Returns the module and the name of a generated kernel.

        Without fusion each kernel has a module to itself. Programs that contain the same kernel then have the same
        module, which is built once."""
        if self.apart:
            module = Module(source=self._source([kernel.text.replace(NAME, ALONE)], kernel.needs))
            return self.libraries.setdefault(module, len(self.libraries) + 1), ALONE
        entry = self.texts.get(kernel.text)
        if entry is None:
            entry = f"k{len(self.texts)}_{_slug(group)}"
            self.texts[kernel.text] = entry
            self.needs.update(dict.fromkeys(kernel.needs))
        return 0, entry

    def _temp(self, temp: _Temp, nbytes: int) -> _Temp:
        self.temps.setdefault(temp, []).append(len(self.steps))
        self.temp_bytes[temp] = max(nbytes, self.temp_bytes.get(temp, 0))
        return temp

    def _call(self, number: int, d: CallDef) -> None:
        node = self.nodes[d.nodes[0]]
        try:
            calls = d.recipe(d.site)
        except OpError as e:
            raise e.with_op(node) from None
        for call in calls:
            args = tuple(self._argument(number, d, a) for a in call.args)
            library = self._library(call)
            self.steps.append(
                _Step(library, call.entry, args, call.groups, call.local, d.nodes, d.label, d.reads, d.values)
            )

    def _argument(self, number: int, d: CallDef, a: object) -> object:
        if isinstance(a, In):
            return d.ins[a.index].value
        if isinstance(a, Out):
            return d.outs[a.index]
        if isinstance(a, BiasIn):
            if d.bias is None:
                raise InternalError(f"{d.label}: a bias is asked for where there is none")
            return d.bias.value
        if isinstance(a, Temp):
            return self._temp(_Temp(number, a.key), a.nbytes)
        return a

    def _library(self, call: KernelCall) -> int:
        module = Module(call.source, call.file, call.defines)
        return self.libraries.setdefault(module, len(self.libraries) + 1)

    def _copy(self, d: CopyDef) -> None:
        if d.source.value.info.size:
            value = d.source.value
            self.steps.append(
                _Step(0, "", (), (1, 1, 1), (1, 1, 1), d.nodes, d.label, (value,), (), copy=(value, d.output))
            )

    # the program

    def program(self, inputs: tuple[TensorInfo, ...], reasons: tuple[WhyNot, ...]) -> Program:
        """Returns the program: all steps, each with the memory that its pointers point to.

        Raises `FailedPreconditionError` for a variable without a value, and `UnimplementedError` for a variable that
        changes its shape in a step that also reads it.
        """
        small = [False, *(g.kind in ("pointwise", "row", "column") and not is_large(g) for g in self.groups), False]
        for k, g in enumerate(self.groups):
            self._emit(g, self.fuse and (small[k] or small[k + 2]))
        if self.fuse:
            self._chain()
        offsets, total = plan_arena(self._blocks())
        steps = tuple(self._placed(s, offsets) for s in self.steps)
        modules = [Module(source=self._source(text.replace(NAME, name) for text, name in self.texts.items()))]
        modules += self.libraries
        if self.chains:  # a module of their own: sizes decide about chains, and must not change the text of the others
            steps = tuple(
                replace(s, module=len(modules)) if isinstance(s, Launch) and s.module == CHAINS else s for s in steps
            )
            modules.append(Module(source=self._source(self._chain_texts())))
        if not self.texts:  # there is no generated kernel, so the library modules take the first numbers
            modules = modules[1:]
            steps = tuple(replace(s, module=s.module - 1) if isinstance(s, Launch) else s for s in steps)
        outputs = tuple(v.info for v in self.lowered.outputs)
        return Program(
            self.cluster.name,
            tuple(modules),
            steps,
            inputs,
            outputs,
            self._variables(),
            tuple(self.lowered.consts),
            self.cluster.random,
            total,
            reasons,
        )

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
            is_repeated = any(_is_again(s, step) or s.group == step.group for s in previous)
            if not (previous and is_short and _is_link(previous[-1]) and _is_link(step)) or is_repeated:
                runs.append([])
            runs[-1].append(step)
            run_of_step.append(len(runs) - 1)
        self.steps = [run[0] if len(run) == 1 else self._chained(run) for run in runs]
        self.temps = {t: [run_of_step[k] for k in steps] for t, steps in self.temps.items()}

    def _chained(self, run: list[_Step]) -> _Step:
        key = tuple(s.entry for s in run)
        if key not in self.chains:
            self.chains[key] = chain_text(chain_name(key), [(s.entry, s.parameters) for s in run])
        return replace(
            run[0],
            module=CHAINS,
            entry=chain_name(key),
            args=tuple(a for s in run for a in s.args),
            nodes=tuple(dict.fromkeys(n for s in run for n in s.nodes)),
            reads=tuple(dict.fromkeys(v for s in run for v in s.reads)),
            writes=tuple(dict.fromkeys(v for s in run for v in s.writes)),
            aligned=frozenset(),
            parameters=(),
        )

    def _chain_texts(self) -> list[str]:
        parts = {entry for key in self.chains for entry in key}
        texts = [as_part(text).replace(NAME, part_name(name)) for text, name in self.texts.items() if name in parts]
        return [*texts, *self.chains.values()]

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
                    and r.info.nbytes == v.info.nbytes
                    and r.info.dtype.size == size
                    and r.kind == "computed"
                )
                blocks.append(Block(v, v.info.nbytes, k, last[v], dead))
        for t, steps in self.temps.items():
            blocks.append(Block(t, self.temp_bytes[t], min(steps), max(steps)))
        return blocks

    def _placed(self, step: _Step, offsets: Mapping[Hashable, int]) -> Step:
        if step.copy is not None:
            value, output = step.copy
            info = self.lowered.outputs[output].info
            target = Slot("output", output, 0, info.nbytes)
            return Copy(self._slot(value, offsets), target, info.nbytes, step.nodes)
        args = tuple(
            a if isinstance(a, (I32, F32, F64)) else self._slot(a, offsets)  # type: ignore[arg-type]
            for a in step.args
        )
        return Launch(step.module, step.entry, args, step.groups, step.local, step.nodes, step.label)

    def _slot(self, place: Place | _Temp | _Part, offsets: Mapping[Hashable, int]) -> Slot:
        if isinstance(place, _Part):
            return replace(self._slot(place.value, offsets), nbytes=place.nbytes)
        if isinstance(place, int):
            return Slot("rng", self.cluster.random.index(place), 0, 16)
        if isinstance(place, _Temp):
            return Slot("arena", 0, offsets[place], self.temp_bytes[place])
        if isinstance(place, Scratch):
            raise InternalError("a scratch without a group")
        nbytes = place.info.nbytes
        if place.kind != "computed":
            return Slot(place.kind, place.index, 0, nbytes)
        if place in self.outputs:
            return Slot("output", self.outputs[place], 0, nbytes)
        if place not in offsets:
            return Slot("arena", 0, 0, nbytes)  # no step writes the value, because it has no elements
        return Slot("arena", 0, offsets[place], nbytes)

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
            initial = self.specialized.initial.get(node, info)
            if k in reads and k in writes and initial != info:
                raise UnimplementedError(
                    f"the variable changes its shape from {initial.shape} to {info.shape} in a step that also reads it",
                    self.nodes[node],
                )
            # No step writes a variable that has no elements, but an assignment must still make it initialised.
            uses.append(VariableUse(node, info, k in reads, k in writes or not info.size))
        return tuple(uses)

    def _source(self, kernels: Iterable[str], needs: Iterable[tuple[str, str, int]] | None = None) -> str:
        parts = ['#include "lib/types.clh"']
        if self.facts.kind == "gpu":
            parts.insert(0, "#define TFNB_GPU 1")
        parts.append('#include "lib/index.clh"')
        for file, ctype, lanes in sorted(self.needs if needs is None else needs):
            width = str(lanes) if lanes > 1 else ""
            parts += [f"#define T {ctype}" if ctype else "", f"#define W {width}", f'#include "{file}"']
        return "\n".join(p for p in parts if p) + "\n\n" + "\n\n".join(kernels) + "\n"


def _is_link(step: _Step) -> bool:
    return bool(step.parameters) and step.groups == step.local == (1, 1, 1)


def _is_again(before: _Step, step: _Step) -> bool:
    """Returns whether two steps run the same kernel, and the same of their size arguments are equal to each other.

    The updates of several variables by an optimizer are such steps.
    """
    return before.entry == step.entry and _equal_sizes(before) == _equal_sizes(step)


def _equal_sizes(step: _Step) -> list[int]:
    """Returns for each size argument of a step the position of the first size argument that is equal to it."""
    sizes = [a for a in step.args if isinstance(a, I32)]
    return [sizes.index(a) for a in sizes]


def _node_ids(group: Group) -> tuple[int, ...]:
    return tuple(dict.fromkeys(n for m in group.members for n in m.definition.nodes))


def _slug(group: Group) -> str:
    """Returns a name for profiles, from the last part of the name of the kernel's first node."""
    name = re.sub(r"\W+", "_", group.label.rsplit("/", 1)[-1]).strip("_").lower()
    return re.sub(r"_?\d+$", "", name) or "kernel"
