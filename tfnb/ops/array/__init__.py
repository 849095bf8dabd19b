"""Shapes, constants, placeholders, and ops that move, join, split, select and repeat the elements of tensors."""

FAMILIES = (
    "array_functions",
    "batch_functions",
    "concat",
    "concat_offset",
    "constants",
    "gather",
    "gather_nd",
    "identity",
    "pack",
    "placeholder",
    "row_selection",
    "searchsorted",
    "shape_ops",
    "sort_roll_reverse",
    "space_batch",
    "strided_slice",
    "tile_reverse_mirror",
    "top_k",
    "transpose_pad_tile",
    "v1_late_ops",
    "where_partition",
)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "late_moves": """DataFormatDimMap DataFormatVecPermute DeepCopy Empty InplaceUpdate InplaceAdd InplaceSub
        TileGrad DebugGradientIdentity""",
}
