"""Statements made a Python function, and back.

Invariant: the statements run in the same order with the same values, so the graph stays the same; a group of adjacent
statements that is ungrouped again gives the former source.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.comments import frame_renames
from tfnb.notebook.builder.drawing import is_drawn
from tfnb.notebook.builder.names import names_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Statement
from tfnb.notebook.builder.writing import Splice, check_name, free_name, names_in_use, spliced
from tfnb.notebook.protocol.builder import GroupNodes, UngroupNode

__all__ = ["group_nodes", "inside_strings", "simple_arguments", "ungroup_node"]

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign)


def group_nodes(state: State, edit: GroupNodes) -> Change:
    """Makes nodes a function whose parameters are what they read, and whose results are what others read of them."""
    program = state.program
    group = sorted((state.statement(n) for n in dict.fromkeys(edit["nodes"])), key=lambda s: s.index)
    if not group:
        raise InvalidArgumentError("nothing is selected")
    for s in group:
        if s.block is not None or not isinstance(s.tree, _SIMPLE) or _shares_line(program, s):
            raise InvalidArgumentError(f"line {s.line} cannot be put into a function; it is no statement by itself")
    name = check_name(edit["name"].strip() or "group")
    used = names_in_use(program)
    if name in used and edit["name"].strip():
        raise InvalidArgumentError(f"{name} is used already")
    name = free_name(name, used)
    before = _place(program, group)
    parameters = _parameters(program, group)
    results = _results(program, group)
    new_line = program.new_line()
    body = [f"    {line}" if line and k not in kept else line for line, k, kept in _body(program, group)]
    if results:
        body.append(f"    return {', '.join(results)}")
    call = f"{name}({', '.join(parameters)})"
    call = f"{', '.join(results)} = {call}" if results else call
    lines = [f"def {name}({', '.join(parameters)}):", *body, "", "", call]
    numbers = {s.index for s in group}
    splices = [_lines_of(program, s) for s in group]
    if _is_adjacent(program, group):
        start = program.places.line_start(group[0].start)
        splices = [Splice(start, splices[-1].end, "")]
    place = program.places.line_start(before.start) if before is not None else splices[-1].end
    text = new_line.join(lines) + new_line
    if place == len(program.source) and not program.source.endswith(("\n", "\r")):
        text = (new_line if splices[-1].start and splices[-1].end != place else "") + text.removesuffix(new_line)
    splices = [*splices, Splice(place, place, text)]
    splices += frame_renames(program, {s.id: results[0] if results else "" for s in group})
    first = results[0] if results else name
    return Change(
        spliced(program.source, splices), selected=[first], message=f"{len(numbers)} nodes are the function {name}"
    )


def _shares_line(program: Program, s: Statement) -> bool:
    places, source = program.places, program.source
    rest = source[s.end : places.line_end(s.end)]
    return bool(source[places.line_start(s.start) : s.start].strip()) or bool(rest.split("#")[0].strip())


def _lines_of(program: Program, s: Statement) -> Splice:
    return Splice(program.places.line_start(s.start), program.places.next_line(s.end), "")


def _is_adjacent(program: Program, group: Sequence[Statement]) -> bool:
    return group[-1].index - group[0].index == len(group) - 1


def _place(program: Program, group: Sequence[Statement]) -> Statement | None:
    """The statement before which the call must stand, or None: it stands where the last of the group was.

    Raises `InvalidArgumentError` if what lies between reads the group and is read by it.
    """
    numbers = {s.index for s in group}
    between = [s for s in program.statements[group[0].index : group[-1].index] if s.index not in numbers]
    below = set().union(*(program.below(s) for s in group))
    readers = [s for s in between if s.index in below]
    if not readers:
        return None
    for s in group:
        for k in s.needs - numbers:
            if k >= readers[0].index:
                text = f"line {readers[0].line} reads the group and comes before a part of it; select it too"
                raise InvalidArgumentError(text)
    return readers[0]


def _parameters(program: Program, group: Sequence[Statement]) -> list[str]:
    numbers = {s.index for s in group}
    by: dict[str, int] = {}
    for s in group:
        for u in s.uses:
            if u.by < 0 or u.by in numbers or not is_drawn(program.statements[u.by]):
                continue
            if isinstance(program.statements[u.by].tree, ast.FunctionDef | ast.ClassDef):
                continue
            if by.setdefault(u.name, u.by) != u.by:
                raise InvalidArgumentError(
                    f"the group reads two different values of {u.name}; rename one of them first"
                )
    return list(by)


def _results(program: Program, group: Sequence[Statement]) -> list[str]:
    """The names that others read, or else those that nothing in the group reads."""
    numbers = {s.index for s in group}
    last: dict[str, int] = {}
    for s in group:
        last.update(dict.fromkeys(s.names, s.index))
    outside: dict[str, None] = {}
    inside: set[str] = set()
    for s in program.statements:
        for u in s.uses:
            if u.by in numbers and s.index in numbers:
                inside.add(u.name)
            elif u.by in numbers:
                if last[u.name] != u.by:
                    raise InvalidArgumentError(
                        f"{u.name} has two values in the group, and line {s.line} reads the first"
                    )
                outside[u.name] = None
    order = [n for s in group for n in s.names]
    names = outside or {n: None for n in order if n not in inside}
    return [n for n in dict.fromkeys(order) if n in names]


def _body(program: Program, group: Sequence[Statement]) -> list[tuple[str, int, set[int]]]:
    """The lines of the group with their numbers, and the numbers of those that begin inside of a string."""
    if _is_adjacent(program, group):
        parts = [program.source[program.places.line_start(group[0].start) : program.places.line_end(group[-1].end)]]
    else:
        parts = [program.source[s.start : program.places.line_end(s.end)] for s in group]
    lines: list[tuple[str, int, set[int]]] = []
    for part in parts:
        kept = inside_strings(part)
        lines += [(line, k, kept) for k, line in enumerate(re.split(r"\r\n|\r|\n", part))]
    return lines


def inside_strings(text: str) -> set[int]:
    """The numbers of the lines, from 0, that begin inside of a string, whose indentation is a part of the string."""
    kept: set[int] = set()
    try:
        open_strings: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                kept.update(range(token.start[0], token.end[0]))
            elif kind == "FSTRING_START":  # Python 3.12
                open_strings.append(token.start[0])
            elif kind == "FSTRING_END":
                kept.update(range(open_strings.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        pass
    return kept


# and back


def ungroup_node(state: State, edit: UngroupNode) -> Change:
    """Puts the statements of a function in place of its call. The function goes if nothing else calls it."""
    program = state.program
    call = state.statement(edit["node"])
    definition = _definition(program, call)
    tree, value = definition.tree, call.value
    assert isinstance(tree, ast.FunctionDef) and isinstance(value, ast.Call)
    if call.block is not None or _shares_line(program, call):
        raise InvalidArgumentError(f"line {call.line} is no statement by itself")
    arguments = simple_arguments(program, tree, value)
    result = tree.body[-1].value if isinstance(tree.body[-1], ast.Return) else None
    statements = tree.body[:-1] if isinstance(tree.body[-1], ast.Return) else tree.body
    if any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for s in statements for n in ast.walk(s)):
        raise InvalidArgumentError(f"{tree.name} returns from the middle, so its code cannot stand for the call")
    targets = _targets(call)
    returned = list(result.elts) if isinstance(result, ast.Tuple) else [result] if result is not None else []
    new, lines = _new_names(program, definition, statements, arguments, returned, targets)
    body = _inlined(program, definition, statements, new)
    tail = _tail(program, result, returned, targets, new, definition)
    text = program.new_line().join([*lines, *body, *tail])
    splices = [Splice(call.start, call.end, text)]
    if all(s is call or definition.index not in s.needs for s in program.statements):
        end = program.places.next_line(definition.end)
        blank = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n)){0,2}").match(program.source, end)
        splices.append(Splice(definition.start, blank.end() if blank is not None else end, ""))
    return Change(spliced(program.source, splices), message=f"{tree.name} is taken apart")


def _definition(program: Program, call: Statement) -> Statement:
    value = call.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        for u in call.uses:
            s = program.statements[u.by] if u.by >= 0 else None
            if s is None or u.name != value.func.id or s.block is not None:
                continue
            if isinstance(s.tree, ast.FunctionDef) and not s.tree.decorator_list:
                return s
    raise InvalidArgumentError(f"{call.id} is no call of a function of this source")


def simple_arguments(program: Program, tree: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """Returns the argument of each parameter. Raises `InvalidArgumentError` for parameters that are not simple."""
    a = tree.args
    if a.vararg or a.kwarg or a.kwonlyargs or any(isinstance(x, ast.Starred) for x in call.args):
        raise InvalidArgumentError(f"{tree.name} has parameters that are not simple")
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    arguments: dict[str, ast.expr] = dict(zip(reversed(names), reversed(a.defaults), strict=False))
    arguments.update(zip(names, call.args, strict=False))
    arguments.update({k.arg: k.value for k in call.keywords if k.arg is not None})
    if set(arguments) != set(names) or len(call.args) > len(names):
        raise InvalidArgumentError(f"the call does not fit the parameters of {tree.name}")
    return {n: arguments[n] for n in names}


def _targets(call: Statement) -> list[str]:
    if not isinstance(call.tree, ast.Assign):
        return []
    target = call.tree.targets[0]
    trees = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    if not all(isinstance(t, ast.Name) for t in trees):
        raise InvalidArgumentError(f"line {call.line} assigns to more than names")
    return [t.id for t in trees if isinstance(t, ast.Name)]


def _new_names(
    program: Program,
    definition: Statement,
    statements: Sequence[ast.stmt],
    arguments: dict[str, ast.expr],
    returned: Sequence[ast.expr | None],
    targets: Sequence[str],
) -> tuple[dict[str, str], list[str]]:
    """The text for each local name of the function, and lines that bind parameters first."""
    bound = names_of(*statements).bound
    outside = {n for s in program.statements if s is not definition for n in s.names}
    outside |= {u.name for s in program.statements if s is not definition for u in s.uses}
    used = names_in_use(program)
    new: dict[str, str] = {}
    if len(returned) == len(targets):
        for tree, target in zip(returned, targets, strict=True):
            if isinstance(tree, ast.Name) and tree.id in bound and tree.id not in new and target not in new.values():
                new[tree.id] = target
    for name in bound:
        if name not in new:
            taken = name in outside or name in new.values()
            new[name] = free_name(name, used) if taken else name
    lines = []
    for name, tree in arguments.items():
        text = program.text(tree)
        is_plain = isinstance(tree, ast.Name | ast.Constant) and not (
            isinstance(tree, ast.Name) and tree.id in new.values()
        )
        if name in bound or not is_plain:
            own = new.get(name) or free_name(name, used)
            if own != text:
                lines.append(f"{own} = {text}")
            new[name] = own
        else:
            new[name] = text
    return new, lines


def _inlined(program: Program, definition: Statement, statements: Sequence[ast.stmt], new: dict[str, str]) -> list[str]:
    """The lines of the function's body with other names and without its indentation."""
    if not statements:
        return []
    tree = definition.tree
    assert isinstance(tree, ast.FunctionDef)
    places = program.places
    header = places.line_start(places.span(tree.body[0])[0])
    start = _first_comment(program, definition, header)
    last = tree.body[-1]
    end = places.line_start(places.span(last)[0]) if isinstance(last, ast.Return) else places.line_end(definition.end)
    names = names_of(*statements)
    splices = []
    for n in (*names.reads, *names.writes, *names.deferred):
        if n.id in new and new[n.id] != n.id:
            place = places.place(n.lineno, n.col_offset)
            splices.append(Splice(place - start, place - start + len(n.id), new[n.id]))
    text = program.source[start:end]
    kept = inside_strings(re.sub(r"^[ \t]+", "", text, count=1))
    changed = re.split(r"\r\n|\r|\n", spliced(text, dict.fromkeys(splices)))
    if changed and not changed[-1].strip():
        changed.pop()
    indent = re.match(r"[ \t]*", program.source[header : places.span(tree.body[0])[0]])
    prefix = indent.group() if indent is not None else ""
    return [line if k in kept else line.removeprefix(prefix) for k, line in enumerate(changed)]


