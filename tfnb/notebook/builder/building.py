"""Runs a program statement by statement in a graph of its own, and notes what each statement made.

A statement that raises gets the error, and leaves nothing in the graph; what needs its names is left out, with unknown
outputs, and everything else goes on. Invariant: a statement that `safety.py` refuses is never run; its names have the
values of `known`, the notebook's variables, where those are plain data.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any, Literal

import numpy as np

from tfnb.errors import NotFoundError, OpError
from tfnb.ir.builder import GraphBuilder, all_or_nothing, shorten
from tfnb.ir.default import get_default_graph, pushed
from tfnb.ir.operation import Operation
from tfnb.ir.scopes import Names
from tfnb.notebook.builder.calls import CallForm, Slot, call_form
from tfnb.notebook.builder.files.large_graphs import LargeGraph
from tfnb.notebook.builder.safety import reason_not_to_run
from tfnb.notebook.builder.statements import Block, Program, Statement
from tfnb.notebook.builder.trust.lookup import member
from tfnb.notebook.builder.trust.ran_text import RanText

__all__ = ["Builder", "Built", "Imported", "Outcome", "library", "plain_message"]

State = Literal["built", "failed", "incomplete", "unknown", "not run"]
_numbers = itertools.count(1)
_Code = tuple[int, CodeType]  # a text's code, and the line at which it stands
_MOST_COPIED = 1 << 16  # bytes of an array of the notebook, in each build
MOST_AT_ONCE = 2_000  # operations of one statement that each build makes anew


def library() -> ModuleType:
    """Returns the package's public interface, which programs import as `tf`."""
    return sys.modules["tfnb"]


