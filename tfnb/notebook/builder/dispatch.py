"""Which function carries which edit of the protocol out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder import comments, edits, grouping, rewriting
from tfnb.notebook.builder.fixes import apply_fix
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.protocol.builder import Edit

__all__ = ["change_of"]

_EDITS: Mapping[str, Callable[[State, Any], Change]] = {
    "add": edits.add_node,
    "connect": edits.connect,
    "disconnect": edits.disconnect,
    "set": edits.set_parameter,
    "rename": edits.rename_node,
    "delete": edits.delete_nodes,
    "move": edits.move_nodes,
    "insert": rewriting.insert_on_wire,
    "replace": rewriting.replace_call,
    "fix": apply_fix,
    "group": grouping.group_nodes,
    "ungroup": grouping.ungroup_node,
    "paste": rewriting.paste,
    "duplicate": rewriting.duplicate,
    "frame": comments.set_frame,
    "note": comments.set_note,
    "minimize": rewriting.minimize,
    "device": rewriting.set_device,
}


def change_of(state: State, edit: Edit) -> Change:
    """Returns what an edit changes. Raises `InvalidArgumentError` with the reason if it cannot be done."""
    function = _EDITS.get(edit["edit"])
    if function is None:
        raise InvalidArgumentError(f"the builder has no edit {edit['edit']!r}")
    return function(state, edit)
