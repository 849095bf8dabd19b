"""Changes of a source's text: statements added, moved and taken out, arguments set and removed, names replaced.

Each function returns a list of `Splice`s, which are applied together. Invariant: what no splice covers stays byte for
byte as it was.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.calls import CallForm, Slot
from tfnb.notebook.builder.statements import Program, Statement, syntax

__all__ = [
    "IMPORT",
    "Splice",
    "bindings",
    "check_expression",
    "check_name",
    "delete_statement",
    "free_name",
    "insertion",
    "library_import",
    "names_in_use",
    "remove_argument",
    "rename",
    "set_argument",
    "spliced",
]


IMPORT = "import tfnb as tf"


class Splice(NamedTuple):
    """`source[start:end]` is replaced by `text`."""

    start: int
    end: int
    text: str


def spliced(source: str, splices: Iterable[Splice]) -> str:
    """Returns the source with all splices applied. Raises `InvalidArgumentError` if two of them overlap."""
    result: list[str] = []
    place = 0
    for start, end, text in sorted(splices, key=lambda s: (s.start, s.end)):
        if start < place:
            raise InvalidArgumentError("two changes of one gesture touch the same code; make them one after the other")
        result += [source[place:start], text]
        place = end
    return "".join(result) + source[place:]


def check_expression(text: str) -> ast.expr:
    """Returns the syntax tree of one Python expression. Raises `InvalidArgumentError` for any other text."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise InvalidArgumentError(f"{text[:80]!r} is not a Python value: {getattr(e, 'msg', e)}") from None
    if "\n" in text.strip() or "#" in text:
        syntax(f"_ = ({text.strip()}\n)")
    return tree


def check_name(name: str) -> str:
    """Returns `name`. Raises `InvalidArgumentError` unless it can be the name of a Python variable."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidArgumentError(f"{name[:80]!r} cannot be a Python name: letters, digits and _ only, no keyword")
    return name


def names_in_use(program: Program) -> set[str]:
    """Returns all variables, parameters, functions and modules that a source names, as a set of the caller's own."""
    return set(_names_in_use(program))


@remembered("names in the builder's programs", 8)
def _names_in_use(program: Program) -> frozenset[str]:
    names: set[str] = set()
    for part in (part for s in program.statements for part in ast.walk(s.tree)):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.arg):
            names.add(part.arg)
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(part.name)
        elif isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
    for s in program.statements:
        for block in s.block.chain() if s.block is not None else ():
            names.update(n.id for item in block.tree.items for n in ast.walk(item) if isinstance(n, ast.Name))
    return frozenset(names)


def free_name(base: str, used: set[str]) -> str:
    """Returns `base`, or `base_1` and so on: the first that is not in `used`, to which it is added."""
    base = re.sub(r"\W+", "_", base).strip("_") or "node"
    base = f"n{base}" if base[0].isdigit() else base
    name, k = base, 0
    while name in used or keyword.iskeyword(name) or (k == 0 and name in _TAKEN):
        k += 1
        name = f"{base}_{k}"
    used.add(name)
    return name


# Functions of Python that a program may want to call later.
_TAKEN = frozenset("abs all any bool float input int len list map max min print range round set str sum tuple".split())
_TAKEN |= {"tf", "np", "pow", "slice", "type", "zip", "dict", "filter", "hash", "id"}


def insertion(program: Program, lines: Sequence[str], after: Statement | None) -> list[Splice]:
    """Puts lines after the line on which a statement (and the `with` block around it) ends; None: at the end."""
    new_line = program.new_line()
    text = new_line.join(lines) + new_line
    source = program.source
    if after is None:
        place = len(source)
        if source and not source.endswith(("\n", "\r")):
            text = new_line + text
        return [Splice(place, place, text)]
    end = after.outer[1]
    place = program.places.next_line(end)
    if program.places.line_end(end) == len(source):
        return [Splice(len(source), len(source), new_line + text.removesuffix(new_line))]
    # A statement that follows on the same line stays in front.
    later = [s for s in program.statements if s.start >= end and s.start < place]
    return insertion(program, lines, later[-1]) if later else [Splice(place, place, text)]


def delete_statement(program: Program, statement: Statement) -> list[Splice]:
    """Takes a statement out, with its line if nothing else stands there; the last one of a block becomes `pass`."""
    siblings = [s for s in program.statements if s.block is statement.block and s is not statement]
    if statement.block is not None and not _is_body_left(statement, siblings):
        return [Splice(statement.start, statement.end, "pass")]
    places, source = program.places, program.source
    first, end = places.line_start(statement.start), places.line_end(statement.end)
    rest = source[statement.end : end]
    if not source[first : statement.start].strip() and not rest.split("#")[0].strip():
        return [Splice(first, places.next_line(statement.end), "")]
    if rest.lstrip().startswith(";"):
        m = re.match(r"\s*;[ \t]*", rest)
        return [Splice(statement.start, statement.end + (m.end() if m else 0), "")]
    m = re.search(r"[ \t]*;[ \t]*$", source[first : statement.start])
    return [Splice(first + m.start() if m else statement.start, statement.end, "" if m else "pass")]


