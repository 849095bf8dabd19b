"""Edits that write several statements at once: insert on a wire, replace, duplicate, paste, minimize, and devices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.notebook.builder.building import plain_message
from tfnb.notebook.builder.catalogue import entry_of
from tfnb.notebook.builder.drawing import wire_of
from tfnb.notebook.builder.edits import add_node, call_text, find_function, last_building, usual_argument
from tfnb.notebook.builder.files.graph_text import is_graph_text, python_of_graph
from tfnb.notebook.builder.scratch import accepting_port, spec_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Block, Program, Statement, Unfinished, Use, parse
from tfnb.notebook.builder.writing import (
    IMPORT,
    Splice,
    bindings,
    check_expression,
    free_name,
    insertion,
    names_in_use,
    spliced,
)
from tfnb.notebook.protocol.builder import (
    AddNode,
    Duplicate,
    InsertOnWire,
    Minimize,
    Paste,
    ReplaceCall,
    SetDevice,
    Wire,
)

__all__ = ["copies", "duplicate", "insert_on_wire", "minimize", "paste", "pasted_python", "replace_call", "set_device"]

_MOST_PASTED = 200_000  # characters


def insert_on_wire(state: State, edit: InsertOnWire) -> Change:
    """Puts a new call between an output and an input."""
    statement = state.statement(edit["node"])
    wire = _wire_at(state, statement, edit["port"])
    port = port_for(state, edit["call"], wire)
    add: AddNode = {
        "edit": "add",
        "call": edit["call"],
        "wires": [(port, wire)],
        "to": [(edit["node"], edit["port"])],
        "position": edit["position"],
        "parameters": {},
    }
    change = add_node(state, add)
    change.message = f"{change.selected[0]} inserted before {edit['node']}"
    return change


def _wire_at(state: State, statement: Statement, port: str) -> Wire:
    """The wire that an input has. Raises `InvalidArgumentError` if there is none."""
    uses = {u.start: u for u in statement.uses}
    slot = state.form(statement).slot(port)
    wire = wire_of(slot.tree, state.program, uses, state.built) if slot is not None else None
    outer, _, name = port.partition(":")
    if wire is None and name:
        slot = state.form(statement).slot(outer)
        for part in ast.walk(slot.tree) if slot is not None and slot.tree is not None else ():
            if isinstance(part, ast.expr) and ast.unparse(part) == name:
                wire = wire or wire_of(part, state.program, uses, state.built)
    if wire is None:
        raise InvalidArgumentError(f"{port} of {statement.id} has no wire")
    return wire


def port_for(state: State, call: str, wire: Wire) -> str:
    """Returns the first input of a call that takes a wire. Raises `InvalidArgumentError` if none does."""
    _, signature = find_function(call, state)
    entry, spec = entry_of(call), spec_of(state.value(wire))
    if entry is not None and spec is not None:
        port = accepting_port(entry, spec, usual_argument)
        if port is None:
            raise InvalidArgumentError(f"{call} does not take a {spec.dtype.name} of this shape")
        return port
    for f in signature.formals if signature is not None else ():
        if f.is_tensor:
            return f"{f.name}[0]" if f.is_list else f.name
    raise InvalidArgumentError(f"{call} has no input")


def replace_call(state: State, edit: ReplaceCall) -> Change:
    """Calls another function with the same inputs, as far as it has them, and the parameters of the same names."""
    statement, call = state.statement(edit["node"]), edit["call"]
    form = state.form(statement)
    _, signature = find_function(call, state)
    if statement.value is None or form.kind == "value" or signature is None:
        raise InvalidArgumentError(f"{statement.id} is a block of code; change it in the code")
    given: dict[str, str] = {}
    inputs: list[str] = []
    for slot in form.slots:
        if slot.tree is None:
            continue
        text = state.program.text(slot.tree)
        formal = signature.formal(slot.name.partition("[")[0])
        if formal is not None and not (slot.formal is not None and slot.formal.is_tensor and not formal.is_tensor):
            given[slot.name if formal.is_list or slot.element < 0 else formal.name] = text
        elif slot.formal is not None and slot.formal.is_tensor:
            inputs.append(text)
    for f in signature.formals:
        if not inputs:
            break
        if f.is_tensor and not f.is_old and f.name not in given and f"{f.name}[0]" not in given:
            if f.is_list:
                given.update({f"{f.name}[{k}]": text for k, text in enumerate(inputs)})
                inputs = []
            else:
                given[f.name] = inputs.pop(0)
    text, _ = call_text(call, signature, given, statement.names[0] if statement.names else "node")
    start, end = state.program.places.span(statement.value)
    source = spliced(state.program.source, [Splice(start, end, text)])
    return Change(source, message=f"{statement.id} is now {call}")


# copies


def duplicate(state: State, edit: Duplicate) -> Change:
    """Writes statements a second time, under new names, after the last of them."""
    statements = sorted((state.statement(n) for n in dict.fromkeys(edit["nodes"])), key=lambda s: s.index)
    if not statements:
        raise InvalidArgumentError("nothing is selected")
    if any(s.block is not None for s in statements):
        text = "".join(s.text + "\n" for s in statements)
        return pasted_python(state, text, None, "duplicated")
    used = names_in_use(state.program)
    return copies(state, statements, lambda name, _: free_name(name, used))


def copies(state: State, statements: list[Statement], new_name: Callable[[str, Statement], str]) -> Change:
    """Writes statements a second time after the last of them; wires between them join the copies."""
    used = names_in_use(state.program)
    numbers = {s.index: s for s in statements}
    new = {s.index: {n: new_name(n, s) for n in s.names} for s in statements}
    lines = []
    for s in statements:
        seeds: dict[str, None] = {}
        splices = [
            Splice(p - s.start, p - s.start + len(n), new[s.index][n])
            for n in s.names
            for p in bindings(state.program, s, n)
        ]
        for u in s.uses:
            if not s.start <= u.start < s.end:
                continue
            former = new[u.by][u.name] if u.by in numbers else u.name
            if _is_own(s, u):
                if u.by >= 0:
                    seeds[f"{new[s.index][u.name]} = {former}"] = None
                former = new[s.index][u.name]
            splices.append(Splice(u.start - s.start, u.start - s.start + len(u.name), former))
        splices += _new_literals(state.program, s, used, s.start)
        lines += [*seeds, spliced(s.text, dict.fromkeys(splices))]
    source = spliced(state.program.source, insertion(state.program, lines, statements[-1]))
    selected = [new[s.index][s.names[0]] for s in statements if s.names]
    return Change(source, selected=selected, message=f"{len(statements)} duplicated")


def _is_own(statement: Statement, use: Use) -> bool:
    """Does a statement read here what it binds itself? A loop and `+=` go on with an earlier value, if there is one."""
    if use.name not in statement.names:
        return False
    return use.by < 0 or not isinstance(statement.tree, ast.Assign | ast.AnnAssign)


def _new_literals(program: Program, statement: Statement, used: set[str], offset: int) -> list[Splice]:
    """New names in the graph for variables and layers, which cannot share theirs."""
    splices = []
    for part in ast.walk(statement.tree):
        if not isinstance(part, ast.Call):
            continue
        trees = [k.value for k in part.keywords if k.arg == "name"]
        if isinstance(part.func, ast.Attribute) and part.func.attr == "get_variable":
            trees += part.args[:1]
        for tree in trees:
            if isinstance(tree, ast.Constant) and isinstance(tree.value, str) and tree.value:
                start, end = program.places.span(tree)
                base, k = re.sub(r"_\d+$", "", tree.value), 1
                while f"{base}_{k}" in used or f"{base}_{k}" in program.source:
                    k += 1
                used.add(f"{base}_{k}")
                splices.append(Splice(start - offset, end - offset, repr(f"{base}_{k}")))
    return splices


def paste(state: State, edit: Paste) -> Change:
    """Adds the statements of a text; names that are taken become new ones, other names mean those of the document."""
    text = edit["text"]
    if len(text) > _MOST_PASTED:
        raise InvalidArgumentError(f"the text has {len(text)} characters, at most {_MOST_PASTED} can be pasted")
    if is_graph_text(text):
        text = python_of_graph(text)
    return pasted_python(state, text, edit["position"], "pasted")


def pasted_python(state: State, text: str, position: list[float] | None, word: str) -> Change:
    """Adds Python statements. Raises `InvalidArgumentError` for a text that is no Python."""
    try:
        pasted = parse(_dedented(text))
    except Unfinished as e:
        raise InvalidArgumentError(f"the text is not Python: {e.message}") from None
    imports = {s.text for s in state.program.statements if isinstance(s.tree, ast.Import | ast.ImportFrom)}
    used = names_in_use(state.program)
    present = {n for s in state.program.statements for n in s.names}
    splices: list[Splice] = []
    new: dict[str, str] = {}
    needed = []
    inner = set(used) | {n for s in pasted.statements for n in s.names}
    selected = []
    for s in pasted.statements:
        if s.text in imports:
            splices.append(Splice(s.start, pasted.places.next_line(s.end), ""))
            continue
        for u in s.uses:
            if u.name in new and u.by >= 0:
                splices.append(Splice(u.start, u.start + len(u.name), new[u.name]))
            elif u.by < 0 and u.name in present:
                needed += [t for t in state.program.statements if u.name in t.names][-1:]
        for name in s.names:
            if name not in new:
                new[name] = free_name(name, inner) if name in used else name
            if new[name] != name:
                splices += _renamed_own(pasted, s, name, new[name], name in present)
        if s.names:
            selected.append(new[s.names[0]])
        splices += _new_literals_if_taken(pasted, s, state.program, inner)
    body = spliced(pasted.source, dict.fromkeys(splices)).strip("\r\n")
    if not body.strip():
        raise InvalidArgumentError("there is nothing to paste")
    source = state.program.source
    after = last_building(state.program)
    latest = max(needed, key=lambda s: s.index) if needed else None
    if after is None or (latest is not None and latest.index > after.index):
        after = latest
    if not source.strip():
        has_import = any("tf" in s.names for s in pasted.statements)
        source = ("" if has_import else f"{IMPORT}\n\n") + body + "\n"
    else:
        source = spliced(source, insertion(state.program, re.split(r"\r\n|\r|\n", body), after))
    change = Change(source, selected=list(dict.fromkeys(selected)), message=f"{len(selected)} {word}")
    if position is not None:
        for k, name in enumerate(change.selected):
            change.positions[name] = [float(position[0]), float(position[1]) + 110.0 * k]
    return change


def _renamed_own(pasted: Program, statement: Statement, name: str, new: str, is_present: bool) -> list[Splice]:
    """Replaces a name where a pasted statement binds it, and where it reads what it has bound itself.

    A statement that goes on with a value, as `+=` does, begins with that of the document.
    """
    splices = [Splice(place, place + len(name), new) for place in bindings(pasted, statement, name)]
    own = [u for u in statement.uses if u.name == name and u.by < 0 and _is_own(statement, u)]
    splices += [Splice(u.start, u.start + len(name), new) for u in own]
    if own and is_present and not isinstance(statement.tree, ast.Assign | ast.AnnAssign | ast.With):
        indentation = pasted.source[pasted.places.line_start(statement.start) : statement.start]
        if not indentation.strip() and not isinstance(statement.tree, ast.FunctionDef | ast.ClassDef):
            splices.append(Splice(statement.start, statement.start, f"{new} = {name}{pasted.new_line()}{indentation}"))
    return splices


def _new_literals_if_taken(pasted: Program, s: Statement, program: Program, used: set[str]) -> list[Splice]:
    """New graph names only for those that the document has already."""
    splices = []
    for splice in _new_literals(pasted, s, used, 0):
        literal = pasted.source[splice.start + 1 : splice.end - 1]
        if re.search(rf"['\"]{re.escape(literal)}['\"]", program.source):
            splices.append(splice)
    return splices


def _dedented(text: str) -> str:
    """The text without the indentation of its first line, as it is when a part of a block is copied."""
    m = re.match(r"(?:[ \t]*(?:\r\n|\r|\n))*([ \t]+)", text)
    return re.sub(rf"^{m.group(1)}", "", text, flags=re.M) if m is not None and m.group(1) else text


# training and devices


def minimize(state: State, edit: Minimize) -> Change:
    """Adds an optimizer's training operation for a loss."""
    statement = state.statement(edit["node"])
    loss = state.expression({"node": edit["node"], "output": 0})
    optimizer, signature = find_function(edit["optimizer"], state)
    if not callable(getattr(optimizer, "minimize", None)):
        raise InvalidArgumentError(f"{edit['optimizer']} is no optimizer")
    for text in edit["parameters"].values():
        check_expression(text)
    text, _ = call_text(edit["optimizer"], signature, edit["parameters"], "train")
    name = free_name("train", names_in_use(state.program))
    lines = [f"{name} = {text}.minimize({loss})"]
    source = spliced(state.program.source, insertion(state.program, lines, statement))
    return Change(source, selected=[name], message=f"{name} minimizes {loss}")


