"""What an edit gets, the document in the middle of a gesture, and what it gives back, a change of the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.building import Builder, Built
from tfnb.notebook.builder.calls import CallForm, call_form
from tfnb.notebook.builder.drawing import output_values
from tfnb.notebook.builder.statements import Program, Statement, parse
from tfnb.notebook.protocol.builder import Wire

__all__ = ["Change", "State"]


@dataclass
class Change:
    """What an edit does: the new source, places of nodes and those to forget, nodes to select, and what to announce."""

    source: str
    positions: dict[str, list[float]] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    selected: list[str] = field(default_factory=list)
    message: str = ""


class State:
    """A document in the middle of a gesture: its program, and its graph once an edit asks for it."""

    def __init__(self, program: Program, builder: Builder, built: Built | None = None) -> None:
        self.program = program
        self._builder = builder
        self._built = built

    @cached_property
    def built(self) -> Built:
        return self._built if self._built is not None else self._builder.build(self.program)

    def statement(self, node: str) -> Statement:
        """Returns the statement of a node. Raises `InvalidArgumentError` if there is none."""
        if node not in self.program.by_id:
            raise InvalidArgumentError(f"there is no node {node} any more")
        return self.program.by_id[node]

    def form(self, statement: Statement) -> CallForm:
        """Returns the call of a statement. Raises `InvalidArgumentError` for a grey block."""
        form = self.built.outcomes[statement.index].form
        if form is None:
            if statement.value is None:
                raise InvalidArgumentError(f"{statement.id} is a block of code; change it in the code")
            form = call_form(statement.value, lambda _: None)
        return form

    def expression(self, wire: Wire) -> str:
        """Returns the Python expression of an output. Raises `InvalidArgumentError` if there is none."""
        statement = self.statement(wire["node"])
        outputs = output_values(statement, self.built.outcomes[statement.index])
        if not statement.names:
            raise InvalidArgumentError(f"{statement.id} has no name; name it first")
        if not 0 <= wire["output"] < len(outputs):
            raise InvalidArgumentError(f"{statement.id} has no output {wire['output']}")
        return outputs[wire["output"]][0]

    def value(self, wire: Wire) -> Any:
        """Returns the value of an output: a tensor, or another object, or None if it is not known."""
        statement = self.statement(wire["node"])
        outputs = output_values(statement, self.built.outcomes[statement.index])
        return outputs[wire["output"]][1] if 0 <= wire["output"] < len(outputs) else None

    def has_run(self, statement: Statement) -> bool:
        """Whether the user has run the text of a statement."""
        return self._builder.trust.has(statement.text)

    def after(self, source: str) -> State:
        """Returns the state once the source is `source`."""
        return State(parse(source), self._builder)
