"""Placing a step's nodes on devices (white paper, sections 3.2.1 and 4.3).

Nodes that must share a device form groups. The feasible devices of a group are those that all its members can run on
and that match the requested devices; a policy chooses among them. Invariant: every node of the result has the full
name of an existing device, and state stays on the device on which an earlier step has placed it.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tfnb.errors import InvalidArgumentError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.graphdef.attrs import is_sendable
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.placement.groups import StateGroups, Union, is_state, join_graph, makes_state
from tfnb.placement.loops import unsplittable

__all__ = ["Choice", "Group", "Placement", "Rules", "check_devices", "first_device", "place", "random_device"]


_EVERYWHERE = (Kind.CONST, Kind.PLACEHOLDER)


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes that share a device.

    `feasible` lists their possible devices, the default first; `why` says in words what excludes the others. `pinned`
    is the device on which an earlier step has placed their state, or "". `key` is the name that represents the group.
    """

    nodes: tuple[Node, ...]
    feasible: tuple[str, ...]
    why: str = ""
    pinned: str = ""
    key: str = ""


@dataclass(frozen=True)
class Choice:
    """The device of a group, and the reason for it in words."""

    device: str
    why: str


Policy = Callable[[Graph, Sequence[Group], Sequence[str]], Sequence[Choice]]
"""(graph, groups, devices) -> a choice per group, among its feasible devices."""


def first_device(graph: Graph, groups: Sequence[Group], devices: Sequence[str]) -> list[Choice]:
    """The policy that takes the first feasible device of each group, as TensorFlow does."""
    return [Choice(g.pinned or g.feasible[0], "the first that it may go to") for g in groups]


def random_device(seed: int) -> Policy:
    """Returns a policy for tests that takes a random feasible device, the same in every process with the same seed."""

    def choose(graph: Graph, groups: Sequence[Group], devices: Sequence[str]) -> list[Choice]:
        choices = []
        for g in groups:
            rng = random.Random(zlib.crc32(f"{seed}/{g.key}".encode()))
            choices.append(Choice(g.pinned or rng.choice(g.feasible), f"by chance (seed {seed})"))
        return choices

    return choose


@dataclass(frozen=True)
class Rules:
    """The specification by which a session places a step.

    `devices` are full names, the default first. With `soft`, a node that cannot run on the requested device runs on
    another. `pins` maps each operation that creates state to its device in earlier steps. `policy` chooses among
    feasible devices. `own` are the devices of this process if there are others; a node that holds a Python object of
    this process must run on one of them.
    """

    devices: tuple[str, ...]
    soft: bool = False
    policy: Policy = first_device
    state: StateGroups = field(default_factory=StateGroups)
    pins: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Placement:
    """A placed graph. `groups` and `choices` say where each group is and why; they are empty if there was no choice."""

    graph: Graph
    groups: tuple[Group, ...] = ()
    choices: tuple[Choice, ...] = ()

    def pins(self) -> dict[str, str]:
        """Returns the device of each operation that creates state, by name, which later steps keep."""
        return {
            n.name: c.device for g, c in zip(self.groups, self.choices, strict=True) for n in g.nodes if makes_state(n)
        }

    def report(self) -> str:
        """Returns a text that lists every group with its device and the reason, the largest group first."""
        devices = sorted({n.device for n in self.graph.nodes.values()})
        if not self.groups:
            return f"{len(self.graph.nodes)} nodes on {', '.join(devices)}: there is no other device, and no wish"
        lines = []
        shown = [k for k, g in enumerate(self.groups) if any(n.opdef.kind not in _EVERYWHERE for n in g.nodes)]
        order = sorted(shown, key=lambda k: -len(self.groups[k].nodes))
        for device in devices:
            shown_here = [k for k in order if self.choices[k].device == device]
            n = sum(len(self.groups[k].nodes) for k in shown_here)
            lines.append(f"{device}: {n} nodes in {len(shown_here)} groups")
            for k in shown_here:
                group, choice = self.groups[k], self.choices[k]
                reason = f"{group.why}; {choice.why}" if group.why else choice.why
                lines.append(f"  {_names(group.nodes)}: {reason}")
        lines.append("constants and fed values are wherever they are read")
        return "\n".join(lines)


