"""WhyNot: an optimisation that code generation decided not to do, and the reason.

Every stage reports the fusions that it does not do; `Program.info` holds the reasons for dumps and tests.
Invariant: reasons are for people; no code decides anything by them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WhyNot"]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The optimisation `what` (inlining, joining, epilogue) was not done with the nodes or kernels `where`.

    `why` is the reason in words.
    """

    what: str
    where: str
    why: str

    def __str__(self) -> str:
        return f"no {self.what} of {self.where}: {self.why}"
