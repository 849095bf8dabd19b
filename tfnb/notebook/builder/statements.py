"""The statements of a source with their places, to the character.

`ast` counts columns in bytes of UTF-8; here all places are characters of the source, from 0. Statements inside of
`with tf.name_scope(...)` and the like are statements of their own; other compound statements are one statement each.
Invariant: `source[statement.start:statement.end]` is the statement's text, whatever stands around it.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.names import names_of

__all__ = ["Block", "Places", "Program", "Statement", "Unfinished", "Use", "parse"]

_NEW_LINE = re.compile(r"\r\n|\r|\n")
_MAGIC = re.compile(r"^([ \t]*)[%!?]", re.M)
# The contexts whose statements are nodes of their own: they only change how operations are named and placed.
_SCOPES = frozenset(
    "name_scope variable_scope device control_dependencies colocate_with colocate_with_name container op_scope "
    "variable_op_scope as_default gradient_override_map arg_scope".split()
)


class Unfinished(InvalidArgumentError):
    """The source is not complete Python; `line` is where it ends to make sense, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Places:
    """Translates the lines and columns of syntax trees to places in the source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.starts = [0, *(m.end() for m in _NEW_LINE.finditer(source))]
        self._ascii = source.isascii()

    def place(self, line: int, column: int) -> int:
        """Returns the place of a line, from 1, and a column in bytes."""
        start = self.starts[line - 1]
        if self._ascii:
            return start + column
        end = self.starts[line] if line < len(self.starts) else len(self.source)
        return start + len(self.source[start:end].encode()[:column].decode(errors="ignore"))

    def span(self, tree: ast.AST) -> tuple[int, int]:
        """Returns the places where a piece of syntax begins and ends."""
        decorators = getattr(tree, "decorator_list", ())
        first: Any = decorators[0] if decorators else tree
        start = self.place(first.lineno, first.col_offset)
        if decorators:
            start = self.source.rindex("@", 0, start)
        return start, self.place(tree.end_lineno, tree.end_col_offset)  # type: ignore[attr-defined]

    def line_of(self, place: int) -> int:
        """Returns the line of a place, from 1."""
        return max(1, bisect_right(self.starts, place))

    def line_start(self, place: int) -> int:
        """Returns where the line of a place begins."""
        return self.starts[self.line_of(place) - 1]

    def line_end(self, place: int) -> int:
        """Returns where the line of a place ends, before the characters that end it."""
        m = _NEW_LINE.search(self.source, place)
        return len(self.source) if m is None else m.start()

    def next_line(self, place: int) -> int:
        """Returns where the line after that of a place begins, or the end of the source."""
        m = _NEW_LINE.search(self.source, place)
        return len(self.source) if m is None else m.end()


@dataclass(frozen=True)
class Use:
    """A name that a statement reads, at a place; `by` is the number of the statement that bound it, or -1."""

    name: str
    start: int
    by: int
    is_deferred: bool = False


@dataclass(frozen=True, eq=False)
class Block:
    """A `with` statement whose statements are nodes of their own."""

    tree: ast.With
    start: int
    end: int
    parent: Block | None

    def chain(self) -> tuple[Block, ...]:
        """Returns the blocks around it and itself, the outermost first."""
        return (*(self.parent.chain() if self.parent is not None else ()), self)


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement: `names` are those that it binds, `uses` those that it reads, `index` its place in the order.

    `id` is that of its node: its first name, with a number if an earlier statement has that name.
    """

    index: int
    tree: ast.stmt
    start: int
    end: int
    text: str
    line: int
    block: Block | None
    names: tuple[str, ...]
    uses: tuple[Use, ...]
    id: str

    @property
    def value(self) -> ast.expr | None:
        """The expression of a simple statement: the right side of an assignment, or the statement itself."""
        tree = self.tree
        if isinstance(tree, ast.Assign) and len(tree.targets) == 1:
            return tree.value
        if isinstance(tree, ast.Expr | ast.Return):
            return tree.value
        return tree.value if isinstance(tree, ast.AnnAssign) else None

    @property
    def outer(self) -> tuple[int, int]:
        """The places of the outermost block around the statement, or its own."""
        first = self.block.chain()[0] if self.block is not None else self
        return first.start, first.end

    @property
    def needs(self) -> frozenset[int]:
        """The numbers of the statements whose names it reads."""
        return frozenset(u.by for u in self.uses if u.by >= 0)