def _names(nodes: Sequence[Node], most: int = 4) -> str:
    names = ", ".join(n.name for n in nodes[:most])
    return f"{names} and {len(nodes) - most} more" if len(nodes) > most else names


def place(graph: Graph, rules: Rules) -> Placement:
    """Places the nodes of a step on devices.

    Raises `InvalidArgumentError` if a group has no feasible device; the message names a node, its source line, the
    requested device and the devices that are possible.
    """
    if len(rules.devices) == 1 and not any(n.device for n in graph.nodes.values()):
        return Placement(_with_devices(graph, dict.fromkeys(graph.nodes, rules.devices[0])))
    groups = _groups(graph, rules)
    choices = rules.policy(graph, groups, rules.devices)
    device_of_node = {n.id: c.device for g, c in zip(groups, choices, strict=True) for n in g.nodes}
    return Placement(_with_devices(graph, device_of_node), tuple(groups), tuple(choices))


def check_devices(graph: Graph, rules: Rules) -> None:
    """Raises `InvalidArgumentError` for a node that requests a device that does not exist.

    The error is also raised for a node that a later pass will fold.
    """
    if not rules.soft:
        specs = _known(rules.devices)
        for node in graph.nodes.values():
            if node.device:
                spec = DeviceSpec.from_string(node.device)
                if not any(spec.matches(d) for d in specs.values()):
                    raise _refusal(node, spec, rules, "there is no such device")


def _known(devices: Iterable[str]) -> dict[str, DeviceSpec]:
    return {d: DeviceSpec.from_string(d) for d in devices}


def _groups(graph: Graph, rules: Rules) -> list[Group]:
    union = Union[str]()
    for name, root in rules.state.of.items():
        union.join(root, name)
    join_graph(graph, union)
    for ids in unsplittable(graph):
        for i in ids:
            union.join(graph.nodes[ids[0]].name, graph.nodes[i].name)
    members: dict[str, list[Node]] = {}
    for i in graph.order:
        node = graph.nodes[i]
        members.setdefault(union.find(node.name), []).append(node)
    states: dict[str, list[str]] = {}  # groups with state, even if the operations that create it are not in the step
    for root in set(rules.state.of.values()):
        states.setdefault(union.find(root), []).append(root)
    specs = _known(rules.devices)
    return [_group(graph, root, nodes, states.get(root, []), specs, rules) for root, nodes in members.items()]


def _group(
    graph: Graph, root: str, nodes: list[Node], state: list[str], known: dict[str, DeviceSpec], rules: Rules
) -> Group:
    wish, requester, requester_name = DeviceSpec(), nodes[0], nodes[0].name
    pinned = _pinned(nodes, state, rules)
    for other in state:
        if other in rules.state.wish and not pinned:
            spec, other_name = rules.state.wish[other]
            requester_name = requester_name if wish != DeviceSpec() else other_name
            wish = wish.merged(spec)
    for node in sorted(nodes, key=lambda n: not makes_state(n)):
        if not node.device or (rules.own and not is_sendable(node.attrs)):  # or it must run in this process
            continue
        spec = DeviceSpec.from_string(node.device)
        if not rules.soft and _conflict(wish, spec):
            if any(is_state(graph.spec(e)) for e in node.inputs):
                continue  # as "/job:worker" of a device function for an Assign, which must be with its variable
            raise InvalidArgumentError(
                f"it asks for {node.device!r} and must share a device with {requester_name!r}, which asks for "
                f"{wish.to_string()!r}{_made(requester, requester_name)}; the devices are {list(known)}",
                node,
            )
        if wish == DeviceSpec():
            requester, requester_name = node, node.name
        wish = wish.merged(spec)
    feasible, reason = _feasible(nodes, wish, requester, known, rules)
    if wish != DeviceSpec() and wish.to_string():
        reason = f"{requester_name} asks for {wish.to_string()!r}{'; ' + reason if reason else ''}"
    if pinned and pinned not in feasible:
        if not rules.soft:
            conflict = f"its state is on {pinned} since an earlier step"
            raise _refusal(requester, wish, rules, f"{conflict}; {reason}" if reason else conflict, feasible)
        feasible = (pinned, *feasible)
    return Group(tuple(nodes), feasible, f"its state is on {pinned}" if pinned else reason, pinned, root)