def _is_body_left(statement: Statement, siblings: list[Statement]) -> bool:
    """Does the `with` block keep a statement, of its own or in a block inside of it?"""
    block = statement.block
    return bool(siblings) or (block is not None and len(block.tree.body) > 1)


def rename(program: Program, statement: Statement, old: str, new: str) -> list[Splice]:
    """Replaces a name that a statement binds, there and where the other statements read it.

    A loop that reads the name and binds it, and `name += 1`, go on with the same name, so they are renamed with it.
    """
    bound = _bound_together(program, statement, old)
    splices = [Splice(p, p + len(old), new) for k in bound for p in bindings(program, program.statements[k], old)]
    for reader in program.statements:
        for use in reader.uses:
            if use.name == old and (use.by in bound or (reader.index in bound and not use.is_deferred and use.by < 0)):
                splices.append(Splice(use.start, use.start + len(old), new))
    return list(dict.fromkeys(splices))


def _bound_together(program: Program, statement: Statement, name: str) -> set[int]:
    """The numbers of the statements that bind a name and that have to be renamed together."""
    going_on = [
        s
        for s in program.statements
        if name in s.names
        and any(u.name == name for u in s.uses)
        and not isinstance(s.tree, ast.Assign | ast.AnnAssign)
    ]
    bound = {statement.index}
    while True:
        more = {s.index for s in going_on if any(u.name == name and u.by in bound for u in s.uses)}
        more |= {u.by for s in going_on if s.index in bound for u in s.uses if u.name == name and u.by >= 0}
        if more <= bound:
            return bound
        bound |= more


def bindings(program: Program, statement: Statement, name: str) -> list[int]:
    """Returns the places at which a statement binds a name."""
    tree, places = statement.tree, []
    if isinstance(tree, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and tree.name == name:
        m = re.compile(rf"(?:def|class)\s+{re.escape(name)}\b").search(program.source, statement.start)
        return [] if m is None else [m.end() - len(name)]
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load):
            places.append(program.places.place(part.lineno, part.col_offset))
    return places


def library_import(program: Program) -> list[Splice]:
    """Puts an import of `tf` in front of the program, behind its text and what it takes from `__future__`."""
    first = None
    for s in program.statements:
        is_text = isinstance(s.tree, ast.Expr) and isinstance(s.tree.value, ast.Constant)
        if not is_text and not (isinstance(s.tree, ast.ImportFrom) and s.tree.module == "__future__"):
            break
        first = s
    if first is not None:
        return insertion(program, [IMPORT], first)
    place = program.places.line_start(program.statements[0].outer[0]) if program.statements else 0
    return [Splice(place, place, IMPORT + program.new_line())]


# arguments


def set_argument(program: Program, form: CallForm, slot: Slot, text: str) -> list[Splice]:
    """Makes `text` the argument of a slot: in place of the present one, or as a new one at its position."""
    text = text.strip()
    if slot.tree is not None:
        start, end = _whole(program, slot.tree)
        return [Splice(start, end, _bracketed(text, slot))]
    if slot.element >= 0 and slot.parent is not None:
        return _append_element(program, slot.parent, text)
    if slot.call is None:
        raise InvalidArgumentError(f"{slot.name} has no place in this code")
    if slot.element >= 0 and slot.formal is not None and not slot.formal.is_variadic:
        text = f"[{text}]"
    count = len(slot.call.args)
    is_next = slot.position == count and not any(isinstance(a, ast.Starred) for a in slot.call.args)
    is_variadic = slot.formal is not None and slot.formal.is_variadic
    if is_variadic or (is_next and slot.formal is not None and (slot.formal.is_needed or slot.formal.is_tensor)):
        return _insert_positional(program, slot.call, text)
    return _append_argument(program, slot.call, f"{slot.formal.name if slot.formal else slot.name}={text}")


def _bracketed(text: str, slot: Slot) -> str:
    """Puts brackets around a text that would bind otherwise as an operand than as an argument."""
    if slot.call is not None or slot.tree is None:
        return text
    tree = check_expression(text)
    if isinstance(tree, ast.Constant | ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.List | ast.Tuple):
        negative = text.startswith("-") or (isinstance(tree, ast.Tuple) and not text.startswith("("))
        return f"({text})" if negative else text
    return text if text.startswith("(") and text.endswith(")") else f"({text})"


