"""The graph API that this package is written on, as `tf.nn.relu`: the public tables of ops, client and train.

Invariant: nothing here is of Keras; a name means what it means for a user of tfnb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tfnb import ops
from tfnb.client.api import API as CLIENT
from tfnb.client.namespace import Lazy
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.train.api import API as TRAIN
from tfnb.types import DTypeLike

__all__ = ["graph_state", "tf"]


class _Names:
    """The names below a dotted place of the tables."""

    def __init__(self, table: Mapping[str, Any], place: str = "") -> None:
        self._table, self._place = table, place

    def __getattr__(self, name: str) -> Any:
        path = f"{self._place}{name}"
        value = self._table.get(path)
        if value is None:
            if not any(key.startswith(f"{path}.") for key in self._table):
                raise AttributeError(path)
            value = _Names(self._table, f"{path}.")
        elif isinstance(value, Lazy):
            value = value.load()
        setattr(self, name, value)
        return value

    if TYPE_CHECKING:
        # The tables have these functions. The declarations here are for type checkers.
        def cast(self, x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor: ...
        def convert_to_tensor(self, value: TensorLike, dtype: DTypeLike | None = None) -> Tensor: ...


tf = _Names(ops.API | CLIENT | TRAIN)


def graph_state(key: str, make: Callable[[], Any]) -> Any:
    """Returns what the default graph keeps under `key` for this package; `make()` creates it on first use."""
    state = get_default_graph().client_state
    full = f"keras {key}"
    if full not in state:
        state[full] = make()
    return state[full]