def _made(node: Node, name: str) -> str:
    return f" (source: {node.origin})" if node.name == name and node.origin is not None else ""


def _conflict(a: DeviceSpec, b: DeviceSpec) -> bool:
    pairs = ((getattr(a, f), getattr(b, f)) for f in DeviceSpec.__slots__)
    return any(x is not None and y is not None and x != y for x, y in pairs)


def _pinned(nodes: Sequence[Node], state: Sequence[str], rules: Rules) -> str:
    """Returns the device on which earlier steps have placed the group's state, or "".

    Raises `InvalidArgumentError` if the state is on several devices because operations that were added later have
    joined their groups.
    """
    names = dict.fromkeys([n.name for n in nodes if makes_state(n)])
    names.update(dict.fromkeys(m for root in state for m in rules.state.makers.get(root, ())))
    pins = {rules.pins[n]: n for n in names if n in rules.pins}
    if len(pins) > 1 and not rules.soft:
        text = ", ".join(f"{name!r} on {device}" for device, name in pins.items())
        raise InvalidArgumentError(f"its state is on several devices since earlier steps: {text}", nodes[-1])
    return next(iter(pins), "")


def _feasible(
    nodes: Sequence[Node], wish: DeviceSpec, requester: Node, known: dict[str, DeviceSpec], rules: Rules
) -> tuple[tuple[str, ...], str]:
    """Returns the feasible devices of a group, and in words what excludes the other devices.

    Raises `InvalidArgumentError` if no device is feasible.
    """
    kinds = {d.device_type for d in known.values()}
    first_without_kernel = {k: next((n for n in nodes if not _has_kernel(n, str(k))), None) for k in kinds}
    candidates = {d: s for d, s in known.items() if first_without_kernel[s.device_type] is None}
    exclusions = {
        k: f"{n.name} ({n.type}) has no kernel for {k}" for k, n in first_without_kernel.items() if n is not None
    }
    unsendable = next((n for n in nodes if not is_sendable(n.attrs)), None) if rules.own else None
    if unsendable is not None:
        candidates = {d: s for d, s in candidates.items() if d in rules.own}
        exclusions[""] = f"{unsendable.name} ({unsendable.type}) holds an object of this process"
    reason = "; ".join(exclusions.values())
    feasible = tuple(d for d, s in candidates.items() if wish.matches(s))
    if feasible:
        return feasible, reason
    if rules.soft:
        any_kind = replace(wish, device_type=None, device_index=None)
        for spec in (replace(wish, device_index=None), any_kind, DeviceSpec()):
            feasible = tuple(d for d, s in candidates.items() if spec.matches(s))
            if feasible:
                return feasible, f"{wish.to_string()} cannot take it (soft placement)" + (
                    f"; {reason}" if reason else ""
                )
    device_exists = any(wish.matches(s) for s in known.values())
    raise _refusal(requester, wish, rules, reason if device_exists else "there is no such device", tuple(candidates))


def _has_kernel(node: Node, kind: str) -> bool:
    """Returns whether a device of this kind can run the node.

    A CPU can run every node, because host kernels run there.
    """
    if kind in ("CPU", "NULL") or node.opdef.kind not in (Kind.COMPUTE, Kind.ASYNC):
        return True
    return node.opdef.on_device and all(s.dtype.cl or s.ref for s in node.specs)


def _refusal(
    node: Node, wish: DeviceSpec, rules: Rules, why: str, able: Sequence[str] | None = None
) -> InvalidArgumentError:
    options = list(rules.devices if able is None else able)
    return InvalidArgumentError(
        f"cannot place the node on {wish.to_string() or node.device!r}: {why}. It could go to: {options}; the devices "
        f"are {list(rules.devices)}. ConfigProto(allow_soft_placement=True) lets it run elsewhere",
        node,
    )


def _with_devices(graph: Graph, chosen: dict[int, str]) -> Graph:
    nodes = {i: n if n.device == chosen[i] else replace(n, device=chosen[i]) for i, n in graph.nodes.items()}
    return Graph(nodes, graph.fetches, graph.targets, graph.feeds, graph.info)
