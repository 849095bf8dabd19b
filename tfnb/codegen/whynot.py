"""WhyNot: an optimisation that code generation decided not to do, and the reason.

Every stage reports the fusions that it does not do; `Program.info` holds the reasons for dumps and tests.
Invariant: reasons are for people; no code decides anything by them.
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