@dataclass
class Outcome:
    """What a statement made: its operations, the values of the names that it bound, or why it did not run.

    `missing` are the needed parameters that the source does not give (state "incomplete"). `is_partial` is true for the
    import of a large graph of which only a part has been imported so far.
    """

    state: State
    form: CallForm | None
    operations: tuple[Operation, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    error: BaseException | None = None
    reason: str = ""
    missing: tuple[str, ...] = ()
    parameter_count: int = 0
    is_partial: bool = False
    outputs: list[tuple[str, Any]] | None = None
    """The expressions and values that `drawing.output_values` has found in the above."""


@dataclass
class Built:
    """The graph of a program, and an outcome for each of its statements."""

    graph: GraphBuilder
    outcomes: list[Outcome]
    names: dict[str, Any]
    is_deferred: bool = False
    """Was only a part of a large graph imported?"""


@dataclass
class Imported:
    """A graph into which only graphs have been imported so far, from which the next builds go on.

    `texts` are the statements that have made it; `given` the large values of the notebook that they have read. `part`
    are the nodes that were asked for if only a part of a large graph was imported, or else None.
    """

    texts: tuple[str, ...]
    given: Mapping[str, Any]
    graph: GraphBuilder
    version: int
    used: Names
    names: dict[str, Any]
    unknown: set[str]
    outcomes: list[Outcome]
    part: frozenset[str] | None = None


class Builder:
    """Builds programs, of which each is usually a small change of the one before."""

    def __init__(
        self,
        known: Mapping[str, Any] | None = None,
        trust: RanText | None = None,
        given: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        """`trust` knows the statements that the user has run. `given` makes, in the new graph, the values of names that
        a function's body finds: then this is one.
        """
        self.known = known
        self.given = given
        self.trust = trust if trust is not None else RanText()
        self._file = f"<builder {next(_numbers)}>"
        self._codes: dict[str, _Code] = {}
        self.imported: Imported | None = None
        self.large: LargeGraph | None = None
        """A graph of which only a part is imported, until this is None."""

    def keep(self, graph: GraphBuilder) -> None:
        """Leaves a graph as it is from now on, because a session or the notebook has it."""
        if self.imported is not None and self.imported.graph is graph:
            self.imported = None

    def import_apart(self, program: Program) -> Imported | None:
        """Returns the graph of a program up to its large imports, which are imported as a whole; another thread may
        build meanwhile.
        """
        apart = Builder(self.known, self.trust)
        apart._file = self._file
        apart.build(program)
        return apart.imported

    def build(self, program: Program) -> Built:
        """Runs the statements in order. Errors of the statements are in the outcomes; none is raised."""
        lines = program.source.splitlines(keepends=True)
        linecache.cache[self._file] = (len(program.source), None, lines, self._file)
        graph = GraphBuilder()
        names: dict[str, Any] = {"__name__": "__builder__", "__builtins__": builtins}
        if not any("tf" in s.names for s in program.statements):
            names["tf"] = library()
        codes, self._codes = self._codes, {}
        before = self._before(program)
        if before is not None:
            graph, names = before.graph, dict(before.names)
            shorten(graph, before.version, before.used.copy())
            graph.collection_members.clear()
            graph.client_state.clear()
            graph.seed = None
        run = _Run(self, program, graph, names, codes)
        with pushed(graph), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the notebook shows them when the cell is run
            names.update(self.given() if self.given is not None else ())
            outcomes = run.all(before)
        return Built(run.main_graph(), outcomes, names, run.part is not None)

    def _before(self, program: Program) -> Imported | None:
        """The graph of the last build up to its imports, if the program begins with the same statements."""
        before = self.imported
        if before is None:
            return None
        first = program.statements[: len(before.texts)]
        is_same = before.texts == tuple(s.text for s in first) and all(s.block is None for s in first)
        is_same = is_same and all((self.known or {}).get(n) is v for n, v in before.given.items())
        is_same = is_same and (
            before.part is None or self.large is not None and self.large.named(program) <= before.part
        )
        return before if is_same else None

    def code(self, tree: ast.AST, text: str, line: int, former: Mapping[str, _Code]) -> CodeType:
        """Returns a statement or expression, compiled. That of a text that was compiled before is moved to the line."""
        there, code = former.get(text) or self._codes.get(text) or (line, None)
        if code is not None and there != line:
            code = _moved(code, line - there)
        if code is None:
            if isinstance(tree, ast.expr):
                code = compile(ast.Expression(tree), self._file, "eval")
            else:
                code = compile(ast.Module([tree], []), self._file, "exec")  # type: ignore[list-item]
        self._codes[text] = line, code
        return code


def _moved(code: CodeType, lines: int) -> CodeType | None:
    """Returns the code as if it stood so many lines lower; None if Python's first line would not be positive."""
    if code.co_firstlineno + lines < 1:
        return None
    constants = tuple(_moved(c, lines) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)


class _Run:
    """One build."""

    def __init__(
        self,
        builder: Builder,
        program: Program,
        graph: GraphBuilder,
        names: dict[str, Any],
        codes: Mapping[str, _Code],
    ) -> None:
        self.builder, self.program, self.graph, self.names, self.codes = builder, program, graph, names, codes
        self.unknown: set[str] = set()
        self.blocks: list[tuple[Block, ExitStack | None]] = []
        self.graphs: dict[int, GraphBuilder] = {id(graph): graph}
        self.part: frozenset[str] | None = None
        self._resolved: dict[ast.expr, Any] = {}  # of the present statement, whose parts are asked for several times

    def all(self, before: Imported | None = None) -> list[Outcome]:
        outcomes = list(before.outcomes) if before is not None else []
        if before is not None:
            self.unknown, self.part = set(before.unknown), before.part
        try:
            for statement in self.program.statements[len(outcomes) :]:
                outcomes.append(self._statement(statement))
                if outcomes[-1].is_partial or len(outcomes[-1].operations) > MOST_AT_ONCE:
                    self._remember(outcomes)
        finally:
            self._leave(0)
        return outcomes

    def _remember(self, outcomes: list[Outcome]) -> None:
        """Notes the graph for the next build, if it has nothing but operations."""
        graph, count = self.graph, len(outcomes)
        state = (*graph.collection_members.values(), *graph.client_state.values(), *self.blocks)
        if any(state) or graph.version != sum(len(o.operations) for o in outcomes):
            return
        given = {n: v for n, v in self.names.items() if hasattr(v, "node") and (self.builder.known or {}).get(n) is v}
        texts = tuple(s.text for s in self.program.statements[:count])
        self.builder.imported = Imported(
            texts,
            given,
            graph,
            graph.version,
            graph._names.copy(),
            dict(self.names),
            set(self.unknown),
            list(outcomes),
            self.part,
        )

    def _name_of_large(self, form: CallForm | None) -> str:
        """The name by which a statement reads the large graph that it imports, or ""."""
        if self.builder.large is None or form is None:
            return ""
        slot = form.slot("graph_def") if getattr(form.function, "__name__", "") == "import_graph_def" else None
        tree = slot.tree if slot is not None else None
        is_large = isinstance(tree, ast.Name) and self.resolve(tree) is self.builder.large.graph
        return tree.id if is_large and isinstance(tree, ast.Name) else ""

    def _import_part(self, statement: Statement, form: CallForm | None, name: str) -> Outcome:
        """Imports what the program names of the large graph that a statement reads as `name`."""
        large = self.builder.large
        assert large is not None
        self.part = large.named(self.program)
        if not self.part:
            self.unknown.update(statement.names)
            return Outcome("built", form, is_partial=True)
        self.names[name] = large.part(self.part)
        try:
            outcome = self._execute(statement, form)
        finally:
            self.names[name] = large.graph
        outcome.is_partial = True
        return outcome

    def main_graph(self) -> GraphBuilder:
        """The graph that the program builds into: its own if it makes one, as `with graph.as_default()` does."""
        if not self.graph.version:
            for graph in self.graphs.values():
                if graph.version:
                    return graph
        return self.graph

    def resolve(self, tree: ast.expr) -> Any:
        """The object that a name or a chain of attributes stands for, as far as looking it up runs no code; or None."""
        if tree not in self._resolved:
            self._resolved[tree] = self._find(tree)
        return self._resolved[tree]

    def _find(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name):
            if tree.id in self.unknown:
                return None
            return self.names.get(tree.id)
        return member(self.resolve(tree.value), tree.attr) if isinstance(tree, ast.Attribute) else None

    # blocks

    def _leave(self, count: int) -> None:
        while len(self.blocks) > count:
            stack = self.blocks.pop()[1]
            if stack is not None:
                stack.close()

    def _enter(self, statement: Statement) -> Outcome | None:
        """Opens the `with` blocks around a statement; returns an outcome if one of them does not open."""
        chain = statement.block.chain() if statement.block is not None else ()
        same = 0
        while same < min(len(chain), len(self.blocks)) and self.blocks[same][0] is chain[same]:
            same += 1
        self._leave(same)
        for block in chain[same:]:
            if any(stack is None for _, stack in self.blocks):
                self.blocks.append((block, None))
                continue
            stack = ExitStack()
            names = {n.id for item in block.tree.items for n in ast.walk(item.context_expr) if isinstance(n, ast.Name)}
            if names & self.unknown:
                self.blocks.append((block, None))
                continue
            try:
                for item in block.tree.items:
                    self._open(stack, item)
            except Exception as e:
                stack.close()
                self.blocks.append((block, None))
                self._bind(statement.names)
                return Outcome("failed", None, error=e, reason="its `with` block does not open")
            self.blocks.append((block, stack))
        if any(stack is None for _, stack in self.blocks):
            self._bind(statement.names)
            return Outcome("unknown", None, reason="its `with` block did not open")
        return None

    def _open(self, stack: ExitStack, item: ast.withitem) -> None:
        tree = item.context_expr
        self._resolved.clear()
        text = self.program.text(tree)
        reason = reason_not_to_run(tree, self.resolve, self.builder.trust.has(text))
        if reason:
            raise NotFoundError(f"the block is not entered: {reason}")
        value = stack.enter_context(eval(self._code(tree, text, tree.lineno), self.names))
        if isinstance(item.optional_vars, ast.Name):
            self.names[item.optional_vars.id] = value
            self.unknown.discard(item.optional_vars.id)

    # statements

    def _code(self, tree: ast.AST, text: str, line: int) -> CodeType:
        return self.builder.code(tree, text, line, self.codes)

    def _bind(self, names: Sequence[str]) -> None:
        """Gives names the values that the notebook knows, if these are plain data; else they are unknown."""
        for name in names:
            value = (self.builder.known or {}).get(name)
            if _is_data(value):
                self.names[name] = _own(value)
                self.unknown.discard(name)
            else:
                self.names.pop(name, None)
                self.unknown.add(name)

    def _left_out(self, statement: Statement) -> None:
        """Notes that a statement did not run: what it binds, and lists and dicts that it would fill, are not known."""
        self._bind(statement.names)
        for part in ast.walk(statement.tree):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _FILLING:
                owner = part.func.value
                value = self.names.get(owner.id) if isinstance(owner, ast.Name) else None
                if isinstance(owner, ast.Name) and isinstance(value, list | dict | set):
                    del self.names[owner.id]
                    self.unknown.add(owner.id)

    def _statement(self, statement: Statement) -> Outcome:
        closed = self._enter(statement)
        if closed is not None:
            return closed
        if isinstance(statement.tree, ast.Return) and self.builder.given is None:
            return Outcome("failed", None, error=SyntaxError("'return' is for functions"))
        value = statement.value
        self._resolved.clear()
        form = call_form(value, self.resolve) if value is not None else None
        self._look_up(statement)
        if form is not None and form.signature is not None:
            missing = tuple(s.name for s in form.slots if s.tree is None and _is_missing(s, form))
            if missing:
                self._bind(statement.names)
                return Outcome("incomplete", form, missing=missing)
        unknown = [u.name for u in statement.uses if u.name in self.unknown and not u.is_deferred]
        if unknown:
            self._left_out(statement)
            return Outcome("unknown", form, reason=f"{unknown[0]} is not known")
        local = frozenset(statement.names) if value is None else frozenset[str]()
        reason = reason_not_to_run(statement.tree, self.resolve, self.builder.trust.has(statement.text), local)
        if reason:
            self._left_out(statement)
            return Outcome("not run", form, reason=reason)
        large = self._name_of_large(form)
        return self._import_part(statement, form, large) if large else self._execute(statement, form)

    def _look_up(self, statement: Statement) -> None:
        """Takes names that the source does not define from the notebook."""
        for use in statement.uses:
            if use.by < 0 and use.name not in self.names and not hasattr(builtins, use.name):
                value = (self.builder.known or {}).get(use.name)
                if _is_data(value) or isinstance(value, ModuleType):
                    self.names[use.name] = _own(value)
                    self._resolved.clear()

    def _execute(self, statement: Statement, form: CallForm | None) -> Outcome:
        graph = get_default_graph()
        self.graphs.setdefault(id(graph), graph)
        start = graph.version
        sizes = {name: len(values) for name, values in graph.collection_members.items()}
        value, result = statement.value, None
        try:
            with all_or_nothing(graph):
                if isinstance(statement.tree, ast.Expr | ast.Return) and value is not None:
                    result = eval(self._code(value, statement.text, statement.line), self.names)
                else:
                    exec(self._code(statement.tree, statement.text, statement.line), self.names)
        except (Exception, RecursionError) as e:
            for name, values in graph.collection_members.items():
                del values[sizes.get(name, 0) :]
            self._bind(statement.names)
            return Outcome("failed", form, error=e)
        self.unknown.difference_update(statement.names)
        values = {n: self.names[n] for n in statement.names if n in self.names}
        made = tuple(graph._operations[start:])
        trainable = graph.collection_members.get("trainable_variables", [])
        count = _parameters(trainable[sizes.get("trainable_variables", 0) :])
        return Outcome("built", form, made, values, result, parameter_count=count)


_FILLING = frozenset(("append", "extend", "insert", "update", "add", "setdefault", "pop", "remove", "clear"))


def _is_missing(slot: Slot, form: CallForm) -> bool:
    """Is it a parameter that needs an argument? With `*args` or `**kwargs` nobody knows."""
    if slot.formal is None or not slot.formal.is_needed or slot.element > 0:
        return False
    if slot.call is not None and (
        any(isinstance(a, ast.Starred) for a in slot.call.args) or any(k.arg is None for k in slot.call.keywords)
    ):
        return False
    return slot.element < 0 or slot.parent is None


def _parameters(variables: Sequence[Any]) -> int:
    total = 0
    for v in variables:
        dims = v.shape.sizes
        total += int(np.prod([d or 0 for d in dims], dtype=np.int64)) if dims is not None else 0
    return total


def _is_data(value: object) -> bool:
    """Is it a number, a text, an array, or lists of these, or a GraphDef, which a graph can be built from?"""
    if hasattr(value, "node") and hasattr(value, "SerializeToString"):
        return True
    if isinstance(value, bool | int | float | complex | str | bytes | np.ndarray | np.generic):
        return True
    if isinstance(value, list | tuple):
        return len(value) < 1000 and all(_is_data(v) for v in value)
    if isinstance(value, dict):
        return len(value) < 1000 and all(_is_data(v) for v in value.values())
    return False


def _own(value: Any) -> Any:
    """The notebook's plain data for the statements, which must not change the user's. Large arrays are only read."""
    if isinstance(value, list | tuple):
        own = [_own(v) for v in value]
        return own if type(value) is list else value if type(value) is not tuple else tuple(own)
    if isinstance(value, dict):
        return {k: _own(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        if value.nbytes <= _MOST_COPIED:
            return value.copy()
        value = value.view()
        value.flags.writeable = False
    return value


def plain_message(error: BaseException) -> str:
    """Returns an error's message without the lines about where in the source it was raised."""
    text = error.message if isinstance(error, OpError) else str(error)
    text = text.split("\n  in the call at")[0].strip()
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # where an object lies in memory says nothing, and changes
    return text or type(error).__name__