def _whole(program: Program, tree: ast.expr) -> tuple[int, int]:
    """The span of an expression; that of a generator has its brackets."""
    return program.places.span(tree)


def _append_element(program: Program, parent: ast.expr, text: str) -> list[Splice]:
    start = program.places.span(parent)[0]
    elements = getattr(parent, "elts", [])
    if not elements:
        return [Splice(start + 1, start + 1, text + ("," if isinstance(parent, ast.Tuple) else ""))]
    last = program.places.span(elements[-1])[1]
    return [Splice(last, last, f", {text}")]


def _last_argument(program: Program, call: ast.Call) -> int | None:
    """Where the last argument of a call ends, or None if it has none."""
    ends = [program.places.span(a)[1] for a in call.args] + [program.places.span(k)[1] for k in call.keywords]
    return _after_brackets(program, max(ends), program.places.span(call)[1] - 1) if ends else None


def _after_brackets(program: Program, place: int, limit: int) -> int:
    """Moves behind the brackets that close around an argument itself."""
    m = re.compile(r"(?:\s*\))+").match(program.source, place, limit)
    return m.end() if m else place


def _append_argument(program: Program, call: ast.Call, text: str) -> list[Splice]:
    last = _last_argument(program, call)
    if last is None:
        place = program.places.span(call)[1] - 1
        return [Splice(place, place, text)]
    return [Splice(last, last, f", {text}")]


def _insert_positional(program: Program, call: ast.Call, text: str) -> list[Splice]:
    if not call.keywords:
        return _append_argument(program, call, text)
    if call.args:
        last = program.places.span(call.args[-1])[1]
        first = program.places.span(call.keywords[0])[0]
        last = _after_brackets(program, last, first)
        return [Splice(last, last, f", {text}")]
    first = program.places.span(call.keywords[0])[0]
    return [Splice(first, first, f"{text}, ")]


def remove_argument(program: Program, form: CallForm, slot: Slot) -> list[Splice]:
    """Takes the argument of a slot out. Positional arguments behind it get their names.

    Raises `InvalidArgumentError` for an argument that cannot be left out of the code.
    """
    tree, call = slot.tree, slot.call
    if tree is None:
        return []
    if slot.element >= 0 and slot.parent is not None:
        siblings = getattr(slot.parent, "elts", [])
        return [_cut(program, [program.places.span(e) for e in siblings], slot.element)]
    if call is None:
        return _operator_as_call(program, form, slot)
    spans = sorted([program.places.span(a) for a in call.args] + [program.places.span(k) for k in call.keywords])
    own = program.places.span(slot.keyword if slot.keyword is not None else tree)
    splices = [_cut(program, spans, spans.index(own))]
    if slot.keyword is None and slot.position >= 0 and not (slot.formal is not None and slot.formal.is_variadic):
        for other in form.slots:
            if (
                other.call is call
                and other.keyword is None
                and other.position > slot.position
                and other.tree is not None
            ):
                if other.element > 0:
                    continue
                if other.formal is None or other.formal.is_variadic:
                    raise InvalidArgumentError(f"{slot.name} cannot be left out, since {other.name} stands after it")
                start = program.places.span(other.parent if other.parent is not None else other.tree)[0]
                if start <= splices[0].end:
                    splices[0] = Splice(splices[0].start, splices[0].end, f"{other.formal.name}=")
                else:
                    splices.append(Splice(start, start, f"{other.formal.name}="))
    return splices


def _cut(program: Program, spans: list[tuple[int, int]], index: int) -> Splice:
    """Takes one of the parts of a list out, with a comma."""
    start, end = spans[index]
    if index + 1 < len(spans):
        return Splice(start, spans[index + 1][0], "")
    if index:
        return Splice(spans[index - 1][1], end, "")
    m = re.compile(r"\s*,\s*").match(program.source, end)
    return Splice(start, m.end() if m else end, "")


def _operator_as_call(program: Program, form: CallForm, slot: Slot) -> list[Splice]:
    """An operator without an operand becomes the call of a function without that argument."""
    others = [s for s in form.slots if s is not slot and s.tree is not None]
    trees = [s.tree for s in form.slots if s.tree is not None]
    spans = [program.places.span(t) for t in trees if t is not None]
    arguments = ", ".join(f"{s.name}={program.text(s.tree)}" for s in others if s.tree is not None)
    owner = next(s for s in program.statements if s.start <= spans[0][0] < s.end)
    if owner.value is None:
        raise InvalidArgumentError(f"{slot.name} cannot be left out of this code")
    start, end = program.places.span(owner.value)
    return [Splice(start, end, f"{form.text}({arguments})")]
