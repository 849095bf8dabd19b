"""Which statements the user has run, by their very text.

A view has one of these: what a program hands to the builder counts as run, and what a browser sends does not, until the
notebook has run a cell with it. Invariant: only the text of a cell that was run, or of a program, is ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

from tfnb.errors import OpError
from tfnb.notebook.builder.statements import parse

__all__ = ["RanText"]


def _no_cells() -> Sequence[str]:
    return ()


class RanText:
    """The digests of statements. With `has_all` every text counts as run.

    `cells()` returns the texts of the cells that were run so far, the first one first.
    """

    def __init__(self, has_all: bool = False, cells: Callable[[], Sequence[str]] = _no_cells) -> None:
        self.has_all = has_all
        self._cells, self._read = cells, 0
        self._digests: set[bytes] = set()

    def has(self, text: str) -> bool:
        """Returns whether the user has run this statement, or this head of a `with` block."""
        return self.has_all or _digest(text) in self._digests

    def __len__(self) -> int:
        """The number of different statements so far."""
        return len(self._digests)

    def add(self, source: str) -> None:
        """Takes the statements of a text that was run."""
        try:
            program = parse(source)
        except (OpError, RecursionError, ValueError, MemoryError):
            return  # it is no Python of which a part could be in a document
        for statement in program.statements:
            self._digests.add(_digest(statement.text))
            for block in statement.block.chain() if statement.block is not None else ():
                self._digests |= {_digest(program.text(item.context_expr)) for item in block.tree.items}

    def catch_up(self) -> None:
        """Takes the cells that were run since the last call."""
        cells = self._cells()
        new, self._read = cells[min(self._read, len(cells)) :], len(cells)
        for cell in new:
            self.add(cell)


def _digest(text: str) -> bytes:
    return blake2b(text.strip().encode(errors="surrogatepass"), digest_size=16).digest()
