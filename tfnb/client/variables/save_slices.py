"""Where a variable belongs in a larger tensor of a checkpoint (white paper, section 3.3; OSDI'16, section 4.2).

Invariant: the slice lies inside the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.ir.protos import proto

__all__ = ["SaveSliceInfo"]


class SaveSliceInfo:
    """Which slice of the tensor `full_name` in a checkpoint a variable is.

    full_shape: of that tensor; var_offset, var_shape: where the slice begins and how large it is.
    `save_slice_info_def` alone is the same as a message.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        told = save_slice_info_def
        if told is not None:
            full_name = f"{import_scope}/{told.full_name}" if import_scope else told.full_name
            full_shape, var_offset, var_shape = told.full_shape, told.var_offset, told.var_shape
        self.full_name = full_name or ""
        self.full_shape = [int(n) for n in full_shape or ()]
        self.var_offset = [int(n) for n in var_offset or ()]
        self.var_shape = [int(n) for n in var_shape or ()]

    @property
    def spec(self) -> str:
        """The slice as Save and Restore take it: "10 4 0,5:0,4"."""
        places = (f"{a},{n}" for a, n in zip(self.var_offset, self.var_shape, strict=True))
        return " ".join(map(str, self.full_shape)) + " " + ":".join(places)

    def of_slot(self, name: str, rank: int) -> SaveSliceInfo:
        """The slice that a slot `name` of a part is; slots may have fewer dimensions, the first ones."""
        full_name = f"{self.full_name}/{name}"
        return SaveSliceInfo(full_name, self.full_shape[:rank], self.var_offset[:rank], self.var_shape[:rank])

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaveSliceInfoDef message, without the prefix `export_scope` of the name."""
        scope = f"{export_scope}/" if export_scope else ""
        return proto("variable").SaveSliceInfoDef(
            full_name=self.full_name.removeprefix(scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )
