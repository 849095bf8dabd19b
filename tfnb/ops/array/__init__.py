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
    "select_broadcast",
    "shape_ops",
    "sort_roll_reverse",
    "space_batch",
    "strided_slice",
    "tile_reverse_mirror",
    "top_k",
    "transpose_pad_tile",
    "where_partition",
)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "layouts_in_place": """DataFormatDimMap DataFormatVecPermute DeepCopy Empty InplaceUpdate InplaceAdd InplaceSub
        TileGrad DebugGradientIdentity""",
}
