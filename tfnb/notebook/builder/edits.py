"""The edits of the protocol, each as a change of the source.

An edit gets a `State`, the document as it is after the edits before it in the same gesture, and returns what changes.
Invariant: an edit that cannot be done raises `InvalidArgumentError` with the reason, and changes nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.building import library
from tfnb.notebook.builder.calls import CallForm, Slot, call_form
from tfnb.notebook.builder.comments import frame_renames
from tfnb.notebook.builder.drawing import is_drawn, node_of, wire_of
from tfnb.notebook.builder.moving import moved_after
from tfnb.notebook.builder.signatures import Formal, Signature, signature_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Statement, parse
from tfnb.notebook.builder.writing import (
    IMPORT,
    Splice,
    check_expression,
    check_name,
    delete_statement,
    free_name,
    insertion,
    names_in_use,
    remove_argument,
    rename,
    set_argument,
    spliced,
)
from tfnb.notebook.protocol.builder import (
    AddNode,
    BypassNodes,
    Connect,
    DeleteNodes,
    Disconnect,
    MoveNodes,
    RenameNode,
    SetParameter,
    Wire,
)

__all__ = [
    "add_node",
    "argument_splices",
    "bypass_nodes",
    "call_text",
    "connect",
    "delete_nodes",
    "disconnect",
    "find_function",
    "last_building",
    "move_nodes",
    "rename_node",
    "set_parameter",
    "usual_argument",
]


def find_function(call: str, state: State | None = None) -> tuple[Any, Signature | None]:
    """Returns the function that a text such as "tf.nn.relu" names, and what it takes.

    Raises `InvalidArgumentError` if there is none.
    """
    parts = call.split(".")
    if not all(p.isidentifier() for p in parts):
        raise InvalidArgumentError(f"{call[:80]!r} is not the name of a function")
    names = state.built.names if state is not None else {}
    value: Any = library() if parts[0] == "tf" else names.get(parts[0])
    for part in parts[1:]:
        value = getattr(value, part, None)
    if not callable(value):
        raise InvalidArgumentError(f"there is no function {call}")
    return value, signature_of(value)


# What a new call is given where it needs an argument that is no tensor.
_USUAL = {
    "units": "10",
    "filters": "32",
    "kernel_size": "3",
    "pool_size": "2",
    "strides": "2",
    "dtype": "tf.float32",
    "DstT": "tf.float32",
    "shape": "[1]",
    "axis": "0",
    "depth": "10",
    "learning_rate": "0.01",
    "num_or_size_splits": "2",
    "multiples": "[1]",
    "perm": "[1, 0]",
    "paddings": "[[0, 0]]",
    "padding": "'SAME'",
    "keep_prob": "0.5",
    "num_units": "10",
    "clip_value_min": "-1.0",
    "clip_value_max": "1.0",
    "clip_norm": "1.0",
    "num_classes": "10",
}
_USUAL_IN = {
    "constant": {"value": "0.0"},
    "Variable": {"initial_value": "tf.zeros([1])"},
    "placeholder": {"dtype": "tf.float32", "shape": "[None]"},
    "reshape": {"shape": "[-1]"},
    "expand_dims": {"axis": "-1"},
    "concat": {"axis": "-1"},
    "conv2d": {"strides": "[1, 1, 1, 1]"},
    "max_pool": {"ksize": "[1, 2, 2, 1]", "strides": "[1, 2, 2, 1]"},
    "avg_pool": {"ksize": "[1, 2, 2, 1]", "strides": "[1, 2, 2, 1]"},
    "get_variable": {"name": "", "shape": "[1]"},
    "random_normal": {"shape": "[1]"},
    "split": {"axis": "-1"},
}


def usual_argument(call: str, formal: Formal) -> str:
    """Returns the Python text that a new call gets for a parameter, or ""."""
    short = call.rpartition(".")[2]
    text = _USUAL_IN.get(short, {}).get(formal.name)
    if text is not None and (formal.is_needed or short in ("placeholder", "Variable", "get_variable", "constant")):
        return text
    if not formal.is_needed or formal.is_tensor:
        return ""
    return _USUAL.get(formal.name, formal.choices[0] if formal.choices else "")


def base_name(call: str) -> str:
    """Returns a readable name for the result of a call: "dense" for "tf.layers.dense"."""
    short = call.rpartition(".")[2]
    short = short.removesuffix("Optimizer") or short
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", short).lower()


def add_node(state: State, edit: AddNode) -> Change:
    """Adds a call after the last statement that it needs."""
    call = edit["call"]
    _, signature = find_function(call, state)
    used = names_in_use(state.program)
    name = free_name(base_name(call), used)
    given = {port: state.expression(wire) for port, wire in edit["wires"]}
    for parameter, text in edit["parameters"].items():
        check_expression(text)
        given[parameter] = text.strip()
    text, named = call_text(call, signature, given, name)
    needed = [state.statement(w["node"]) for _, w in edit["wires"]]
    needed += [s for s in map(state.program.by_id.get, _names(named.values())) if s is not None and is_drawn(s)]
    source = spliced(state.program.source, _add_lines(state.program, [f"{name} = {text}"], needed))
    change = Change(source, selected=[name], message=f"{name} added")
    if edit["position"] is not None:
        change.positions[name] = [float(v) for v in edit["position"]]
    for node, port in edit["to"]:
        later = state.after(change.source)
        wire: Wire = {"node": name, "output": 0}
        change.source = connect(later, {"edit": "connect", "wire": wire, "node": node, "port": port}).source
    return change


def _names(texts: Iterable[str]) -> set[str]:
    return {n.id for t in texts for n in ast.walk(check_expression(t)) if isinstance(n, ast.Name)}


def call_text(
    call: str, signature: Signature | None, given: Mapping[str, str], name: str
) -> tuple[str, dict[str, str]]:
    """Returns the text of a call with the given arguments and the usual ones, and those by parameter."""
    given = dict(given)
    arguments: list[str] = []
    used: dict[str, str] = {}
    is_positional = True
    for f in signature.formals if signature is not None else ():
        elements = _list_of(f, given)
        text = given.pop(f.name, "") or elements or usual_argument(call, f)
        if f.name == "name" and f.is_needed and not text:
            text = repr(name)
        if not text:
            is_positional = is_positional and f.is_variadic
            continue
        used[f.name] = text
        if f.is_variadic:
            arguments.append(text[1:-1] if elements else text)
        elif is_positional and not f.is_keyword_only and (f.is_needed or f.is_tensor):
            arguments.append(text)
        else:
            is_positional = False
            arguments.append(f"{f.name}={text}")
    for other, text in given.items():
        used[other] = text
        arguments.append(f"{other}={text}")
    return f"{call}({', '.join(arguments)})", used


def _list_of(formal: Formal, given: dict[str, str]) -> str:
    """The list of the elements "values[0]", "values[1]" that are given for one parameter, or ""."""
    elements = sorted((k for k in given if k.startswith(f"{formal.name}[")), key=lambda k: (len(k), k))
    return f"[{', '.join(given.pop(k) for k in elements)}]" if elements else ""


def _add_lines(program: Program, lines: list[str], needed: list[Statement]) -> list[Splice]:
    """The splices that put new statements after those that they need; an import of tf too, where there is none."""
    splices: list[Splice] = []
    if not program.source.strip():
        return [Splice(0, len(program.source), "\n".join([IMPORT, "", *lines]) + "\n")]
    after = max(needed, key=lambda s: s.outer[1]) if needed else last_building(program)
    if after is None and program.statements:
        start = program.statements[0].outer[0]
        new_line = program.new_line()
        return [Splice(start, start, new_line.join(lines) + new_line)]
    return splices + insertion(program, lines, after)


def last_building(program: Program) -> Statement | None:
    """The last statement before the first that runs a session; a node that needs nothing goes after it."""
    last: Statement | None = None
    for s in program.statements:
        if isinstance(s.tree, ast.Return) or re.search(r"\bSession\(|\.run\(|\.eval\(", s.text):
            break
        last = s
    return last


# wires


def connect(state: State, edit: Connect) -> Change:
    """Makes an output the argument of an input; a statement that stands too early is moved."""
    wire, node = edit["wire"], edit["node"]
    source, target = state.statement(wire["node"]), state.statement(node)
    if source is target:
        raise InvalidArgumentError(f"{node} cannot be its own input")
    if source.index in state.program.below(target):
        raise InvalidArgumentError(f"that would be a circle: {source.id} is computed from {node}")
    text = state.expression(wire)
    form = state.form(target)
    port = edit["port"] or free_input(state, form, wire)
    splices = argument_splices(state, target, form, port, text)
    refuse_shadowed(state, source, target)
    program = state.program
    if source.index < target.index:
        changed = spliced(program.source, splices)
    else:
        changed = moved_after(program, target, source, splices)
    return Change(changed, message=f"{text} connected to {port} of {node}")


def refuse_shadowed(state: State, source: Statement, target: Statement) -> None:
    """Refuses a connection to a name that another statement binds anew before the reader."""
    for s in state.program.statements[source.index + 1 : target.index]:
        name = next((n for n in s.names if n in source.names), None)
        if name is not None:
            raise InvalidArgumentError(
                f"{name} means the result of line {s.line} where {target.id} stands; rename one of the two first"
            )


def free_input(state: State, form: CallForm, wire: Wire) -> str:
    """Returns the first input without a wire or a value. Raises `InvalidArgumentError` if none is free."""
    free = [s for s in form.slots if s.tree is None and s.formal is not None and s.formal.is_tensor]
    needed = [s for s in free if s.formal is not None and s.formal.is_needed]
    if not free:
        raise InvalidArgumentError(f"{form.text} has no free input")
    return (needed or free)[0].name


def argument_splices(state: State, statement: Statement, form: CallForm, port: str, text: str) -> list[Splice]:
    """The splices that make `text` the argument of a port; "x:h" is the name h in the argument x."""
    slot = form.slot(port)
    if slot is not None:
        return set_argument(state.program, form, slot, text)
    outer, _, name = port.partition(":")
    slot = form.slot(outer)
    if not name or slot is None or slot.tree is None:
        if form.signature is not None and form.signature.takes_any_keyword and port.isidentifier():
            return set_argument(state.program, form, Slot(port, port, None, None, form.call), text)
        raise InvalidArgumentError(f"{statement.id} has no input {port}")
    return [Splice(*span, text) for span in places_of(state, statement, slot.tree, name)]


def places_of(state: State, statement: Statement, tree: ast.expr, name: str) -> list[tuple[int, int]]:
    """Returns the spans at which an expression reads the output that is written as `name`."""
    uses = {u.start: u for u in statement.uses}
    spans = []
    todo: list[ast.AST] = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.expr) and wire_of(part, state.program, uses, state.built) is not None:
            if ast.unparse(part) == name:
                spans.append(state.program.places.span(part))
        else:
            todo.extend(ast.iter_child_nodes(part))
    if not spans:
        raise InvalidArgumentError(f"{statement.id} has no input {name}")
    return spans


def disconnect(state: State, edit: Disconnect) -> Change:
    """Takes an argument out."""
    statement = state.statement(edit["node"])
    form = state.form(statement)
    slot = form.slot(edit["port"])
    if slot is None:
        raise InvalidArgumentError(
            f"{edit['port']} is a part of a longer expression; connect something else, or change it in the code"
        )
    if slot.name == "self":
        raise InvalidArgumentError(f"{form.text} is a method of {slot.label}, so it cannot be cut from it")
    splices = remove_argument(state.program, form, slot)
    return Change(spliced(state.program.source, splices), message=f"{edit['port']} of {edit['node']} is free")


def set_parameter(state: State, edit: SetParameter) -> Change:
    """Sets an argument to a Python text, or takes it out."""
    statement = state.statement(edit["node"])
    form = state.form(statement)
    text = edit["text"].strip()
    slot = form.slot(edit["name"])
    if not text:
        if slot is None or slot.tree is None:
            return Change(state.program.source, message=f"{edit['name']} is the default")
        if form.kind == "value":
            raise InvalidArgumentError("a value is needed")
        splices = remove_argument(state.program, form, slot)
        return Change(spliced(state.program.source, splices), message=f"{edit['name']} is the default")
    check_expression(text)
    splices = argument_splices(state, statement, form, edit["name"], text)
    source = spliced(state.program.source, splices)
    index = statement.index
    for use in parse(source).statements[index].uses:
        if use.by < 0 and use.name in {n for s in state.program.statements[index:] for n in s.names}:
            raise InvalidArgumentError(f"{use.name} is computed later than {statement.id}; connect it with a wire")
    return Change(source, message=f"{edit['name']} = {text}")


# names, places, deleting


def rename_node(state: State, edit: RenameNode) -> Change:
    """Renames a node in the whole source: the first name that its statement binds which is not `_`, if there is one."""
    statement = state.statement(edit["node"])
    new = check_name(edit["name"])
    if not statement.names:
        if statement.value is None or not isinstance(statement.tree, ast.Expr):
            raise InvalidArgumentError("a block of code has no name")
        if new in names_in_use(state.program):
            raise InvalidArgumentError(f"{new} is used already")
        source = spliced(state.program.source, [Splice(statement.start, statement.start, f"{new} = ")])
        return Change(source, renamed={statement.id: new}, message=f"named {new}")
    old = next((name for name in statement.names if name.strip("_")), statement.names[0])
    if new == old:
        return Change(state.program.source)
    if new in names_in_use(state.program):
        raise InvalidArgumentError(f"{new} is used already; two nodes cannot have one name")
    splices = rename(state.program, statement, old, new)
    after = parse(spliced(state.program.source, splices))
    pairs = zip(state.program.statements, after.statements, strict=True)
    renamed = {was.id: now.id for was, now in pairs if was.id != now.id}
    source = spliced(state.program.source, [*splices, *frame_renames(state.program, renamed)])
    return Change(source, renamed=renamed, message=f"{old} is now {new}")


def delete_nodes(state: State, edit: DeleteNodes) -> Change:
    """Takes statements out. What reads them is disconnected, or goes on to what they read."""
    doomed = [state.statement(n) for n in dict.fromkeys(edit["nodes"])]
    numbers = {s.index for s in doomed}
    splices: list[Splice] = []
    for s in doomed:
        splices += delete_statement(state.program, s)
    for reader in state.program.statements:
        if reader.index not in numbers and reader.needs & numbers:
            splices += _without(state, reader, numbers, edit["heal"])
    splices += frame_renames(state.program, {s.id: "" for s in doomed})
    count = f"{len(doomed)} nodes" if len(doomed) != 1 else doomed[0].id
    return Change(spliced(state.program.source, splices), message=f"{count} deleted")


def bypass_nodes(state: State, edit: BypassNodes) -> Change:
    """Lets what reads nodes read what their first inputs read; the nodes stay."""
    passed = [state.statement(n) for n in dict.fromkeys(edit["nodes"])]
    numbers = {s.index for s in passed}
    for s in passed:
        if not healed(state, s.index, numbers):
            raise InvalidArgumentError(f"{s.id} has no input that its readers could read instead")
    readers = [s for s in state.program.statements if s.index not in numbers and s.needs & numbers]
    if not readers:
        raise InvalidArgumentError(f"nothing reads {passed[0].id}" if len(passed) == 1 else "nothing reads these nodes")
    splices = [splice for reader in readers for splice in _without(state, reader, numbers, heal=True)]
    count = f"{len(passed)} nodes" if len(passed) != 1 else passed[0].id
    return Change(spliced(state.program.source, splices), message=f"{count} bypassed")


def _without(state: State, reader: Statement, numbers: set[int], heal: bool) -> list[Splice]:
    """The splices after which a statement no longer reads what the statements `numbers` make."""
    outcome = state.built.outcomes[reader.index]
    form = outcome.form
    if form is None or form.kind == "value":
        return _kept(state, reader, numbers, heal)
    removed: list[Slot] = []
    splices: list[Splice] = []
    for slot in form.slots:
        if slot.tree is None:
            continue
        own = [u for u in reader.uses if u.by in numbers and _is_inside(state, u.start, slot.tree)]
        if not own:
            continue
        instead = {u.name: healed(state, u.by, numbers) if heal else "" for u in own}
        if all(instead.values()):
            splices += [_replaced(state, reader, u.start, len(u.name), instead[u.name]) for u in own]
        elif slot.name == "self" or slot.formal is None:
            return _kept(state, reader, numbers, heal)
        else:
            removed.append(slot)
    return splices + _all_removed(state, form, reader, removed)


def _replaced(state: State, reader: Statement, start: int, length: int, text: str) -> Splice:
    """Replaces a name, with the index behind it if there is one."""
    m = re.compile(r"\[\d+\]").match(state.program.source, start + length)
    return Splice(start, m.end() if m else start + length, text)


def _all_removed(state: State, form: CallForm, reader: Statement, removed: list[Slot]) -> list[Splice]:
    """The splices that take several arguments of one call out: the call's text is worked out one by one."""
    if not removed:
        return []
    if len(removed) == 1:
        return remove_argument(state.program, form, removed[0])
    text = state.program.source
    program = state.program
    resolve = _resolver(form)
    for slot in sorted(removed, key=lambda s: -(s.element if s.element >= 0 else s.position)):
        statement = program.statements[reader.index]
        value = statement.value
        now = call_form(value, resolve) if value is not None else form
        present = now.slot(slot.name)
        if present is None or present.tree is None:
            continue
        text = spliced(program.source, remove_argument(program, now, present))
        program = parse(text)
    changed = program.statements[reader.index].text
    return [Splice(reader.start, reader.end, changed)]


