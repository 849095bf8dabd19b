"""WhyNot: what code generation decided not to do, and why.

Every stage that leaves a chance of fusion unused says so; the reasons travel in `Program.info` for dumps and
tests. Invariant: reasons are words for people, nothing reads them back to decide.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WhyNot"]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`what` was not done (inline, join, epilogue, in place) with the node or kernel `where`, because of `why`."""

    what: str
    where: str
    why: str

    def __str__(self) -> str:
        return f"no {self.what} of {self.where}: {self.why}"
