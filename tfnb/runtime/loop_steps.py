"""Steps of a loop that runs without a propagator: what they are, and which registers they read and write.

OSDI'16, section 3.4. Invariant: a step reads registers that an earlier step of the iteration, or the loop's entry,
has written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CALL", "COPY", "LOOP", "MERGE", "SWITCH", "TRIGGER", "LoopStep"]

CALL, SWITCH, MERGE, COPY, TRIGGER, LOOP = range(6)


@dataclass(slots=True)
class LoopStep:
    """`inputs` and `outputs` are registers; `control` those that tell whether a control input is dead.

    `flag`: the register that is dead exactly when the node is. `risky`: an input can be dead. `last`: registers that
    nobody reads afterwards.
    """

    code: int
    node: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    run: Any = None
    control: tuple[int, ...] = ()
    flag: int = -1
    risky: bool = False
    last: tuple[int, ...] = ()