def _resolver(form: CallForm) -> Callable[[ast.expr], Any]:
    """Resolves the function of a call that is known already."""
    return lambda tree: form.function if form.call is not None and ast.unparse(tree) == form.text else None


def _kept(state: State, reader: Statement, numbers: set[int], heal: bool) -> list[Splice]:
    """A grey block keeps its text; where wires are healed, its names are replaced."""
    splices = []
    for u in reader.uses:
        if heal and u.by in numbers and (instead := healed(state, u.by, numbers)):
            splices.append(_replaced(state, reader, u.start, len(u.name), instead))
    return splices


def _is_inside(state: State, place: int, tree: ast.expr) -> bool:
    start, end = state.program.places.span(tree)
    return start <= place < end


def healed(state: State, number: int, numbers: set[int]) -> str:
    """Returns the expression that the first connected input of a statement reads, past other deleted ones, or ""."""
    statement = state.program.statements[number]
    for port in node_of(state.program, state.built, statement)["inputs"]:
        wire = port["wire"]
        if wire is not None:
            source = state.program.by_id[wire["node"]]
            return healed(state, source.index, numbers) if source.index in numbers else state.expression(wire)
    return ""


def move_nodes(state: State, edit: MoveNodes) -> Change:
    """Places nodes; the source stays."""
    positions = {}
    for node, place in edit["positions"].items():
        state.statement(node)
        if len(place) != 2 or not all(isinstance(v, int | float) and abs(v) < 1e7 for v in place):
            raise InvalidArgumentError(f"{node} cannot be placed at {place}")
        positions[node] = [float(v) for v in place]
    count = len(positions)
    return Change(state.program.source, positions, message=f"{count} node{'s' if count != 1 else ''} moved")
