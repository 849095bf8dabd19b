"""The variables that replicas share: the first one to make a variable makes it, the others get the same.

Replicas count names differently ("dense_1" for "dense"), so a variable is known by its name without these numbers, and
by how many of that name its replica has made before. Invariant: a replica gets its variables in the order in which it
asks for them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tfnb.client.variables.variable_store import variables_by_name
from tfnb.ir.default import get_default_graph
from tfnb.train.distribute.contexts import StrategyLike

__all__ = ["SharedVariables"]


class SharedVariables:
    """The variables of one call for each replica."""

    def __init__(self, strategy: StrategyLike) -> None:
        self._device = strategy.extended.variable_device
        self._made: dict[str, list[Any]] = defaultdict(list)

    def creator(self, replica: int) -> Callable[..., Any]:
        """Returns the creator of variables of a replica, for `tf.variable_creator_scope`."""
        asked: dict[str, int] = defaultdict(int)

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            key = _key(kwargs.get("name") or "Variable", replica)
            if replica:  # the variables of get_variable are shared by their names already
                named = variables_by_name(get_default_graph()).values()
                made = [v for v in self._made[key] if not any(v is other for other in named)]
                number = asked[key]
                asked[key] += 1
                if number < len(made):
                    return made[number]
            with get_default_graph().device(self._device):
                variable = next_creator(**kwargs)
            self._made[key].append(variable)
            return variable

        return create


def _key(name: str, replica: int) -> str:
    scope = get_default_graph().scopes.name
    full = f"{scope}/{name}" if scope else name
    parts = [part for part in full.split("/") if not (replica and part == f"replica_{replica}")]
    return "/".join(re.sub(r"(_\d+)+$", "", part) for part in parts)