def _first_comment(program: Program, definition: Statement, header: int) -> int:
    """Where the body begins, with the comments above its first statement."""
    lines = program.places.starts
    k = program.places.line_of(header) - 1
    while (
        k > 0 and lines[k - 1] > definition.start and program.source[lines[k - 1] : lines[k]].lstrip().startswith("#")
    ):
        k -= 1
    return lines[k]


def _tail(
    program: Program,
    result: ast.expr | None,
    returned: Sequence[ast.expr],
    targets: Sequence[str],
    new: dict[str, str],
    definition: Statement,
) -> list[str]:
    """The lines that bind what the call was assigned to, as far as the body does not bind it already."""
    if not targets:
        return []
    if result is None:
        return [f"{', '.join(targets)} = None"]
    whole = len(returned) != len(targets)
    pairs = [(", ".join(targets), result)] if whole else list(zip(targets, returned, strict=True))
    lines = []
    for target, tree in pairs:
        start, end = program.places.span(tree)
        names = names_of(tree)
        splices = [
            Splice(p - start, p - start + len(n.id), new[n.id])
            for n in (*names.reads, *names.deferred)
            if n.id in new
            for p in [program.places.place(n.lineno, n.col_offset)]
        ]
        text = spliced(program.source[start:end], dict.fromkeys(splices))
        if text != target:
            lines.append(f"{target} = {text}")
    return lines
