"""The place of a variable in a larger tensor of a checkpoint (white paper, section 3.3; OSDI'16, section 4.2).

Invariant: the slice lies inside the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.ir.graphdef.message_types import SaveSliceInfoDef
from tfnb.ir.protos import proto

__all__ = ["SaveSliceInfo", "Sliced"]


class SaveSliceInfo:
    """The slice of the tensor `full_name` of a checkpoint that a variable holds.

    full_shape: the shape of that tensor. var_offset, var_shape: the offset and the shape of the slice. Instead of all
    these, `save_slice_info_def` is a message with the same fields.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: SaveSliceInfoDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        message = save_slice_info_def
        if message is not None:
            full_name = f"{import_scope}/{message.full_name}" if import_scope else message.full_name
            full_shape, var_offset, var_shape = message.full_shape, message.var_offset, message.var_shape
        self.full_name = full_name or ""
        self.full_shape = [int(n) for n in full_shape or ()]
        self.var_offset = [int(n) for n in var_offset or ()]
        self.var_shape = [int(n) for n in var_shape or ()]

    @property
    def spec(self) -> str:
        """The slice in the notation of the ops Save and Restore, such as "10 4 0,5:0,4"."""
        ranges = (f"{a},{n}" for a, n in zip(self.var_offset, self.var_shape, strict=True))
        return " ".join(map(str, self.full_shape)) + " " + ":".join(ranges)

    def of_slot(self, name: str, rank: int) -> SaveSliceInfo:
        """Returns the slice of the slot `name` of this part; a slot may have only the first `rank` dimensions."""
        full_name = f"{self.full_name}/{name}"
        return SaveSliceInfo(full_name, self.full_shape[:rank], self.var_offset[:rank], self.var_shape[:rank])

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the SaveSliceInfoDef message; the name is without the prefix `export_scope`."""
        scope = f"{export_scope}/" if export_scope else ""
        return proto("variable").SaveSliceInfoDef(
            full_name=self.full_name.removeprefix(scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


class Sliced:
    """What may hold a slice of a larger tensor: `save_slice_info` tells which, and is None for a whole tensor.

    Libraries of the time read and set it by the other names here.
    """

    save_slice_info: SaveSliceInfo | None = None

    @property
    def _save_slice_info(self) -> SaveSliceInfo | None:
        return self.save_slice_info

    def _get_save_slice_info(self) -> SaveSliceInfo | None:
        return self.save_slice_info

    def _set_save_slice_info(self, save_slice_info: SaveSliceInfo | None) -> None:
        self.save_slice_info = save_slice_info