@dataclass(frozen=True, eq=False)
class Program:
    """A source and its statements, in order; `by_id` finds a statement by the id of its node."""

    source: str
    places: Places
    statements: tuple[Statement, ...]
    by_id: dict[str, Statement] = field(default_factory=dict)

    def text(self, tree: ast.AST) -> str:
        """Returns the text of a piece of syntax."""
        start, end = self.places.span(tree)
        return self.source[start:end]

    def readers(self, statement: Statement) -> list[Statement]:
        """Returns the statements that read a name that `statement` has bound."""
        return [s for s in self.statements if statement.index in s.needs]

    def above(self, statement: Statement) -> set[int]:
        """Returns the numbers of the statements that `statement` needs, directly or through others."""
        numbers: set[int] = set()
        todo = list(statement.needs)
        while todo:
            k = todo.pop()
            if k not in numbers:
                numbers.add(k)
                todo.extend(self.statements[k].needs)
        return numbers

    def below(self, statement: Statement) -> set[int]:
        """Returns the numbers of the statements that need `statement`, directly or through others."""
        numbers = {statement.index}
        for s in self.statements[statement.index + 1 :]:
            if s.needs & numbers:
                numbers.add(s.index)
        return numbers - {statement.index}

    def new_line(self) -> str:
        """Returns what ends the source's lines."""
        m = _NEW_LINE.search(self.source)
        return m.group() if m is not None else "\n"


def syntax(source: str) -> ast.Module:
    """Returns the syntax tree of a source, in which lines of IPython's magics count as comments.

    Raises `Unfinished` if it is not complete Python.
    """
    error: Exception | None = None
    for text in dict.fromkeys((source, _MAGIC.sub(r"\1#", source))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the user's code, which is reported where it is run
                return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            error = e
    line = getattr(error, "lineno", None) or 1
    reason = getattr(error, "msg", None) or str(error) or "it is nested too deeply"
    raise Unfinished(f"line {line} is not complete: {reason}", min(line, source.count("\n") + 1))


@remembered("programs of the builder", 8)
def parse(source: str) -> Program:
    """Returns the statements of a source. Raises `Unfinished` if it is not complete Python.

    An edit and the document after it parse the same text, so the last programs are kept.
    """
    module = syntax(source)
    places = Places(source)
    statements: list[Statement] = []
    bound: dict[str, int] = {}
    count: dict[str, int] = {}
    deferred: list[tuple[int, list[ast.Name]]] = []
    for tree, block in _flattened(module.body, None, places):
        start, end = places.span(tree)
        headers = [item.context_expr for b in (block.chain() if block else ()) for item in b.tree.items]
        names = names_of(tree)
        uses = [Use(n.id, places.place(n.lineno, n.col_offset), bound.get(n.id, -1)) for n in names.reads]
        for header in names_of(*headers).reads if headers else ():
            if header.id in bound:
                uses.append(Use(header.id, places.place(header.lineno, header.col_offset), bound[header.id]))
        if names.deferred:
            deferred.append((len(statements), names.deferred))
        index, line = len(statements), places.line_of(start)
        name = next((n for n in names.bound if n != "_"), "") or f"line:{line}"
        count[name] = count.get(name, 0) + 1
        statement = Statement(
            index,
            tree,
            start,
            end,
            source[start:end],
            line,
            block,
            tuple(names.bound),
            tuple(uses),
            name if count[name] == 1 else f"{name}:{count[name]}",
        )
        statements.append(statement)
        for name in names.bound:
            bound[name] = index
        for b in block.chain() if block else ():
            for item in b.tree.items:
                if item.optional_vars is not None:
                    for name in names_of(item.optional_vars).bound:
                        bound.setdefault(name, -1)
    for index, reads in deferred:
        late = [_late_use(n, statements, index, bound, places) for n in reads]
        statements[index] = replace(statements[index], uses=(*statements[index].uses, *late))
    return Program(source, places, tuple(statements), {s.id: s for s in statements})


def _late_use(name: ast.Name, statements: list[Statement], index: int, bound: dict[str, int], places: Places) -> Use:
    """A name that is read inside of a function: the latest binding before the function, else the last one of all."""
    earlier = [s.index for s in statements[:index] if name.id in s.names]
    by = earlier[-1] if earlier else bound.get(name.id, -1)
    return Use(name.id, places.place(name.lineno, name.col_offset), by if by < index else -1, True)


def _is_scope(tree: ast.stmt) -> bool:
    if not isinstance(tree, ast.With):
        return False
    for item in tree.items:
        call = item.context_expr
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _SCOPES):
            return False
    return True


def _flattened(
    body: Sequence[ast.stmt], parent: Block | None, places: Places
) -> Iterator[tuple[ast.stmt, Block | None]]:
    for tree in body:
        if isinstance(tree, ast.With) and _is_scope(tree):
            start, end = places.span(tree)
            block = Block(tree, start, end, parent)
            yield from _flattened(tree.body, block, places)
        else:
            yield tree, parent