def set_device(state: State, edit: SetDevice) -> Change:
    """Puts statements on a device by `with tf.device(...)`; "" takes the constraint away."""
    device = edit["device"].strip()
    try:
        DeviceSpec.from_string(device)
    except OpError as e:
        raise InvalidArgumentError(plain_message(e)) from None
    source = state.program.source
    for node in dict.fromkeys(edit["nodes"]):
        state.statement(node)
        program = parse(source)
        source = spliced(source, _on_device(program, program.by_id[node], device))
    where = f"on {device}" if device else "on no device in particular"
    return Change(source, message=f"{', '.join(edit['nodes'])[:100]} {where}")


def _on_device(program: Program, statement: Statement, device: str) -> list[Splice]:
    block = statement.block
    if block is not None and _is_device(block):
        argument = block.tree.items[0].context_expr.args[0]  # type: ignore[attr-defined]
        alone = [s for s in program.statements if s.block is block and len(block.tree.body) == 1] == [statement]
        if alone and device:
            return [Splice(*program.places.span(argument), repr(device))]
        if alone:
            return [Splice(block.start, block.end, program.source[statement.start : block.end])]
        if isinstance(argument, ast.Constant) and argument.value == (device or None):
            return []
    elif not device:
        return []
    places = program.places
    line = program.source[places.line_start(statement.start) : statement.start]
    rest = program.source[statement.end : places.line_end(statement.end)]
    if line.strip() or rest.split("#")[0].strip():
        raise InvalidArgumentError(f"{statement.id} shares its line with other code; give it a line of its own first")
    text = f"with tf.device({device or None!r}):{program.new_line()}{line}    "
    return [Splice(statement.start, statement.start, text)]


def _is_device(block: Block) -> bool:
    call = block.tree.items[0].context_expr
    is_single = len(block.tree.items) == 1 and isinstance(call, ast.Call) and len(call.args) == 1
    return is_single and isinstance(call.func, ast.Attribute) and call.func.attr == "device"  # type: ignore[attr-defined]
