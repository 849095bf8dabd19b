"""Which function carries which edit of the protocol out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder import comments, edits, grouping, rewriting, routes, variants
from tfnb.notebook.builder.fixes import apply_fix
from tfnb.notebook.builder.inside import function_bodies, operations
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.protocol.builder import Edit
from tfnb.notebook.protocol.builder_details import DetailEdit

__all__ = ["change_of"]

_EDITS: Mapping[str, Callable[[State, Any], Change]] = {
    "add": edits.add_node,
    "connect": edits.connect,
    "disconnect": edits.disconnect,
    "set": edits.set_parameter,
    "rename": edits.rename_node,
    "delete": edits.delete_nodes,
    "bypass": edits.bypass_nodes,
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
    "pick": operations.pick_tensor,
    "variant": variants.make_variant,
    "own": function_bodies.own_function,
    "inside": lambda state, edit: function_bodies.edit_inside(state, edit, change_of),
    "route": routes.route_wire,
}


def change_of(state: State, edit: Edit | DetailEdit) -> Change:
    """Returns what an edit changes. Raises `InvalidArgumentError` with the reason if it cannot be done."""
    function = _EDITS.get(edit["edit"])
    if function is None:
        raise InvalidArgumentError(f"the builder has no edit {edit['edit']!r}")
    return function(state, edit)
